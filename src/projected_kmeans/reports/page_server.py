"""A small web server for one user on this machine: it serves a page, its state and a stop button.

Knows addresses, tokens and who may ask; its callers provide the content, and `bounded_server` keeps
clients within limits.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self

from projected_kmeans.messages import first_line
from projected_kmeans.optional_packages import load_extra

if TYPE_CHECKING:
    from tornado.httputil import HTTPServerRequest

HOST = "127.0.0.1"
# As many connections may wait for the server while it is busy.
LISTEN_QUEUE = 1024
MAX_PORT = 2**16 - 1

# Sent with every response: browsers do not store or frame it, and do not pass on its address.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; connect-src 'self'; "
        "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Server": "projected-kmeans",
    "X-Content-Type-Options": "nosniff",
}


class PageServer:
    """Serves a page at an address that contains a secret token, in one thread of its own.

    Only this machine can reach the server. It answers 403 to a request without the token, and to
    one that a page of another site made the browser send (its Host or Origin is not this server).
    The thread has its own event loop, so that the server also works where one runs already.

    ``page`` returns the page as HTML, ``state`` what the page polls, as JSON can hold it, and
    ``stop`` is called when the stop button of the page is pressed. All three must be quick, because
    all clients wait for them. ``address`` is to be opened in a browser; port 0 chooses a free one.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> with PageServer(lambda: "<p>hello</p>") as server:
    ...     with urlopen(server.address) as answer:
    ...         answer.read().decode()
    '<p>hello</p>'
    """

    def __init__(
        self,
        page: Callable[[], str],
        state: Callable[[], Mapping[str, Any]] | None = None,
        stop: Callable[[], None] | None = None,
        port: int = 0,
    ) -> None:
        load_extra("tornado.httpserver", "report", "a page in the browser")
        encode = _Encoder()
        answers: dict[tuple[str, str], Callable[[], tuple[str, bytes]]] = {
            ("GET", ""): lambda: ("text/html; charset=utf-8", encode(page()))
        }
        if state is not None:
            answers["GET", "state"] = lambda: ("application/json", json.dumps(state()).encode())
        if stop is not None:
            answers["POST", "stop"] = lambda: ("application/json", json.dumps(stop()).encode())
        listening = _listen(port)
        port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
        self.address = f"http://{HOST}:{port}/{token}/"
        self._desk = _Desk(token, port, answers)
        self._loop: asyncio.AbstractEventLoop
        self._closing: asyncio.Event
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening, started)), daemon=True
        )
        self._thread.start()
        started.wait()

    def close(self) -> None:
        """Stop the server, and wait until the port is free again."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def _serve(self, listening: socket.socket, started: threading.Event) -> None:
        from projected_kmeans.reports.bounded_server import BoundedServer

        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        started.set()
        await BoundedServer(self._desk.answer).run(listening, self._closing)


class _Desk:
    """Decides who may ask, and sends what was asked for."""

    def __init__(
        self,
        token: str,
        port: int,
        answers: Mapping[tuple[str, str], Callable[[], tuple[str, bytes]]],
    ) -> None:
        self._token, self._answers = token.encode(), answers
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}

    def answer(self, request: HTTPServerRequest) -> None:
        """Answer one request."""
        from projected_kmeans.reports.bounded_server import send

        status, kind, content = self._find(request)
        send(request, status, {**HEADERS, "Content-Type": kind}, content)

    def _find(self, request: HTTPServerRequest) -> tuple[HTTPStatus, str, bytes]:
        token, _, place = request.path.removeprefix("/").partition("/")
        if not self._is_ours(request) or not hmac.compare_digest(token.encode(), self._token):
            return HTTPStatus.FORBIDDEN, "text/plain", b"open the printed address, with its token\n"
        method = "GET" if request.method == "HEAD" else request.method
        answer = self._answers.get((method or "", place))
        if answer is None:
            return HTTPStatus.NOT_FOUND, "text/plain", b"this page does not exist\n"
        try:
            return HTTPStatus.OK, *answer()
        except Exception as error:  # shown in the browser, because the terminal shows the fit
            reason = f"this page cannot be shown ({type(error).__name__}: {first_line(error)})\n"
            return HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", reason.encode()

    def _is_ours(self, request: HTTPServerRequest) -> bool:
        """Return whether the request was made for this server, and not by another site's page."""
        origin = request.headers.get("Origin")
        return request.headers.get("Host") in self._hosts and (
            origin is None or origin in self._origins
        )


class _Encoder:
    """Encodes a page once, so that all clients who load it at the same time share its bytes."""

    def __init__(self) -> None:
        self._last = ("", b"")

    def __call__(self, page: str) -> bytes:
        if self._last[0] is not page:
            self._last = (page, page.encode())
        return self._last[1]


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= MAX_PORT:
        raise _cannot_open(port, f"ports are 0 to {MAX_PORT}")
    try:
        listening = socket.create_server((HOST, port), backlog=LISTEN_QUEUE)
    except OSError as error:
        raise _cannot_open(port, error.strerror or str(error)) from error
    listening.setblocking(False)
    return listening


def _cannot_open(port: int, reason: str) -> ValueError:
    return ValueError(
        f"port {port} cannot be opened ({reason}); choose another, or 0 for a free one"
    )
