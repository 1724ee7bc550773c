"""The inertia after every pass of a fit, as one line for each restart.

Sorts what the fit recorded; it computes no inertia.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from projected_kmeans.reports.curves import PassLine
from projected_kmeans.results import FitState


@dataclass
class _OpenLine:
    restart: int
    passes: list[int] = field(default_factory=list)
    inertia: list[float] = field(default_factory=list)


def collect_passes(
    trace: Sequence[FitState], history: Sequence[float], level_rows: Sequence[int]
) -> tuple[PassLine, ...]:
    """Return the passes on the sketch, one line for each start and level, the last one marked.

    Starts run on the first level. A line whose passes are counted from 1 again is that of the next
    level. ``level_rows`` are the rows of every level, and ``history`` the inertias that were kept.
    """
    lines = _group_passes(trace)
    n_starts = max(1, len(lines) - (len(level_rows) - 1))
    ends = [line.inertia[-1] for line in lines]
    best = ends.index(history[-1]) if history and history[-1] in ends else len(lines) - 1
    found = []
    for index, line in enumerate(lines):
        level = min(max(0, index - n_starts + 1), len(level_rows) - 1)
        per_row = tuple(value / level_rows[level] for value in line.inertia)
        passes = tuple(line.passes)
        found.append(PassLine(line.restart, level_rows[level], passes, per_row, index == best))
    return tuple(found)


def _group_passes(trace: Sequence[FitState]) -> list[_OpenLine]:
    lines: list[_OpenLine] = []
    latest: dict[int, _OpenLine] = {}
    for state in trace:
        if state.step != "cluster" or state.inertia is None:
            continue
        line = latest.get(state.restart)
        if line is None or line.passes[-1] >= state.iteration:
            line = latest[state.restart] = _OpenLine(state.restart)
            lines.append(line)
        line.passes.append(state.iteration)
        line.inertia.append(state.inertia)
    return lines
