"""The section on wide rows of docs/benchmarks.md, from the stored results."""

from __future__ import annotations

from typing import Any

from measuring import format_table

STEPS = ("check", "reduce", "seed", "cluster", "lift", "polish")


def render_wide(document: dict[str, Any], description: str) -> str:
    """Return the section."""
    works = document["works"].values()
    parts = [
        "## Very wide rows, and fits in units of reading",
        description,
        "**Planted groups in very wide rows**, beside one run of scikit-learn's KMeans. P is the "
        "share of rows in their own group; memory is the peak beyond the rows and the centers.",
        peers_table([work for work in works if len(work["rows"]) > 1]),
        "**The default call divided by the time to read the rows once from memory**, by step, on "
        "overlapping mixtures.",
        steps_table([work for work in works if len(work["rows"]) == 1]),
    ]
    return "\n\n".join(parts)


def peers_table(works: list[dict[str, Any]]) -> str:
    """Return a line for each work and system."""
    lines = []
    for work in works:
        ours, peer = work["rows"]
        for one in (ours, peer):
            lines.append(
                [
                    f"{name_work(work)}: {one['system']}",
                    f"{one['seconds']:.2f}",
                    f"{peer['seconds'] / one['seconds']:.1f}",
                    f"{one['inertia'] / peer['inertia']:.4f}",
                    f"{one['accuracy']:.2f}",
                    megabytes(work, one),
                ]
            )
    return format_table(["", "seconds", "speed", "inertia", "P", "MB"], lines)


def steps_table(works: list[dict[str, Any]]) -> str:
    """Return the steps of each work in units of reading its rows."""
    lines = []
    for work in works:
        one = work["rows"][0]
        reads = [one["steps"].get(step, 0.0) / one["read_seconds"] for step in STEPS]
        total = one["seconds"] / one["read_seconds"]
        lines.append([name_work(work), *(f"{number:.1f}" for number in (*reads, total))])
    return format_table(["", *STEPS, "whole fit"], lines)


def name_work(work: dict[str, Any]) -> str:
    """Return the sizes of a work."""
    kind = f" with {work['nonzeros']} nonzeros a row" if work["nonzeros"] else ""
    return f"{work['n']:,} x {work['d']:,}{kind}, k = {work['k']}"


def megabytes(work: dict[str, Any], one: dict[str, Any]) -> str:
    """Return the memory beyond rows and centers; rows are float32 and centers have their type."""
    if one["extra_bytes"] is None:
        return ""
    centers = work["k"] * work["d"] * 4
    return f"{max(one['extra_bytes'] - centers, 0) / 1e6:.0f}"
