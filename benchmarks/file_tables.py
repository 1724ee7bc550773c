"""Stored times of reading files -> the last section of docs/files.md.

Measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measuring import format_table, replace_section

HEADING = "## How fast"


def render_files(page: str, document: dict[str, Any], machine: str) -> str:
    """Return the page with its section drawn anew.

    Parameters
    ----------
    page : str
        The page as it is.
    document : dict
        What bench_files.py stored.
    machine : str
        One line on machine and versions.
    """
    parts = [
        HEADING,
        machine,
        "Files in the page cache, read from the first to the last row in blocks of 64 MB, opening "
        "included; each number is looked at once. GB/s count the numbers as they are read. The "
        "next columns are times over others: of that walk over merely reading the file's bytes "
        "into a buffer (below 1, the file is mapped and not copied) and over the format's own "
        "reader, into rows too; of the pass that checks rows and reduces them to 64 "
        "dimensions over the faster of the two readers, and over reading bytes where neither "
        "finds the file in the page cache. Times of a shared machine vary by a third. To repeat: "
        "`python benchmarks/bench_files.py`, then `python benchmarks/render.py`.",
        speed_table(document["files"]),
    ]
    return replace_section(page, parts)


def speed_table(rows: Sequence[Any]) -> str:
    """Return a line a format: its rows, its size, what opening takes, and the speed of a walk."""
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
    header = ["", "rows", "MB of file", "ms to open", "GB/s of a walk", "walk over its bytes"]
    header += ["walk over a peer's", "sketch over a walk", "sketch over bytes, cold"]
    return format_table(header, lines)
