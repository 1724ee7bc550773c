"""How much memory the machine has left, and the sentence if data asks for more."""

from __future__ import annotations

import math
from pathlib import Path

from projected_kmeans.sources.protocol import UnreadableFile


def available_memory() -> float:
    """Return the bytes of memory that are free or can be freed; infinity if the system is silent.

    Only Linux has the file that this reads.
    """
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) * 2**10
    except (OSError, StopIteration):
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
