"""The live page of a fit: who may ask, what it answers, and the button that stops."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.live_fit import MOST_DRAWN, LiveFit, watch_fit
from projected_kmeans.reports.page_server import PageServer
from projected_kmeans.results import FitState
from tests.support.commands import COMMAND, ROWS, Call, check_refusal


class Caller:
    """Asks a server as a browser does, with what headers a test likes."""

    def __init__(self, address: str) -> None:
        self.place = urlsplit(address)

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, HTTPResponse]:
        """Return status, text and the answer itself; a path without a slash is the page's own."""
        connection = HTTPConnection(self.place.hostname or "", self.place.port or 0, timeout=10)
        full = path if path.startswith("/") else self.place.path + path
        connection.request(method, full, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer


@pytest.fixture
def stops() -> list[str]:
    """Return a list that grows whenever the server is told to stop."""
    return []


@pytest.fixture
def caller(stops: list[str]) -> Iterator[Caller]:
    """Return what asks a server with a page, a state and a button."""
    with PageServer(
        lambda: "<p>page</p>", lambda: {"step": "seed"}, lambda: stops.append("stop")
    ) as server:
        yield Caller(server.address)


def test_the_page_and_its_state_are_served(caller: Caller) -> None:
    """With the token, page and state come with headers that keep them to themselves."""
    status, text, answer = caller.ask("")
    assert (status, text) == (200, "<p>page</p>")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert json.loads(caller.ask("state")[1]) == {"step": "seed"}
    assert caller.ask("other")[0] == 404


@pytest.mark.parametrize("path", ["/", "/state", "/x/", "/x/stop", "/%C3%A9/"])
def test_nobody_enters_without_the_token(caller: Caller, stops: list[str], path: str) -> None:
    """A missing or wrong token is answered by 403, whatever is asked for."""
    for method in ("GET", "POST"):
        status, text, _ = caller.ask(path, method)
        assert status == 403
        assert "page" not in text
    assert stops == []


def test_other_sites_cannot_ask(caller: Caller, stops: list[str]) -> None:
    """A foreign Host (a name that was turned to this machine) or Origin is answered by 403."""
    port = caller.place.port
    assert caller.ask("", Host="evil.example")[0] == 403
    assert caller.ask("", Host=f"evil.example:{port}")[0] == 403
    assert caller.ask("stop", "POST", Origin="http://evil.example")[0] == 403
    assert caller.ask("stop", "POST", Origin="null")[0] == 403
    assert stops == []
    assert caller.ask("", Host=f"localhost:{port}")[0] == 200
    assert caller.ask("stop", "POST", Origin=f"http://127.0.0.1:{port}")[0] == 200
    assert stops == ["stop"]


def test_stopping_needs_a_post(caller: Caller, stops: list[str]) -> None:
    """A link or an image cannot stop a fit."""
    assert caller.ask("stop")[0] == 404
    assert stops == []


def test_only_this_machine_is_listened_to(caller: Caller) -> None:
    """The server is bound to the loopback address, and tokens differ from server to server."""
    assert caller.place.hostname == "127.0.0.1"
    with PageServer(lambda: "") as other:
        assert urlsplit(other.address).path != caller.place.path
    assert len(caller.place.path) > 30


def test_a_closed_server_frees_its_port(caller: Caller) -> None:
    """After closing, the same port can be listened on again; a taken one is one sentence."""
    with PageServer(lambda: "") as server:
        port = urlsplit(server.address).port
        assert port is not None
        with pytest.raises(ValueError, match=rf"port {port} cannot be listened on"):
            PageServer(lambda: "", port=port)
    with PageServer(lambda: "", port=port) as again:
        assert urlsplit(again.address).port == port
    with pytest.raises(ValueError, match="port 99999 cannot be listened on"):
        PageServer(lambda: "", port=99999)


def test_stop_keeps_the_best_result() -> None:
    """A stop from another thread ends the fit after a pass, with a whole result."""
    live = LiveFit("rows", 3)
    seen = threading.Event()
    model = ProjectedKMeans(3, projection=None, solver="lloyd", max_iter=300, random_state=0)

    def press(state: FitState) -> None:
        if state.step == "cluster":
            seen.set()
            presser.join()

    presser = threading.Thread(target=lambda: (seen.wait(), live.stop()))
    presser.start()
    model.set_params(callback=live.listen(lambda: 1.0, press)).fit(ROWS)
    assert model.stopped_ == "callback"
    assert sorted(np.bincount(model.labels_).tolist()) == [20, 20, 20]
    assert live.state()["stopping"]


def test_the_line_stays_short() -> None:
    """However many passes there are, the page draws few, and the first of them all."""
    live = LiveFit("rows", 3)
    hear = live.listen(lambda: None)
    for iteration in range(1, 3000):
        hear(FitState("cluster", 0, iteration, 3000, 5000.0 - iteration, iteration / 100))
    state = live.state()
    assert 100 < len(state["line"]) <= MOST_DRAWN
    assert state["line"][0] == 4999.0
    assert state["step_left"] == pytest.approx(0.01, rel=0.01)
    hear(FitState("cluster", 1, 1, 3000, 7.0, 30.0))
    assert live.state()["line"] == [7.0]


def test_the_live_page_becomes_the_report() -> None:
    """Names are escaped in the live page; once finished, the report is served in its place."""
    with watch_fit("<script>x</script>", 3) as (live, address):
        caller = Caller(address)
        page = caller.ask("")[1]
        assert "&lt;script&gt;x" in page
        assert "Stop and keep the best result" in page
        assert json.loads(caller.ask("state")[1]) == {
            "step": None,
            "stopping": False,
            "finished": False,
        }
        assert caller.ask("stop", "POST")[0] == 200
        assert live.state()["stopping"]
        live.finish("<p>report</p>")
        assert caller.ask("")[1] == "<p>report</p>"
        assert json.loads(caller.ask("state")[1])["finished"]


def start(*words: object) -> subprocess.Popen[str]:
    """Start the command line in a process of its own."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def address_in(line: str) -> str:
    """Return the address that a line tells."""
    return next(word for word in line.split() if word.startswith("http://"))


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C, and return the exit code and what was printed since."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_serve_shows_a_result_until_interrupted(model: Path) -> None:
    """`serve` prints an address, answers there, and ends at Ctrl-C with code 0."""
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


def test_a_taken_port_is_refused_before_the_fit(
    call: Call, data: Path, caller: Caller, tmp_path: Path
) -> None:
    """Nothing is fitted and nothing stays behind where the page cannot be served."""
    port: Any = caller.place.port
    run = call("fit", data, "-k", 3, "--out", tmp_path / "new", "--serve", port)
    check_refusal(run, f"port {port} cannot be listened on")
    assert not (tmp_path / "new").exists()
    check_refusal(call("serve", tmp_path / "none"), "does not exist")
