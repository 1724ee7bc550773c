"""Shared memory that rows travel through, used again as soon as nobody holds the rows.

New memory has to be cleared and mapped page by page, which takes longer than copying rows into it.
So this process creates a few buffers, the reading process writes blocks of rows into them, and a
buffer is free again when the last array on it is dropped.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import tempfile
import weakref
from collections import deque
from typing import Any

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
    """Memory that two processes see.

    Parameters
    ----------
    number : int
        By which both processes call it.
    descriptor : int
        Of its file; the buffer closes it.
    n_bytes : int
        Its size.
    """

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
                found = self._free.popleft()
            except IndexError:  # another thread was faster
                break
            if found.n_bytes >= n_bytes:
                return found
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
