"""Draw the section of docs/scale.md on streams, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measuring import format_table, replace_section

HEADING = "## Streams beside others"


def render_stream(page: str, document: dict[str, Any], machine: str) -> str:
    """Return the page with its section replaced.

    Parameters
    ----------
    page : str
        The present page.
    document : dict
        The results that bench_stream.py stored.
    machine : str
        One line on machine and versions.
    """
    n, d = document["shape"]
    parts = [
        HEADING,
        machine,
        f"Shifted digits ({n:,} x {d:,}) in blocks of {document['block_rows']:,} rows, in "
        "their order and sorted by their length, as an example of a stream that drifts. *Inertia* "
        "is that of all rows, relative to that of `fit` on all rows. *s* is the seconds of all "
        "blocks and of one request for the centers. To repeat: "
        "`python benchmarks/bench_stream.py`, then `python benchmarks/render.py`.",
        stream_table(document["streams"], n * d),
    ]
    return replace_section(page, parts)


def stream_table(streams: Sequence[Any], n_numbers: int) -> str:
    """Return a line for every system, order and number of clusters."""
    lines = []
    for stream in streams:
        head = [stream["order"], str(stream["n_clusters"])]
        lines.append([*head, "`fit`", f"{stream['fit_seconds']:.2f}", "", ""])
        for row in stream["systems"]:
            excess = 100 * (row["inertia"] / stream["fit_inertia"] - 1)
            kept = "" if row["floats"] is None else f"{100 * row['floats'] / n_numbers:.1f} %"
            lines.append([*head, row["system"], f"{row['seconds']:.2f}", f"{excess:+.2f} %", kept])
    return format_table(["order", "k", "", "s", "inertia", "numbers kept"], lines)
