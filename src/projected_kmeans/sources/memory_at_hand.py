"""How much memory the machine has left, and the sentence if data asks for more."""

from __future__ import annotations

import math
import os
from pathlib import Path

from projected_kmeans.sources.protocol import UnreadableFile

# Deflate packs at most 1,032 bytes into one; 64 MB are given to any file.
BYTES_PER_FILE_BYTE = 1100
SMALL_BYTES = 2**26
# On Linux alone.
MEMORY_INFO = Path("/proc/meminfo")
PROCESS_PAGES = Path("/proc/self/statm")


def available_memory() -> float:
    """Return the bytes of memory that are free or can be freed.

    Only Linux tells. Elsewhere it is all memory of the machine.
    """
    try:
        lines = MEMORY_INFO.read_text().splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) * 2**10
    except (OSError, StopIteration):
        return machine_memory()


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinity if the system is silent."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # AttributeError: Windows
        return math.inf


def check_memory(n_bytes: float, what: str, advice: str) -> None:
    """Raise if something takes more memory than there is.

    Parameters
    ----------
    n_bytes : float
        What it takes.
    what : str
        The subject of the error, such as "X in rows.npz".
    advice : str
        What to do.

    Examples
    --------
    >>> check_memory(2.0**70, "X", "store fewer rows")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    projected_kmeans.sources.protocol.UnreadableFile: X takes 1.18e+12 GB of memory, but ...
    """
    at_hand = available_memory()
    if n_bytes > at_hand:
        raise UnreadableFile(
            f"{what} takes {show_size(n_bytes)} of memory, but {show_size(at_hand)} are at hand; "
            f"{advice}"
        )


def check_asked(n_bytes: float, file_bytes: int, what: str) -> None:
    """Raise if a file asks for more memory than its size can explain, or than there is.

    Parameters
    ----------
    n_bytes : float
        What it asks for.
    file_bytes : int
        Its size. No packing in use makes more than 1,100 bytes of one.
    what : str
        The subject of the error.

    Examples
    --------
    >>> check_asked(1e12, 100, "X in rows.npz")
    Traceback (most recent call last):
    ...
    projected_kmeans.sources.protocol.UnreadableFile: X in rows.npz asks for 1e+03 GB of memory in \
a file of 100 bytes; check that it is complete, or write it again
    """
    if n_bytes > SMALL_BYTES + BYTES_PER_FILE_BYTE * file_bytes:
        raise UnreadableFile(
            f"{what} asks for {show_size(n_bytes)} of memory in a file of {show_size(file_bytes)}; "
            "check that it is complete, or write it again"
        )
    check_memory(n_bytes, what, "free some memory, or store it in parts")


def show_size(n_bytes: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> show_size(1.5e9), show_size(2_000_000), show_size(17)
    ('1.5 GB', '2 MB', '17 bytes')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes:.0f} bytes"
