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
    trace: Sequence[FitState], history: Sequence[float], subsample_rows: int, n_rows: int
) -> tuple[PassLine, ...]:
    """Return the passes on the sketch, one line for each restart, with the best one marked.

    Restarts may take turns: one that pauses continues its line later. One whose passes are counted
    from 1 again begins a new line. This happens when the best restart on a subsample starts again
    with all rows.

    Parameters
    ----------
    trace : sequence of FitState
        What the fit recorded, in its order.
    history : sequence of float
        The inertias of the run that the fit kept.
    subsample_rows : int
        The number of rows on which restarts competed; 0 if they ran on all rows.
    n_rows : int
        The number of all rows.
    """
    lines = _group_passes(trace)
    competed = subsample_rows > 0 and len(lines) > 1
    last = len(lines) - 1
    ends = [line.inertia[-1] for line in lines]
    # After a competition on a subsample, the last line is the one with all rows.
    best = ends.index(history[-1]) if not competed and history and history[-1] in ends else last
    found = []
    for index, line in enumerate(lines):
        rows = subsample_rows if competed and index < last else n_rows
        per_row = tuple(value / rows for value in line.inertia)
        found.append(PassLine(line.restart, rows, tuple(line.passes), per_row, index == best))
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
