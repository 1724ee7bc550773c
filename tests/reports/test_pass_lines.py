"""Passes become one line for each start and each level."""

from __future__ import annotations

from projected_kmeans import FitState
from projected_kmeans.reports.pass_lines import collect_passes


def make_state(start: int, iteration: int, inertia: float) -> FitState:
    """Return the state after a pass on the sketch."""
    return FitState("cluster", start, iteration, 9, inertia, 0.0)


def test_starts_have_a_line_each() -> None:
    """The line with the kept inertia is the best; inertias are those of a row."""
    trace = [make_state(0, 1, 900.0), make_state(0, 2, 300.0), make_state(1, 1, 600.0)]
    lines = collect_passes(trace, [900.0, 300.0], [300])
    assert [(line.restart, line.passes, line.won) for line in lines] == [
        (0, (1, 2), True),
        (1, (1,), False),
    ]
    assert lines[0].inertia == (3.0, 1.0)


def test_further_levels_begin_further_lines() -> None:
    """After starts on 100 rows, the best one has a line with 200 rows and one with all 300."""
    trace = [
        make_state(0, 1, 50.0),
        make_state(1, 1, 40.0),
        make_state(0, 1, 90.0),
        make_state(0, 1, 150.0),
        make_state(0, 2, 120.0),
    ]
    lines = collect_passes(trace, [150.0, 120.0], [100, 200, 300])
    assert [(line.rows, line.won) for line in lines] == [
        (100, False),
        (100, False),
        (200, False),
        (300, True),
    ]
    assert [line.inertia for line in lines] == [(0.5,), (0.4,), (0.45,), (0.5, 0.4)]


def test_other_steps_are_left_out() -> None:
    """Only passes on the sketch with an inertia are drawn."""
    trace = [
        FitState("seed", 0, 1, 9, None, 0.0),
        make_state(0, 1, 600.0),
        FitState("polish", 0, 1, 9, 5.0, 0.0),
    ]
    assert [line.inertia for line in collect_passes(trace, [600.0], [300])] == [(2.0,)]
    assert collect_passes([], [], [300]) == ()
