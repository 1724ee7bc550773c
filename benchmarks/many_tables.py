"""Draw the sections of docs/benchmarks.md on thousands of clusters, from stored results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        "the processor time of all threads. *Inertia* is relative to that of the default, so that "
        "a positive number is worse. "
        "Trees have 64 groups around each of 128 or 64 places, of very unequal sizes. To repeat: "
        "`python benchmarks/bench_many_clusters.py`.",
        many_table([fit for fit in document["fits"] if "failure" not in fit]),
        *failure_sentence(document["fits"]),
    ]
    return "\n\n".join(parts)


def failure_sentence(fits: Sequence[Any]) -> Iterator[str]:
    """Yield a sentence on the fits that gave no result, if there are any."""
    failures = [
        f"{fit['system']} on {fit['rows']}, k = {fit['n_clusters']:,} ({fit['failure']})"
        for fit in fits
        if "failure" in fit
    ]
    if failures:
        yield f"Not measured: {'; '.join(failures)}."


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


def render_predictions(document: dict[str, Any], machine: str) -> str:
    """Return the section on labels of new rows.

    Parameters
    ----------
    document : dict
        The results that bench_predict.py stored.
    machine : str
        One line on machine and versions.
    """
    lines = []
    for work in document["works"]:
        (ours, theirs), share = work["seconds"].values(), work["agreement"]
        name = f"{work['rows']}, k = {work['n_clusters']:,}"
        lines.append([name, f"{ours:.2f}", f"{theirs / ours:.1f}", f"{100 * share:.3f} %"])
    parts = [
        "## Labels among thousands of centers",
        machine,
        "`predict` rules most centers out by a sketch of them, and gives the labels of a full "
        "pass. FAISS's flat search compares every row with every center, in float32. *s* is "
        "wall time of `predict` for all rows. To repeat: `python benchmarks/bench_predict.py`.",
        format_table(["", "s", "times faster than FAISS", "same labels"], lines),
    ]
    return "\n\n".join(parts)
