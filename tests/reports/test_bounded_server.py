"""The limits of the page's server: many, slow, rude and greedy clients at the same time."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tornado.iostream import IOStream

from projected_kmeans.reports import bounded_server
from projected_kmeans.reports.page_server import PageServer
from tests.support.servers import Caller, read_answer

# Larger than what the buffers of a connection hold, so that a server has to wait for its client.
PAGE = "<p>" + "x" * 2**23 + "</p>"
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0"


@pytest.fixture
def server() -> Iterator[PageServer]:
    """Return a server of a large page with a state."""
    with PageServer(lambda: PAGE, lambda: {"step": "seed"}) as opened:
        yield opened


def connect(server: PageServer, sent: bytes = b"") -> socket.socket:
    """Return a connection to a server that has sent some bytes."""
    place = urlsplit(server.address)
    connection = socket.create_connection((place.hostname, place.port), timeout=60)
    connection.sendall(sent)
    return connection


def request_of(server: PageServer) -> bytes:
    """Return the bytes that ask for the page."""
    place = urlsplit(server.address)
    return f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode()


def left(connection: socket.socket) -> bytes:
    """Return what a connection still receives before the server closes it."""
    received = b""
    while True:
        try:
            part = connection.recv(2**20)
        except ConnectionResetError:
            return received
        if not part:
            return received
        received += part


def test_two_hundred_clients_at_once_get_whole_pages() -> None:
    """All 200 clients are connected before the first one asks, and all get every byte."""
    page = "<p>" + "x" * 2**19 + "</p>"

    async def ask_all(server: PageServer) -> list[bytes]:
        place = urlsplit(server.address)
        opened = [await asyncio.open_connection(place.hostname, place.port) for _ in range(200)]
        for _, writer in opened:
            writer.write(request_of(server))
        return await asyncio.gather(*(read_answer(*one) for one in opened))

    with PageServer(lambda: page) as server:
        answers = asyncio.run(ask_all(server))
    assert [answer == page.encode() for answer in answers] == [True] * 200


def test_clients_that_connect_while_the_server_is_busy_are_not_lost() -> None:
    """Clients wait in the listen queue while a page takes long, and none is turned away."""
    asked, go = threading.Event(), threading.Event()

    def page() -> str:
        asked.set()
        go.wait()
        return "<p>page</p>"

    with PageServer(page) as server:
        first = connect(server, request_of(server))
        asked.wait()
        others = [connect(server, request_of(server)) for _ in range(200)]
        go.set()
        for connection in (first, *others):
            assert left(connection).endswith(b"<p>page</p>")
            connection.close()


def test_slow_clients_do_not_stop_others(server: PageServer) -> None:
    """Beside 50 clients that send byte after byte, another is served, without more threads."""
    before = threading.active_count()
    slow = [connect(server, HALF) for _ in range(50)]
    for byte in b".1:8080":
        for connection in slow:
            connection.sendall(bytes([byte]))
        assert Caller(server.address).ask("state")[0] == 200
    assert threading.active_count() == before
    for connection in slow:
        connection.close()


@pytest.mark.parametrize(
    "sent", [HALF, b"", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"]
)
def test_a_request_must_end(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """A client that does not send its headers or its body in time is left by the server."""
    monkeypatch.setattr(bounded_server, "REQUEST_SECONDS", 0.2)
    with PageServer(lambda: PAGE) as server, connect(server, sent) as connection:
        assert left(connection) == b""


def test_an_answer_must_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not read a large page in time is left by the server."""
    closed, close = threading.Event(), IOStream.close
    monkeypatch.setattr(IOStream, "close", lambda *given: (close(*given), closed.set()))
    monkeypatch.setattr(bounded_server, "CONNECTION_SECONDS", 0.2)
    with PageServer(lambda: PAGE) as server, connect(server, request_of(server)) as connection:
        assert closed.wait(60)
        assert len(left(connection)) < len(PAGE)


def test_the_oldest_connection_leaves_if_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clients that fill all places are closed for new ones, the oldest first."""
    monkeypatch.setattr(bounded_server, "MAX_CONNECTIONS", 3)
    with PageServer(lambda: "<p>page</p>") as server:
        slow = [connect(server, HALF) for _ in range(3)]
        assert Caller(server.address).ask("")[1] == "<p>page</p>"
        assert left(slow[0]) == b""
        slow[1].settimeout(0)
        with pytest.raises(BlockingIOError):
            slow[1].recv(1)
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"x" * 2**15,
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(
    server: PageServer, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """Large headers and bodies and what is not HTTP end the connection; nothing is printed."""
    with connect(server, sent) as connection:
        assert left(connection)[:12] in (b"", b"HTTP/1.1 400")
    assert Caller(server.address).ask("state")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_tab_that_closes_prints_nothing(
    server: PageServer, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Clients that leave in the middle of a page, politely or not, cause no message."""
    caplog.set_level(logging.WARNING)
    for hard in (False, True):
        connection = connect(server, request_of(server))
        assert connection.recv(1) == b"H"
        if hard:  # the client's system answers all later packets with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert Caller(server.address).ask("")[1] == PAGE
    server.close()
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_a_server_closes_while_clients_read(server: PageServer) -> None:
    """Closing leaves clients that are being served or are slow, and its thread ends."""
    before = threading.active_count()
    reading, slow = connect(server, request_of(server)), connect(server, HALF)
    assert reading.recv(1) == b"H"
    server.close()
    assert threading.active_count() == before - 1
    assert len(left(reading)) < len(PAGE)
    assert left(slow) == b""
    server.close()  # a second time, as at the end of a with block, does nothing
    reading.close()
    slow.close()


def test_a_server_works_where_a_loop_runs() -> None:
    """In a program with a running event loop, as in a notebook, pages are served as well."""

    async def ask() -> bytes:
        with PageServer(lambda: "<p>page</p>") as server:
            place = urlsplit(server.address)
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(request_of(server))
            return await read_answer(reader, writer)

    assert asyncio.run(ask()) == b"<p>page</p>"
