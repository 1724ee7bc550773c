"""docs/cli.md holds the help of every command, as it is today."""

from __future__ import annotations

import os
from pathlib import Path

import click

from projected_kmeans.cli import PROGRAM, commands

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
OPENING = """# Command line

The help of every command, as `projected-kmeans COMMAND --help` prints it. After a change, renew
this page with `PROJECTED_KMEANS_UPDATE_DOCS=1 pytest tests/test_cli_docs.py`.
"""


def render_page() -> str:
    """Return the page as the commands describe themselves."""
    sections = [OPENING, _render_section(PROGRAM, commands)]
    for name, command in sorted(commands.commands.items()):
        sections.append(_render_section(f"{PROGRAM} {name}", command))
    return "\n".join(sections)


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
    for command in (commands, *commands.commands.values()):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{command.name} {parameter.name}"
