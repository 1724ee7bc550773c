"""The page docs/cli.md: the help of every command, as it is printed.

Run as a program it writes the page. A test compares the page with what this module renders.
"""

from __future__ import annotations

from pathlib import Path

import click

from projected_kmeans.commands.main import COMMANDS, PROGRAM, commands

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"

INTRODUCTION = """\
# Command line

The help of every command, as `projected-kmeans COMMAND --help` prints it. `man projected-kmeans`
shows the same. This page is generated from the commands by `make docs`.

## For all commands

| exit code | meaning |
|---:|---|
| 0 | Done. |
| 1 | The reader of the output has closed the pipe, as `head` does. |
| 2 | An error. One sentence says what is wrong and what to do. No file is half-written. |
| 130 | Stopped by Ctrl-C. A fit that had a result by then has printed and written it. |

- **Errors** that are not expected are one sentence, too. `--debug`, before or after the command,
  prints the traceback first; add it to a report of a defect.
- **Completion** of commands, options and files: put `eval "$(projected-kmeans completion bash)"`
  into `~/.bashrc`. zsh works the same way. For fish, use
  `projected-kmeans completion fish | source`.
- **Scripts**: `--json` prints one JSON object. `--quiet` prints only the output that was asked
  for, and errors. Results go to the standard output; progress, warnings and errors go to the
  standard error stream.
- **Colours** and progress appear on terminals only. `NO_COLOR=1` turns colours off.
- **Columns** of text, Parquet and Arrow files are chosen by name. `--columns` or `--drop` choose
  the columns to cluster, `--id-column` the one that identifies rows and is written beside their
  labels, `--label-column` the one with the true labels.
- **Output files**: the extension decides the format. A file appears whole or not at all.
"""


def render_page() -> str:
    """Return the page as the commands describe themselves."""
    sections = [INTRODUCTION, _render_section(PROGRAM, commands)]
    sections += [_render_section(f"{PROGRAM} {name}", find_command(name)) for name in COMMANDS]
    return "\n".join(sections)


def find_command(name: str) -> click.Command:
    """Return a command by its name."""
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    return command


def _render_section(name: str, command: click.Command) -> str:
    settings = commands.context_settings
    context = click.Context(command, info_name=name, terminal_width=80, **settings)
    return f"## {name}\n\n```\n{command.get_help(context).rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
