"""Messages between this process and one that reads files for it.

A message is a JSON document and some arrays. The document goes through a socket. The arrays go into
shared memory: a buffer that both sides know (`reader_buffers`), or a nameless file whose descriptor
travels with the document. The receiver does not copy them. Nothing is pickled.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.reader_buffers import SharedBuffer, create_shared_file

# A document follows its length, an integer of eight bytes.
LENGTH = struct.Struct("<q")
# Arrays begin at multiples of 64 bytes, as kernels like them.
ALIGNMENT = 64
# A longer document (1 GB) is a fault of the sender.
LONGEST_DOCUMENT = 2**30
RECEIVED_BYTES = 2**16


class Message(NamedTuple):
    """A document, its arrays, and the descriptor of a buffer if one was attached.

    The arrays are read-only views of shared memory.
    """

    document: dict[str, Any]
    arrays: list[NDArray[Any]]
    attached: int | None = None


def send_message(
    channel: socket.socket,
    document: dict[str, Any],
    arrays: Sequence[NDArray[Any]] = (),
    *,
    into: SharedBuffer | None = None,
    attached: int | None = None,
) -> None:
    """Send a message.

    Parameters
    ----------
    channel : socket
        To the other side.
    document : dict
        What JSON can hold.
    arrays : sequence of ndarray
        Of numbers or text of fixed length, in any layout.
    into : SharedBuffer, optional
        Gets the arrays if they fit; otherwise they get new memory.
    attached : int, optional
        A descriptor to send along, if there are no arrays.
    """
    places: list[tuple[str, tuple[int, ...], int]] = []
    end = 0
    for array in arrays:
        places.append((array.dtype.str, array.shape, end))
        end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    fits = into is not None and end <= into.n_bytes
    text = json.dumps({**document, "arrays": places, "n_bytes": end, "in_buffer": fits}).encode()
    head = LENGTH.pack(len(text)) + text
    if into is not None and fits:
        for array, place in zip(arrays, places, strict=True):
            _place(into.content, *place)[...] = array
    elif end:
        shared = create_shared_file(end)
        try:
            for array, (_, _, offset) in zip(arrays, places, strict=True):
                _write(shared, np.ascontiguousarray(array), offset)
            _send(channel, head, shared)
        finally:
            os.close(shared)
        return
    _send(channel, head, attached)


def receive_message(channel: socket.socket, buffer: Any = None) -> Message | None:
    """Return the next message, or None if the other side has closed the channel.

    Parameters
    ----------
    channel : socket
        To the other side.
    buffer : object, optional
        The memory that the other side was told to write arrays into.
    """
    text, descriptors, _, _ = socket.recv_fds(channel, RECEIVED_BYTES, 1)
    kept = False
    try:
        if not text:
            return None
        text = _receive_up_to(channel, text, LENGTH.size)
        (length,) = LENGTH.unpack_from(text)
        if not 0 <= length <= LONGEST_DOCUMENT:
            raise ConnectionError(f"a message announces {length} bytes")
        text = _receive_up_to(channel, text, LENGTH.size + length)
        document = json.loads(text[LENGTH.size :])
        places, n_bytes = document.pop("arrays"), document.pop("n_bytes")
        if document.pop("in_buffer"):
            content = buffer
        elif n_bytes:
            content = _map(descriptors[0], n_bytes)
        else:
            content, kept = b"", True
    finally:
        for descriptor in () if kept else descriptors:
            os.close(descriptor)
    arrays = [_place(content, *place) for place in places]
    for array in arrays:
        array.flags.writeable = False
    return Message(document, arrays, descriptors[0] if kept and descriptors else None)


def _send(channel: socket.socket, head: bytes, descriptor: int | None) -> None:
    sent = 0 if descriptor is None else socket.send_fds(channel, [head], [descriptor])
    channel.sendall(head[sent:])


def _receive_up_to(channel: socket.socket, text: bytes, length: int) -> bytes:
    parts, missing = [text], length - len(text)
    while missing > 0:
        part = channel.recv(min(missing, 2**20))
        if not part:
            raise ConnectionError("a message is cut off")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _write(file: int, array: NDArray[Any], offset: int) -> None:
    # Written rather than mapped, because the system then need not clear the pages first.
    left = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while left:
        done = os.pwrite(file, left, offset)
        left, offset = left[done:], offset + done


def _map(file: int, n_bytes: int) -> mmap.mmap:
    if os.fstat(file).st_size < n_bytes:
        raise ConnectionError("the shared memory of a message is too small")
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    return mmap.mmap(file, n_bytes, flags=flags, prot=mmap.PROT_READ)


def _place(content: Any, kind: str, shape: Sequence[int], offset: int) -> NDArray[Any]:
    """Return an array that lies at an offset of some memory."""
    dtype = np.dtype(kind)
    if dtype.hasobject:
        raise ConnectionError(f"an array of {kind} cannot be sent")
    if 0 in shape:
        return np.empty(tuple(shape), dtype)
    return np.ndarray(tuple(shape), dtype, content, offset)
