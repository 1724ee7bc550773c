"""Tornado's HTTP server with limits, so that no client can hold memory, time or connections.

The only module that imports tornado. Knows HTTP; `page_server` says who may ask and what is sent.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import IOStream

# A browser sends less than 2 kB of headers and the stop button sends no body.
MAX_HEADER_BYTES = 2**14
MAX_BODY_BYTES = 2**10
# A client has this long to send a request, and this long for the request and reading the answer.
REQUEST_SECONDS = 10.0
CONNECTION_SECONDS = 120.0
# More connections than this could use up the open files that a process may have.
MAX_CONNECTIONS = 256


class BoundedServer(HTTPServer):
    """Answers one request for each connection; closes connections that take too long.

    If there are too many connections, the oldest is closed, because a client that behaves is
    served within milliseconds.
    """

    def initialize(self, answer: Callable[[HTTPServerRequest], None]) -> None:  # type: ignore[override]
        """Set the limits; Tornado calls this with the arguments of the constructor."""
        super().initialize(
            answer,
            no_keep_alive=True,
            max_header_size=MAX_HEADER_BYTES,
            max_body_size=MAX_BODY_BYTES,
            idle_connection_timeout=REQUEST_SECONDS,
            body_timeout=REQUEST_SECONDS,
        )
        self._streams: dict[IOStream, asyncio.TimerHandle] = {}  # the oldest is first

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Serve a new connection."""
        for known in [one for one in self._streams if one.closed()]:
            self._streams.pop(known).cancel()
        while len(self._streams) >= MAX_CONNECTIONS:
            oldest = next(iter(self._streams))
            self._streams.pop(oldest).cancel()
            oldest.close()
        later = asyncio.get_running_loop().call_later
        self._streams[stream] = later(CONNECTION_SECONDS, stream.close)
        super().handle_stream(stream, address)

    async def run(self, listening: socket.socket, until: asyncio.Event) -> None:
        """Serve until an event; then close all connections and the listening socket."""
        self.add_socket(listening)
        try:
            await until.wait()
        finally:
            self.stop()
            for stream, limit in self._streams.items():
                limit.cancel()
                stream.close()
            await self.close_all_connections()


def send(
    request: HTTPServerRequest, status: HTTPStatus, headers: Mapping[str, str], content: bytes
) -> None:
    """Answer a request. A client that has left gets nothing, and that is no error."""
    connection = request.connection
    assert connection is not None
    head = HTTPHeaders({**headers, "Content-Length": str(len(content))})
    # The headers are a write of their own, because Tornado would copy the content behind them.
    connection.write_headers(ResponseStartLine("HTTP/1.1", status, status.phrase), head)
    if content and request.method != "HEAD":
        connection.write(content)
    connection.finish()
