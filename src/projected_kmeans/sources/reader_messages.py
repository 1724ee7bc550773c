"""Messages between this process and one that reads files for it.

A message is a JSON document and some arrays. The document goes through a socket. The arrays go into
shared memory: a buffer that both sides know, or a nameless file whose descriptor travels with the
document. The receiver does not copy them. Nothing is pickled.

New memory has to be cleared and mapped page by page, which takes longer than copying rows into it.
So the asking process creates a few buffers, the reading process writes blocks of rows into them,
and a buffer is free again when the last array on it is dropped.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import mmap
import os
import socket
import struct
import tempfile
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# A document follows its length, an integer of eight bytes.
LENGTH = struct.Struct("<q")
# Arrays begin at multiples of 64 bytes, as kernels like them.
ALIGNMENT = 64
# A longer document (1 GB) is a fault of the sender.
LONGEST_DOCUMENT = 2**30
RECEIVED_BYTES = 2**16

# Smaller answers are not worth a buffer, and larger ones would keep too much memory.
SMALLEST_BUFFER, LARGEST_BUFFER = 2**16, 2**28
MAP_POPULATE: int = getattr(mmap, "MAP_POPULATE", 0)
# Free buffers that are kept: as many as a walk reads ahead and works on.
KEPT_BUFFERS = 4


def create_shared_file(n_bytes: int) -> int:
    """Return the descriptor of a file without a name, in memory if the system can do that."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("rows", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, n_bytes)
    return descriptor


class SharedBuffer:
    """Memory that two processes see and call by its number; it closes its descriptor."""

    def __init__(self, number: int, descriptor: int, n_bytes: int) -> None:
        self.number, self.n_bytes = number, n_bytes
        # All pages are mapped at once, which is faster than one by one when they are first used.
        self.content = mmap.mmap(descriptor, n_bytes, mmap.MAP_SHARED | MAP_POPULATE)
        self.descriptor: int | None = descriptor

    def close_descriptor(self) -> None:
        """Close the file, which both processes have mapped by now."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def __del__(self) -> None:
        self.close_descriptor()


class BufferPool:
    """The buffers of this process: those that are free, and those that hold rows."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._free: deque[SharedBuffer] = deque(maxlen=KEPT_BUFFERS)
        self._gone: deque[int] = deque()

    def take(self, n_bytes: int) -> SharedBuffer | None:
        """Return a free buffer of at least this size, or None if it is not worth one."""
        if not SMALLEST_BUFFER <= n_bytes <= LARGEST_BUFFER:
            return None
        for _ in range(len(self._free)):
            try:
                free = self._free.popleft()
            except IndexError:  # another thread was faster
                break
            if free.n_bytes >= n_bytes:
                return free
        number = next(self._numbers)
        buffer = SharedBuffer(number, create_shared_file(n_bytes), n_bytes)
        weakref.finalize(buffer, self._gone.append, number).atexit = False
        return buffer

    def lend(self, buffer: SharedBuffer) -> Any:
        """Return the memory of a buffer; the buffer is free when this is no longer referenced."""
        memory = (ctypes.c_char * buffer.n_bytes).from_buffer(buffer.content)
        weakref.finalize(memory, self._free.append, buffer).atexit = False
        return memory

    def take_gone(self) -> list[int]:
        """Return the numbers of buffers that no longer exist, each once."""
        return [self._gone.popleft() for _ in range(len(self._gone))]

    def clear(self) -> None:
        """Forget the free buffers."""
        self._free.clear()


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
    """Send a document and arrays of numbers or of text of fixed length.

    The arrays go `into` a buffer if they fit, and get new memory otherwise. The descriptor
    `attached` is sent along if there are no arrays.
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

    `buffer` is the memory that the other side was told to write arrays into.
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
    return mmap.mmap(file, n_bytes, flags=mmap.MAP_SHARED | MAP_POPULATE, prot=mmap.PROT_READ)


def _place(content: Any, kind: str, shape: Sequence[int], offset: int) -> NDArray[Any]:
    """Return an array that lies at an offset of some memory."""
    dtype = np.dtype(kind)
    if dtype.hasobject:
        raise ConnectionError(f"an array of {kind} cannot be sent")
    if 0 in shape:
        return np.empty(tuple(shape), dtype)
    return np.ndarray(tuple(shape), dtype, content, offset)
