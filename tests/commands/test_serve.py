"""Pages that the command line serves: ``serve`` and ``fit --serve``."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest

from projected_kmeans.commands.main import INTERRUPTED
from projected_kmeans.reports.page_server import PageServer
from tests.support.commands import COMMAND, Call, check_refusal
from tests.support.servers import Caller


def start(*words: object) -> subprocess.Popen[str]:
    """Start the command line in its own process."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def address_in(line: str) -> str:
    """Return the address in a line of output."""
    return next(word for word in line.split() if word.startswith("http://"))


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C, and return the exit code and what was printed since."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_serve_shows_a_result_until_interrupted(model: Path) -> None:
    """`serve` prints an address, serves the report there, and ends at Ctrl-C with code 0."""
    with start("serve", model) as process:
        assert process.stdout is not None
        caller = Caller(address_in(process.stdout.readline()))
        status, text, _ = caller.ask("")
        assert (status, 'id="map"' in text) == (200, True)
        assert caller.ask("state")[0] == 404
        assert finish(process) == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_fit_serves_its_report_until_interrupted(data: Path, tmp_path: Path) -> None:
    """`fit --serve` shows the report after the fit, has written all files, and ends at Ctrl-C."""
    with start("fit", data, "-k", 3, "--out", tmp_path / "out", "--serve") as process:
        assert process.stderr is not None
        assert process.stdout is not None
        caller = Caller(address_in(process.stderr.readline()))
        lines = [process.stdout.readline() for _ in range(8)]
        assert "60 x 12" in lines[0]
        assert (tmp_path / "out" / "report.json").is_file()
        assert 'id="map"' in caller.ask("")[1]
        code, _, err = finish(process)
        assert (code, err) == (0, "")


@pytest.fixture
def press_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that has Ctrl-C pressed as soon as a text with some words is printed."""
    echo = click.echo

    def press(words: str) -> None:
        def print_and_press(text: str, **options: Any) -> None:
            echo(text, **options)
            if words in text:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(click, "echo", print_and_press)

    return press


def test_serve_takes_ctrl_c_at_once(
    call: Call, model: Path, press_after: Callable[[str], None]
) -> None:
    """A Ctrl-C that comes right after the address is a good end, too."""
    press_after("(Ctrl-C ends)")
    run = call("serve", model)
    assert (run.code, run.err) == (0, "")


def test_fit_takes_ctrl_c_right_after_its_summary(
    call: Call, data: Path, press_after: Callable[[str], None]
) -> None:
    """Who has seen the summary may end `fit --serve`; before, a Ctrl-C stops the fit."""
    press_after("60 x 12")
    assert call("fit", data, "-k", 3, "--serve").code == 0
    press_after("watch at")
    assert call("fit", data, "-k", 3, "--serve").code == INTERRUPTED


def test_a_taken_port_is_refused_before_the_fit(call: Call, data: Path, tmp_path: Path) -> None:
    """If the page cannot be served, nothing is fitted and no folder is left behind."""
    with PageServer(lambda: "") as taken:
        port = urlsplit(taken.address).port
        run = call("fit", data, "-k", 3, "--out", tmp_path / "new", "--serve", port)
    check_refusal(run, f"port {port} cannot be opened")
    assert not (tmp_path / "new").exists()
    check_refusal(call("serve", tmp_path / "none"), "does not exist")
