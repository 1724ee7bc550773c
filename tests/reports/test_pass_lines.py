"""Passes become one line for each run of the solver."""

from __future__ import annotations

from projected_kmeans import FitState
from projected_kmeans.reports.pass_lines import collect_passes


def make_state(restart: int, iteration: int, inertia: float) -> FitState:
    """Return the state after a pass on the sketch."""
    return FitState("cluster", restart, iteration, 9, inertia, 0.0)


def test_a_restart_that_pauses_continues_its_line() -> None:
    """Restarts that take turns have one line each; the line with the kept inertia is the best."""
    trace = [make_state(0, 1, 900.0), make_state(1, 1, 600.0), make_state(0, 2, 300.0)]
    lines = collect_passes(trace, [300.0], 0, 300)
    assert [(line.restart, line.passes, line.won) for line in lines] == [
        (0, (1, 2), True),
        (1, (1,), False),
    ]
    assert lines[0].inertia == (3.0, 1.0)


def test_the_best_of_a_subsample_begins_another_line() -> None:
    """After a competition on 100 rows, the best restart has a second line with all 300 rows."""
    trace = [make_state(0, 1, 50.0), make_state(1, 1, 40.0), make_state(1, 1, 150.0)]
    lines = collect_passes(trace, [150.0], 100, 300)
    assert [(line.rows, line.won) for line in lines] == [(100, False), (100, False), (300, True)]


def test_other_steps_are_left_out() -> None:
    """Only passes on the sketch with an inertia are drawn."""
    trace = [
        FitState("seed", 0, 1, 9, None, 0.0),
        make_state(0, 1, 600.0),
        FitState("polish", 0, 1, 9, 5.0, 0.0),
    ]
    assert [line.inertia for line in collect_passes(trace, [600.0], 0, 300)] == [(2.0,)]
    assert collect_passes([], [], 0, 300) == ()
