"""docs/cli.md holds the help of every command, as it is today."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from projected_kmeans.commands import COMMANDS, PROGRAM
from projected_kmeans.commands.main import commands

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
OPENING = """# Command line

The help of every command, as `projected-kmeans COMMAND --help` prints it; `man projected-kmeans`
has the same.

## For all commands

| exit code | |
|---:|---|
| 0 | Done. |
| 1 | The reader of the output has left, as in a pipe to `head`. |
| 2 | An error: one sentence says what, and what to do. Nothing is half-written. |
| 130 | Ctrl-C. A fit that had a result by then has printed and written it. |

- **Completion** of commands, options and files: `eval "$(projected-kmeans completion bash)"` in
  `~/.bashrc`; likewise `zsh`; for fish, `projected-kmeans completion fish | source`.
- **Scripts**: `--json` prints one object, `--quiet` nothing but what is asked for and errors.
  Results go to the standard output; progress, warnings and errors to the standard error stream.
- **Colours** and progress are for terminals only; `NO_COLOR=1` switches colours off there, too.
- **Columns** of text, Parquet and Arrow are chosen by name: `--columns` or `--drop` say which are
  features, `--id-column` which one tells rows apart and is written beside their labels,
  `--label-column` which one has the true labels.
- **Outputs** go by their extension, and appear whole or not at all.

This page is renewed with `PROJECTED_KMEANS_UPDATE_DOCS=1 pytest tests/test_cli_docs.py`, and the
manual page with `make docs`.
"""


def render_page() -> str:
    """Return the page as the commands describe themselves."""
    sections = [OPENING, _render_section(PROGRAM, commands)]
    sections += [_render_section(f"{PROGRAM} {name}", find(name)) for name in COMMANDS]
    return "\n".join(sections)


def find(name: str) -> click.Command:
    """Return a command by its name."""
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    return command


def _render_section(name: str, command: click.Command) -> str:
    settings = commands.context_settings
    context = click.Context(command, info_name=name, terminal_width=80, **settings)
    return f"## {name}\n\n```\n{command.get_help(context).rstrip()}\n```\n"


def test_the_page_is_up_to_date() -> None:
    """The page is what the commands say; with PROJECTED_KMEANS_UPDATE_DOCS=1 it is rewritten."""
    page = render_page()
    if os.environ.get("PROJECTED_KMEANS_UPDATE_DOCS") == "1":
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.exists(), (
        "write it with PROJECTED_KMEANS_UPDATE_DOCS=1 pytest tests/test_cli_docs.py"
    )
    assert PAGE.read_text(encoding="utf-8") == page


def test_every_option_has_a_help() -> None:
    """No option of any command goes unexplained."""
    for command in (commands, *map(find, COMMANDS)):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{command.name} {parameter.name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_overview_says_what_the_command_says(name: str) -> None:
    """The sentence of the table is the first of the command's own help; names are in order."""
    assert COMMANDS[name][1] == find(name).get_short_help_str(limit=1000)
    assert find(name).name == name
    assert list(COMMANDS) == sorted(COMMANDS)
