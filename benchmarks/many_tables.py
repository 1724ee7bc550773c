"""Draw the section of docs/benchmarks.md on thousands of clusters, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measuring import format_table

DEFAULT = "default"


def render_many(document: dict[str, Any], machine: str) -> str:
    """Return the section.

    Parameters
    ----------
    document : dict
        The results that bench_many_clusters.py stored.
    machine : str
        One line on machine and versions.
    """
    parts = [
        "## Thousands of clusters",
        machine,
        'The default from 500 clusters on is the solver "cells"; `solver="lloyd"` compares rows '
        "with all centers. Every system labels all rows, which counts. *s* is wall time and *CPU* "
        "the processor time of all threads; the machine was shared, so CPU times compare "
        "better. *Inertia* is relative to that of the default, so that a positive number is worse. "
        "Trees have 64 groups around each of 128 or 64 places, of very unequal sizes. To repeat: "
        "`python benchmarks/bench_many_clusters.py`.",
        many_table(document["fits"]),
    ]
    return "\n\n".join(parts)


def many_table(fits: Sequence[Any]) -> str:
    """Return a line for every fit; those of the same work follow each other."""
    base = {
        (fit["rows"], fit["n_clusters"]): fit["inertia"] for fit in fits if fit["system"] == DEFAULT
    }
    lines = []
    for fit in sorted(fits, key=lambda one: (one["rows"], one["n_clusters"])):
        work = fit["rows"], fit["n_clusters"]
        excess = 100 * (fit["inertia"] / base[work] - 1) if work in base else float("nan")
        lines.append(
            [
                f"{fit['rows']}, k = {fit['n_clusters']:,}",
                fit["system"],
                f"{fit['seconds']:.2f}",
                f"{fit['cpu_seconds']:.2f}",
                f"{excess:+.2f} %",
            ]
        )
    return format_table(["", "system", "s", "CPU", "inertia"], lines)
