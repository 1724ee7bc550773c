"""One sentence for an allocation that failed: what was asked for, how much there is, what to do."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from projected_kmeans.messages import MAX_REASON, one_line
from projected_kmeans.sources.memory_at_hand import PROCESS_PAGES, available_memory, show_size

ADVICE = "set memory_limit (--memory-limit), or use fewer rows, columns, clusters or threads"

# What NumPy says about an array that it has no memory for.
NUMPY_TEXT = re.compile(r"Unable to allocate (?P<size>.+?) for (?P<what>an array .+)", re.DOTALL)

# How the sentence of a kernel begins; it says all: what was asked for, and what to do.
KERNEL_TEXT = "a kernel asked for "

# The limit and the use of the container that this process runs in, if it runs in one.
CONTAINER = Path("/sys/fs/cgroup")


class MemoryShortage(MemoryError):
    """An allocation failed; the message says what was asked for, and what to do."""


def is_shortage(error: BaseException) -> bool:
    """Return whether an error means that there is too little memory.

    Examples
    --------
    >>> is_shortage(MemoryError()), is_shortage(OSError(errno.ENOMEM, "full"))
    (True, True)
    """
    return isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )


def describe_shortage(error: BaseException, path: str | Path | None = None) -> MemoryShortage:
    """Return the error to raise instead of one for which `is_shortage` holds.

    Parameters
    ----------
    error : BaseException
        What an allocation or a mapping raised.
    path : str or path, optional
        The file that was being read.

    Examples
    --------
    >>> import numpy as np
    >>> try:
    ...     np.empty((10**6, 10**9))
    ... except MemoryError as error:
    ...     print(describe_shortage(error))  # doctest: +ELLIPSIS
    an array with shape (1000000, 1000000000) and data type float64 takes 7.11 PiB of memory, ...
    """
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


def memory_left() -> float:
    """Return the bytes that this process can still get; infinity if the system is silent.

    That is the least of what the machine has, what the container may take, and what
    ``ulimit -v`` leaves. Only Linux tells.
    """
    return max(0.0, min(available_memory(), _left_in_container(), _left_under_limit()))


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
