"""How much memory and time a process that reads files may use for one request.

A damaged file can ask its parser for any amount of memory, or send it into an endless loop. What a
sound file needs is bounded by its size and by the rows that are asked for, so a request that needs
much more is ended by the operating system.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from projected_kmeans.sources.memory_at_hand import (
    BYTES_PER_FILE_BYTE,
    PROCESS_PAGES,
    available_memory,
)

try:
    import resource
except ImportError:  # not a POSIX system, where no such process is started
    resource = None  # type: ignore[assignment]

# Memory of a request: 512 MB, 24 MB a processor for the stacks of threads, 1,100 bytes for each
# byte of the file, and 6 for each byte of rows asked for.
BASE_BYTES, PROCESSOR_BYTES = 2**29, 24 * 2**20
BYTES_PER_ROW_BYTE = 6
# Processor time of a request: 4 s, 1 s for each MB of the file, and 1 s for each 16 MB of rows.
BASE_SECONDS, FILE_BYTES_A_SECOND, ROW_BYTES_A_SECOND = 4.0, 2**20, 2**24
# A file counts as 64 KB at least, so that a folder of many small ones has its time.
SMALLEST_FILE = 2**16
# A store of more than 1,000 files is not measured: it is taken for 10 GB.
MEASURED_FILES, LARGE_STORE = 1000, 10 * 2**30


def measure_files(files: Sequence[Path]) -> int:
    """Return the bytes of files, and of all that lies in folders; of large stores a guess."""
    total = 0
    for file in files:
        if not file.is_dir():
            total += max(file.stat().st_size, SMALLEST_FILE)
            continue
        inside = list(islice(file.rglob("*"), MEASURED_FILES + 1))
        if len(inside) > MEASURED_FILES:
            return LARGE_STORE
        total += sum(max(one.lstat().st_size, SMALLEST_FILE) for one in inside)
    return total


def allowed_seconds(file_bytes: int, row_bytes: int) -> float:
    """Return the processor time that a request may take."""
    return BASE_SECONDS + file_bytes / FILE_BYTES_A_SECOND + row_bytes / ROW_BYTES_A_SECOND


def allowed_bytes(file_bytes: int, row_bytes: int) -> int:
    """Return the memory that a request may take beside what the process has already."""
    base = BASE_BYTES + PROCESSOR_BYTES * (os.cpu_count() or 1)
    wanted = base + BYTES_PER_FILE_BYTE * file_bytes + BYTES_PER_ROW_BYTE * row_bytes
    return int(min(wanted, available_memory()))


class Limits:
    """The limits of this process, set while requests are at work.

    Several requests may be at work at once; they share the largest limits of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0

    @contextmanager
    def hold(self, file_bytes: int, row_bytes: int) -> Iterator[None]:
        """Limit what the ``with`` block uses: beyond it, memory is refused and the process ends."""
        with self._lock:
            self._active += 1
            seconds = allowed_seconds(file_bytes, row_bytes)
            left = signal.getitimer(signal.ITIMER_PROF)[0]
            # Without a handler, the signal of this timer ends the process, also in native code.
            signal.setitimer(signal.ITIMER_PROF, max(left, 0.0) + seconds)
            _limit_memory(allowed_bytes(file_bytes, row_bytes))
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                if not self._active:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    _limit_memory(None)


def _limit_memory(more: int | None) -> None:
    """Allow this many bytes beside those in use; None lifts the limit.

    The limit counts memory of this process alone, and not mapped files or shared rows.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    in_use = _data_bytes()
    if more is None or in_use is None:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return
    wanted = in_use + more
    capped = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (capped, hard))


def _data_bytes() -> int | None:
    """Return the private memory of this process, or None if the system does not tell."""
    try:
        pages = PROCESS_PAGES.read_text().split()
    except OSError:
        return None
    return int(pages[5]) * os.sysconf("SC_PAGE_SIZE")
