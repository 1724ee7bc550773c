"""The monitor of a run: rates, traces, times, and everybody who may stop it."""

from __future__ import annotations

import pytest

from projected_kmeans.results import FitState
from projected_kmeans.running.monitor import Monitor, Plateau, Stopped


def test_rates_leave_out_what_an_earlier_run_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate counts the units since the step began, and the time left those still to do."""
    clock = iter([0.0, 10.0, 12.0, 12.0, 14.0, 14.0, 15.0])
    monkeypatch.setattr("projected_kmeans.running.monitor.time.perf_counter", lambda: next(clock))
    states: list[FitState] = []
    monitor = Monitor(states.append)
    with monitor.step("reduce", 1000, unit_bytes=8.0):
        monitor.skip(600)
        monitor.report(600)
        monitor.report(700)
    assert (states[0].rate, states[0].remaining, states[0].read_rate) == (None, None, None)
    assert (states[1].rate, states[1].remaining, states[1].read_rate) == (100 / 4, 12.0, 200.0)
    assert monitor.seconds == {"reduce": 5.0}


def test_a_step_that_comes_again_adds_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds of a step are those of all its restarts, also if one is left by an exception."""
    clock = iter([0.0, 1.0, 3.0, 10.0, 15.0])
    monkeypatch.setattr("projected_kmeans.running.monitor.time.perf_counter", lambda: next(clock))
    monitor = Monitor()
    with monitor.step("seed", 3):
        pass
    with pytest.raises(Stopped), monitor.step("seed", 3, restart=1):
        raise Stopped
    assert monitor.seconds == {"seed": 7.0}


def test_units_with_an_inertia_are_traced() -> None:
    """The trace has the units of all steps and restarts that have an inertia."""
    monitor = Monitor()
    with monitor.step("seed", 2):
        monitor.report(1)
    with monitor.step("cluster", 9, restart=3):
        monitor.report(1, 5.0)
    (state,) = monitor.trace
    assert (state.step, state.restart, state.iteration, state.total) == ("cluster", 3, 1, 9)
    assert state.inertia == 5.0


def test_the_first_reason_to_stop_stays() -> None:
    """A callback stops the run with its first true answer; later reasons do not replace it."""
    monitor = Monitor(lambda state: state.iteration == 2, time_budget=100.0)
    with monitor.step("cluster", 5):
        assert not monitor.report(1, 3.0)
        assert monitor.report(2, 2.0)
        assert monitor.report(3, 1.0)
        monitor.interrupt()
    assert monitor.stopped == "callback"


def test_a_time_budget_stops_without_a_report() -> None:
    """Long work may ask between two units whether its time is over."""
    monitor = Monitor(time_budget=0.0)
    assert monitor.is_over()
    assert monitor.stopped == "time"
    assert not Monitor().is_over()


def test_work_that_needs_no_end_is_left() -> None:
    """`report_or_leave` raises where `report` would return that the run stops."""
    monitor = Monitor(lambda state: state.iteration == 2)
    with monitor.step("seed", 5):
        monitor.report_or_leave(1)
        with pytest.raises(Stopped):
            monitor.report_or_leave(2)


def test_an_interrupt_needs_a_result_to_keep() -> None:
    """Ctrl-C raises before the first pass of the solver, stops after it, and raises if repeated."""
    monitor = Monitor()
    with pytest.raises(KeyboardInterrupt):
        monitor.interrupt()
    assert monitor.stopped is None
    with monitor.step("cluster", 5):
        monitor.report(1, 3.0)
    monitor.interrupt()
    assert monitor.stopped == "interrupted"
    with pytest.raises(KeyboardInterrupt):
        monitor.interrupt()


def test_a_plateau_is_found_again_from_a_history() -> None:
    """Following a history decides as passes did; passes before the plateau decide nothing."""
    history = [100.0, 90.0, 80.0, 79.9]
    told = Plateau(lambda done, inertia: False, share=0.01, before=120.0)
    assert [told(done, inertia) for done, inertia in enumerate(history)] == [False] * 3 + [True]
    for n_passes in range(len(history) + 1):
        followed = Plateau(lambda done, inertia: False, share=0.01, before=120.0)
        followed.follow(history[:n_passes])
        assert followed.reached == (n_passes == 4)


def test_a_share_of_zero_has_no_plateau() -> None:
    """Without a tolerance only the caller's own answer stops."""
    plateau = Plateau(lambda done, inertia: done == 3, share=0.0)
    assert [plateau(done, 1.0 / done) for done in (1, 2, 3)] == [False, False, True]
    assert not plateau.reached
