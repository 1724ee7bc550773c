"""Requests to the server of a page, as a browser sends them."""

from __future__ import annotations

from asyncio import StreamReader, StreamWriter
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit


class Caller:
    """Sends requests to a server, with any headers."""

    def __init__(self, address: str) -> None:
        self.place = urlsplit(address)

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, HTTPResponse]:
        """Return status, text and response; a path without a slash is relative to the page."""
        connection = HTTPConnection(self.place.hostname or "", self.place.port or 0, timeout=10)
        full = path if path.startswith("/") else self.place.path + path
        connection.request(method, full, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer


async def read_answer(reader: StreamReader, writer: StreamWriter) -> bytes:
    """Return the content of an answer, after a check that the server sent all that it announced."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    assert head.startswith("HTTP/1.1 200 OK\r\n"), head
    content = await reader.read()
    assert f"Content-Length: {len(content)}\r\n" in head
    writer.close()
    return content
