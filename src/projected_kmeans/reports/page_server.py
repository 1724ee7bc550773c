"""A small web server for one user on this machine: it serves a page, its state and a stop button.

Knows addresses, tokens and headers; its callers provide the content.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

HOST = "127.0.0.1"

# Sent with every response: browsers do not store or frame it, and do not pass on its address.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; connect-src 'self'; "
        "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageServer:
    """Serves a page at an address that contains a secret token, in its own threads.

    Only this machine can reach the server. It answers 403 to a request without the token, and to
    one that a page of another site made the browser send (its Host or Origin is not this server).

    Parameters
    ----------
    page : callable
        Returns the page as HTML.
    state : callable, optional
        Returns the state, which the page polls, as JSON can hold it.
    stop : callable, optional
        Called when the stop button of the page is pressed.
    port : int, default=0
        The port; 0 chooses a free one.

    Attributes
    ----------
    address : str
        The address to open in a browser.

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
        token = secrets.token_urlsafe(24)
        answers: dict[tuple[str, str], Callable[[], tuple[str, str]]] = {
            ("GET", ""): lambda: ("text/html; charset=utf-8", page())
        }
        if state is not None:
            answers["GET", "state"] = lambda: ("application/json", json.dumps(state()))
        if stop is not None:
            answers["POST", "stop"] = lambda: ("application/json", json.dumps(stop()))
        try:
            self._server = _Server((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ValueError(
                f"port {port} cannot be opened ({reason}); choose another, or 0 for a free one"
            ) from error
        self._server.token, self._server.answers = token, answers
        self.address = f"http://{HOST}:{self._server.server_port}/{token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the server, and wait until the port is free again."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # so that an open connection does not keep the program running
    token: str
    answers: Mapping[tuple[str, str], Callable[[], tuple[str, str]]]


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "projected-kmeans", ""
    timeout = 10

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: the terminal shows the fit, and addresses contain the token."""

    def _answer(self, method: str) -> None:
        _, _, rest = self.path.partition("/")
        token, _, place = rest.partition("/")
        if not self._is_ours() or not hmac.compare_digest(
            token.encode(), self.server.token.encode()
        ):
            self._send(
                HTTPStatus.FORBIDDEN, "text/plain", "open the printed address, with its token\n"
            )
            return
        answer = self.server.answers.get((method, place.partition("?")[0]))
        if answer is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "this page does not exist\n")
            return
        self._send(HTTPStatus.OK, *answer())

    def _is_ours(self) -> bool:
        """Return whether the request was made for this server, and not by another site's page."""
        hosts = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        origin = self.headers.get("Origin")
        return self.headers.get("Host") in hosts and (
            origin is None or origin in {f"http://{host}" for host in hosts}
        )

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in (*HEADERS.items(), ("Content-Type", kind)):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
