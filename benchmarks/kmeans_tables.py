"""Draw the section of docs/benchmarks.md on k-means on sketches, from stored results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from measuring import format_table

OURS = "projected_kmeans"

# Goals: the time of a peer's whole run divided by our time to an inertia as good as its own.
RUN_GOALS = {"FAISS": "3.00", "superkmeans": "1.00"}


def render_kmeans(document: dict[str, Any], description: str) -> str:
    """Return the section, with the parts that the document holds."""
    parts = ["## k-means on the sketch", description, *document["absent"]]
    if "assignment" in document:
        parts += [
            "**One assignment pass** of rows to their nearest centers, in billions of operations "
            "per second; a pass has 2 n t k operations. FAISS runs `IndexFlatL2.search`, "
            "scikit-learn runs `pairwise_distances_argmin`; ours also finds the distance to the "
            "second nearest center.",
            assignment_table(document["assignment"]),
        ]
    if "runs" in document:
        parts += [
            "**Whole runs** of 25 passes on sign sketches of MNIST digits shifted by up to one "
            "pixel, all rows, from the same random rows (superkmeans draws its own). Inertia is "
            "that of the last centers, computed in float64 for all. *As good* is our time until "
            "our inertia is within 0.1 % of the peer's, or lower. Lines of one size with the same "
            "number of passes timed the same work, so that their differences are noise. "
            "*Distances* is the share of all distances that ours computed.",
            runs_table(document["runs"]),
        ]
    elif "no_runs" in document:
        parts.append(document["no_runs"])
    if "seeding" in document:
        parts += [
            "**Seeding** by greedy k-means++, in seconds and in first iterations of Lloyd's method "
            "(all distances and all sums; goal: at most 5 of them). Inertia is that of the chosen "
            "rows: the mean over three keys, for scikit-learn that of one key.",
            seeding_table(document["seeding"]),
        ]
    if "growth" in document:
        parts += [
            "**Growth** of the time of one iteration: the first, which computes all distances, and "
            "the mean of ten. *To linear* is the growth of the time since the first line of the "
            "series, divided by the growth of the size: 1 is linear growth, less is better.",
            growth_table(document["growth"]),
        ]
    return "\n\n".join([*parts, *memory_sentence(document)])


def assignment_table(rows: Sequence[Any]) -> str:
    """Return the speed of every system, a line for each size."""
    found = by_size(rows, "n", "t", "k")
    systems = list(dict.fromkeys([OURS, *(row["system"] for row in rows)]))
    header = ["", *systems]
    lines = []
    for (n, t, k), group in found.items():
        speeds = {row["system"]: 2e-9 * n * t * k / row["seconds"] for row in group}
        line = [f"n = {n:,}, t = {t}, k = {k:,}", *(f"{speeds[name]:.0f}" for name in systems)]
        if "FAISS" in speeds:
            line += [f"{speeds[OURS] / speeds['FAISS']:.2f}", f"{group[0]['goal']:.2f}"]
        lines.append(line)
    if "FAISS" in systems:
        header += ["times FAISS", "goal"]
    return format_table(header, lines)


def runs_table(rows: Sequence[Any]) -> str:
    """Return time and inertia of every system, and how soon ours is as good."""
    lines = []
    for (n, t, k), group in by_size(rows, "n", "t", "k").items():
        ours = next(row for row in group if row["system"] == OURS)
        for row in sorted(group, key=lambda row: row is not ours):
            lines.append(
                [
                    f"n = {n:,}, t = {t}, k = {k:,}: {row['system']}",
                    f"{row['seconds']:.2f}",
                    f"{row['inertia'] / ours['inertia']:.4f}",
                    *(own_cells(row) if row is ours else peer_cells(row, ours["seconds"])),
                ]
            )
    header = ["", "seconds", "inertia / ours", "times, same passes", "as good: s", "passes"]
    return format_table([*header, "times, as good", "goal", "distances"], lines)


def own_cells(row: Any) -> list[str]:
    """Return the cells of our own line."""
    return ["", "", "", "", "", f"{100 * row['distances']:.0f} %"]


def peer_cells(row: Any, our_seconds: float) -> list[str]:
    """Return the cells that compare ours with a peer."""
    same, passes = f"{row['seconds'] / our_seconds:.2f}", str(row["our_passes"])
    goal = RUN_GOALS.get(row["system"], "")
    if row["our_seconds"] is None:
        return [same, "not reached", passes, "", goal, ""]
    ratio = row["seconds"] / row["our_seconds"]
    return [same, f"{row['our_seconds']:.2f}", passes, f"{ratio:.2f}", goal, ""]


def seeding_table(rows: Sequence[Any]) -> str:
    """Return time and inertia of the seedings, a line for each system."""
    lines = []
    for (name, n, t, k), group in by_size(rows, "rows", "n", "t", "k").items():
        ours = next(row for row in group if row["system"] == OURS)
        lines += [
            [
                f"{name}, n = {n:,}, t = {t}, k = {k:,}: {row['system']}",
                f"{row['seconds']:.2f}",
                f"{row['seconds'] / row['iteration']:.1f}",
                f"{row['inertia'] / ours['inertia']:.4f}",
            ]
            for row in group
        ]
    return format_table(["", "seconds", "iterations", "inertia / ours"], lines)


def growth_table(rows: Sequence[Any]) -> str:
    """Return the milliseconds of an iteration, compared with linear growth."""
    lines = []
    for (grows,), group in by_size(rows, "grows").items():
        start = group[0]
        for row in group:
            units = row[grows] / start[grows]
            cells = [f"{grows}: n = {row['n']:,}, t = {row['t']}, k = {row['k']:,}"]
            for kind in ("first", "mean"):
                cells += [f"{1e3 * row[kind]:.2f}", f"{row[kind] / start[kind] / units:.2f}"]
            lines.append(cells)
    return format_table(["", "first, ms", "to linear", "mean of ten, ms", "to linear"], lines)


def memory_sentence(document: dict[str, Any]) -> Iterable[str]:
    """Yield a sentence on the memory of a run beyond the sketch, if it was measured."""
    if "memory" in document:
        memory = document["memory"]
        yield (
            f"**Memory** at the peak of a run beyond the sketch: {memory['bytes_a_row']:.0f} bytes "
            f"per row at n = {memory['n']:,}, t = {memory['t']}, k = {memory['k']} (goal: 64)."
        )


def by_size(rows: Sequence[Any], *names: str) -> dict[tuple[Any, ...], list[Any]]:
    """Return the rows grouped by some entries, in the order of their first occurrence."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found
