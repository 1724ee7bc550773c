"""Pages that the command line serves: ``serve`` and ``fit --serve``."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

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


def test_a_taken_port_is_refused_before_the_fit(call: Call, data: Path, tmp_path: Path) -> None:
    """If the page cannot be served, nothing is fitted and no folder is left behind."""
    with PageServer(lambda: "") as taken:
        port = urlsplit(taken.address).port
        run = call("fit", data, "-k", 3, "--out", tmp_path / "new", "--serve", port)
    check_refusal(run, f"port {port} cannot be opened")
    assert not (tmp_path / "new").exists()
    check_refusal(call("serve", tmp_path / "none"), "does not exist")
