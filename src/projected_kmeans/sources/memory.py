"""How much memory there is, and one sentence if data asks for more or an allocation fails.

Read from the system here and not by psutil, which would be a dependency in place of twenty lines.
"""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from projected_kmeans.messages import MAX_REASON, one_line
from projected_kmeans.sources.protocol import UnreadableFile

# Deflate packs at most 1,032 bytes into one; 64 MB are given to any file.
BYTES_PER_FILE_BYTE = 1100
SMALL_BYTES = 2**26
# On Linux alone: the memory of the machine and of this process, and the limit and the use of the
# container that it runs in, if it runs in one.
MEMORY_INFO = Path("/proc/meminfo")
PROCESS_PAGES = Path("/proc/self/statm")
CONTAINER = Path("/sys/fs/cgroup")

ADVICE = "set memory_limit (--memory-limit), or use fewer rows, columns, clusters or threads"
# What NumPy says about an array that it has no memory for.
NUMPY_TEXT = re.compile(r"Unable to allocate (?P<size>.+?) for (?P<what>an array .+)", re.DOTALL)
# How the sentence of a kernel begins; it says all: what was asked for, and what to do.
KERNEL_TEXT = "a kernel asked for "


class MemoryShortage(MemoryError):
    """An allocation failed; the message says what was asked for, and what to do."""


def available_memory() -> float:
    """Return the bytes of memory that are free or can be freed.

    Only Linux tells. Elsewhere it is all memory of the machine.
    """
    try:
        lines = MEMORY_INFO.read_text().splitlines()
        told = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(told.split()[1]) * 2**10
    except (OSError, StopIteration):
        return machine_memory()


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinity if the system is silent."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # AttributeError: Windows
        return math.inf


def memory_left() -> float:
    """Return the bytes that this process can still get; infinity if the system is silent.

    That is the least of what the machine has, what the container may take, and what
    ``ulimit -v`` leaves. Only Linux tells.
    """
    return max(0.0, min(available_memory(), _left_in_container(), _left_under_limit()))


def check_asked(n_bytes: float, file_bytes: int, what: str) -> None:
    """Raise if a file asks for more memory than its size can explain, or than there is.

    No packing in use makes more than 1,100 bytes of one.
    """
    if n_bytes > SMALL_BYTES + BYTES_PER_FILE_BYTE * file_bytes:
        raise UnreadableFile(
            f"{what} asks for {show_size(n_bytes)} of memory in a file of {show_size(file_bytes)}; "
            "check that it is complete, or write it again"
        )
    at_hand = available_memory()
    if n_bytes > at_hand:
        raise UnreadableFile(
            f"{what} takes {show_size(n_bytes)} of memory, but {show_size(at_hand)} are at hand; "
            "free some memory, or store it in parts"
        )


def is_shortage(error: BaseException) -> bool:
    """Return whether an error means that there is too little memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )


def describe_shortage(error: BaseException, path: str | Path | None = None) -> MemoryShortage:
    """Return the error to raise instead of one for which `is_shortage` holds."""
    if isinstance(error, MemoryShortage):
        return error
    if str(error).startswith(KERNEL_TEXT):
        return MemoryShortage(str(error))
    left = memory_left()
    at_hand = "this machine gives" if left == float("inf") else f"the {show_size(left)} at hand"
    text = NUMPY_TEXT.search(str(error))
    if text is not None:
        place = "" if path is None else f" to read {path}"
        asked = f"{one_line(text['what'])} takes {text['size']} of memory{place}"
        return MemoryShortage(f"{asked}, more than {at_hand}; {ADVICE}")
    if path is not None:
        return MemoryShortage(
            f"reading {path}{_size_of(Path(path))} takes more memory than {at_hand}; {ADVICE}"
        )
    silent = isinstance(error, OSError) or str(error) in ("", "std::bad_alloc")
    details = "" if silent else f" ({one_line(str(error), MAX_REASON)})"
    return MemoryShortage(f"more memory was asked for than {at_hand}{details}; {ADVICE}")


@contextmanager
def explain_shortage() -> Iterator[None]:
    """Turn an allocation that fails inside into a `MemoryShortage` from it. Also a decorator."""
    try:
        yield
    except (MemoryError, OSError) as error:
        if not is_shortage(error) or isinstance(error, MemoryShortage):
            raise
        raise describe_shortage(error) from error


def show_size(n_bytes: float) -> str:
    """Return a number of bytes for people, such as "1.5 GB"."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes:.0f} bytes"


def _left_in_container() -> float:
    try:
        limit = int((CONTAINER / "memory.max").read_text())
        return limit - int((CONTAINER / "memory.current").read_text())
    except (OSError, ValueError):  # no container, or one without a limit, which says "max"
        return float("inf")


def _left_under_limit() -> float:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(PROCESS_PAGES.read_text().split()[0])
    except (ImportError, OSError):
        return float("inf")
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    return limit - pages * resource.getpagesize()


def _size_of(path: Path) -> str:
    try:
        return f" ({show_size(path.stat().st_size)})" if path.is_file() else ""
    except OSError:
        return ""
