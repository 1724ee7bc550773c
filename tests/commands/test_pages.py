"""docs/cli.md and the manual page hold the help of every command, as it is today."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import cli_page
import click
import manual_page
import pytest

from projected_kmeans.commands.main import COMMANDS, commands


@pytest.mark.parametrize("page", [cli_page, manual_page], ids=["docs/cli.md", "manual page"])
def test_pages_are_up_to_date(page: object) -> None:
    """Both pages are what the commands say today; `make docs` writes them anew."""
    assert page.PAGE.read_text(encoding="utf-8") == page.render_page(), "run make docs"  # type: ignore[attr-defined]


def test_the_manual_page_has_a_section_for_every_command() -> None:
    """Every command of the table has its section, in the order of the table."""
    titles = re.findall(r"^\.SS (.+)$", manual_page.render_page(), re.MULTILINE)
    assert titles == [name.replace("-", r"\-") for name in COMMANDS]


def test_the_manual_page_is_sound() -> None:
    """The formatter of manual pages prints no warnings."""
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("man or groff is not installed")
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(manual_page.PAGE)]
    environment = os.environ | {"MANWIDTH": "80", "MANPAGER": "cat"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in re.sub(".\b", "", done.stdout)  # bold is a letter struck twice


def test_every_option_has_a_help() -> None:
    """No option of any command goes unexplained."""
    for command in (commands, *map(cli_page.find_command, COMMANDS)):
        options = [option for option in command.params if isinstance(option, click.Option)]
        assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_overview_says_what_the_command_says(name: str) -> None:
    """The sentence of the table is the first sentence of the command's own help."""
    command = cli_page.find_command(name)
    assert command.name == name
    assert command.get_short_help_str(limit=1000) == COMMANDS[name]


def test_commands_are_in_alphabetical_order() -> None:
    """The table, and with it the overview and both pages, lists commands alphabetically."""
    assert list(COMMANDS) == sorted(COMMANDS)
