"""Draw the section of docs/benchmarks.md on busy machines and small data, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measuring import format_table

HEADER = ("", "", "idle, ms", "busy, ms", "busy / idle", "longest, ms", "inertia", "highest")


def render_busy(document: dict[str, Any], machine: str) -> str:
    """Return the section.

    Parameters
    ----------
    document : dict
        The results that bench_busy.py stored.
    machine : str
        One line on machine and versions.
    """
    parts = [
        "## Small data and busy machines",
        machine,
        f"Fits by default, alone and beside {document['n_busy']} processes that run a loop without "
        "end. Times are medians over keys; *longest* is the longest fit beside them. *Inertia* is "
        "the median over keys and *highest* the highest, both relative to scikit-learn's median. "
        "To repeat: `python benchmarks/bench_busy.py` on a machine that is idle otherwise.",
        busy_table(document["fits"]),
    ]
    return "\n\n".join(parts)


def busy_table(fits: Sequence[Any]) -> str:
    """Return a line for every data set and system."""
    base = {
        row["data"]: row["median_inertia"]
        for row in fits
        if row["system"].startswith("scikit-learn")
    }
    lines = []
    for row in fits:
        n, d = row["shape"]
        idle, busy = 1e3 * row["idle_seconds"], 1e3 * row["busy_seconds"]
        lines.append(
            [
                f"{row['data']}, {n:,} x {d}, k = {row['n_clusters']}",
                row["system"],
                f"{idle:.1f}",
                f"{busy:.1f}",
                f"{busy / idle:.1f}",
                f"{1e3 * row['longest_busy_seconds']:.0f}",
                f"{row['median_inertia'] / base[row['data']]:.5f}",
                f"{row['highest_inertia'] / base[row['data']]:.5f}",
            ]
        )
    return format_table(HEADER, lines)
