"""Draw the section of docs/files.md on the speed of reading, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measuring import format_table, replace_section

HEADING = "## How fast"

INTRODUCTION = """\
A walk opens a file and reads all rows in blocks of 64 MB, from the first to the last; each number
is looked at once. Except in the last column, files are in the system's page cache. The columns:

- *GB/s of a walk* counts the numbers that are read, not the bytes of the file.
- *walk / bytes* is the time of the walk, divided by the time of reading the file's bytes into a
  buffer. It is below 1 if the file is mapped and not copied.
- *walk / peer* is the time of the walk, divided by the time of the format's own reader, which makes
  rows too.
- *sketch / read* is the time of a pass that checks all rows and reduces them to 64 dimensions,
  divided by the time of the faster of these two readers.
- *sketch / bytes, cold* is the time of the same pass, divided by the time of reading the file's
  bytes, both with the file not in the page cache.

Times on a shared machine vary by a third. To repeat: `python benchmarks/bench_files.py`, then
`python benchmarks/render.py`."""


def render_files(page: str, document: dict[str, Any], machine: str) -> str:
    """Return the page with its section replaced.

    Parameters
    ----------
    page : str
        The present page.
    document : dict
        The results that bench_files.py stored.
    machine : str
        One line on machine and versions.
    """
    parts = [
        HEADING,
        machine,
        INTRODUCTION,
        speed_table(document["files"]),
    ]
    return replace_section(page, parts)


def speed_table(rows: Sequence[Any]) -> str:
    """Return a line for each format: its rows, its size, the time to open, and the speeds."""
    lines = [
        [
            row["format"],
            f"{row['n']:,} x {row['d']:,}",
            f"{row['file_bytes'] / 1e6:,.0f}",
            f"{1e3 * row['open_seconds']:,.0f}",
            f"{row['row_bytes'] / row['rows_seconds'] / 1e9:.2f}",
            f"{row['rows_seconds'] / row['bytes_seconds']:.1f}",
            f"{row['rows_seconds'] / row['peer_seconds']:.2f} {row['peer']}",
            f"{row['reduce_seconds'] / min(row['rows_seconds'], row['peer_seconds']):.2f}",
            f"{row['cold_reduce_seconds'] / row['cold_bytes_seconds']:.1f}",
        ]
        for row in rows
    ]
    header = ["", "rows", "MB of file", "ms to open", "GB/s of a walk", "walk / bytes"]
    header += ["walk / peer", "sketch / read", "sketch / bytes, cold"]
    return format_table(header, lines)
