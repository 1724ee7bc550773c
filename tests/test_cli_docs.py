"""docs/cli.md holds the help of every command, as it is today."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from projected_kmeans.cli import commands
from projected_kmeans.commands import COMMANDS, PROGRAM

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
OPENING = """# Command line

The help of every command, as `projected-kmeans COMMAND --help` prints it. After a change, renew
this page with `PROJECTED_KMEANS_UPDATE_DOCS=1 pytest tests/test_cli_docs.py`.
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
