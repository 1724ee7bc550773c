"""The server of a page: who may ask, and what it answers."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from projected_kmeans.reports.page_server import PageServer
from tests.support.servers import Caller


@pytest.fixture
def stops() -> list[str]:
    """Return a list that grows whenever the server is told to stop."""
    return []


@pytest.fixture
def caller(stops: list[str]) -> Iterator[Caller]:
    """Return a caller of a server that has a page, a state and a stop button."""
    with PageServer(
        lambda: "<p>page</p>", lambda: {"step": "seed"}, lambda: stops.append("stop")
    ) as server:
        yield Caller(server.address)


def test_the_page_and_its_state_are_served(caller: Caller) -> None:
    """With the token, page and state are sent, with headers against storing and framing."""
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
    """The server answers 403 to every request with a missing or wrong token."""
    for method in ("GET", "POST"):
        status, text, _ = caller.ask(path, method)
        assert status == 403
        assert "page" not in text
    assert stops == []


def test_other_sites_cannot_ask(caller: Caller, stops: list[str]) -> None:
    """The server answers 403 to a foreign Host (DNS rebinding) or Origin."""
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
    """A link or an image cannot stop a fit, because they send GET."""
    assert caller.ask("stop")[0] == 404
    assert stops == []


def test_only_this_machine_is_listened_to(caller: Caller) -> None:
    """The server is bound to the loopback address, and tokens differ from server to server."""
    assert caller.place.hostname == "127.0.0.1"
    with PageServer(lambda: "") as other:
        assert urlsplit(other.address).path != caller.place.path
    assert len(caller.place.path) > 30


def test_a_closed_server_frees_its_port(caller: Caller) -> None:
    """After closing, the port can be opened again; a port in use gives one sentence."""
    with PageServer(lambda: "") as server:
        port = urlsplit(server.address).port
        assert port is not None
        with pytest.raises(ValueError, match=rf"port {port} cannot be opened"):
            PageServer(lambda: "", port=port)
    with PageServer(lambda: "", port=port) as again:
        assert urlsplit(again.address).port == port
    with pytest.raises(ValueError, match="port 99999 cannot be opened"):
        PageServer(lambda: "", port=99999)


def test_a_closed_server_leaves_no_thread() -> None:
    """Closing waits for the thread of the server, so that it cannot outlive the program."""
    before = set(threading.enumerate())
    for _ in range(5):
        with PageServer(lambda: ""):
            pass
        assert set(threading.enumerate()) <= before


def test_a_page_that_fails_says_so_in_the_browser(capfd: pytest.CaptureFixture[str]) -> None:
    """An error in what makes the page is an answer, not a traceback, and the server goes on."""

    def page() -> str:
        raise KeyError("seed")

    with PageServer(page, lambda: {}) as server:
        status, text, _ = Caller(server.address).ask("")
        assert (status, text) == (500, "this page cannot be shown (KeyError: 'seed')\n")
        assert Caller(server.address).ask("state")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_head_has_no_content(caller: Caller) -> None:
    """HEAD gets the headers of the page and nothing else."""
    status, text, answer = caller.ask("", "HEAD")
    assert (status, text, answer.headers["Content-Length"]) == (200, "", "11")


def test_absent_tornado_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the command that installs it is named."""
    monkeypatch.setitem(sys.modules, "tornado.httpserver", None)
    with pytest.raises(ValueError, match=r"needs tornado, .* pip install 'bokeh>=.*' 'tornado>="):
        PageServer(lambda: "")
