"""What stops a fit (time, tolerances, the callback, Ctrl-C), and what result it leaves."""

from __future__ import annotations

import signal
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.search import approach
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs


def fit(**options: Any) -> ProjectedKMeans:
    """Return a model of blobs that take many passes."""
    X, _ = draw_blobs(gap=0.2)
    model = ProjectedKMeans(5, **({"random_state": 0} | options)).fit(X)
    assert_consistent(model, X)
    return model


@pytest.mark.parametrize("projection", ["sign", None])
def test_a_spent_budget_still_leaves_a_whole_result(projection: str | None) -> None:
    """Without any time there is one seeding, one pass, the lifting, and a consistent model."""
    states: list[FitState] = []
    model = fit(time_budget=0, projection=projection, polish_iter=3, callback=states.append)
    assert model.stopped_ == "time"
    assert model.n_iter_ == len(model.history_) == 1
    steps = list(dict.fromkeys(state.step for state in states))
    lifted = [] if projection is None else ["reduce"], [] if projection is None else ["lift"]
    assert steps == ["check", *lifted[0], "seed", "cluster", *lifted[1]]
    assert {state.restart for state in states} == {0}


def test_a_large_budget_changes_nothing() -> None:
    """A fit within its time is the fit without a limit."""
    assert_same_fit(fit(time_budget=1e6), fit())
    assert fit(time_budget=1e6).stopped_ == "converged"


def test_time_is_looked_at_after_every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ends the fit in the pass during which it runs out."""
    from projected_kmeans.running import monitor as monitor

    now = [0.0]
    monkeypatch.setattr(monitor.time, "perf_counter", lambda: now[0])

    def callback(state: FitState) -> None:
        now[0] += 1.0 if state.step == "cluster" else 0.0

    model = fit(time_budget=3.5, callback=callback, tol=0, solver="lloyd")
    assert (model.stopped_, model.n_iter_) == ("time", 4)


def test_why_a_fit_ended() -> None:
    """stopped_ is different after convergence, max_iter and the callback."""
    assert fit().stopped_ == "converged"
    assert fit(max_iter=1).stopped_ == "max_iter"
    assert fit(solver="hartigan", max_iter=300).stopped_ == "converged"
    assert fit(callback=lambda state: state.step == "cluster").stopped_ == "callback"


@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
def test_a_pass_that_gains_too_little_is_the_last(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All passes but the last lower the inertia by some share at least, unless tol is 0."""
    share = 0.01
    monkeypatch.setattr(approach, "SMALL_WORK", 0.0)
    monkeypatch.setattr(approach, "INERTIA_TOL_PER_CLUSTER", share / 5)
    plain = fit(tol=0, n_init=1, solver=solver)
    model = fit(tol=1e-300, n_init=1, solver=solver)
    assert model.n_iter_ < plain.n_iter_
    assert model.history_[:2] == plain.history_[:2]
    gains = -np.diff(model.history_) / np.array(model.history_[:-1])
    n_small = np.count_nonzero(gains < share)
    assert n_small <= (1 if solver == "lloyd" else 2)  # one a phase
    assert gains[-1] < share
    assert model.stopped_ == "converged"


def test_a_polish_pass_that_gains_too_little_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """With tol=0 polishing goes on as long as anything changes."""
    monkeypatch.setattr(approach, "SMALL_WORK", 0.0)
    monkeypatch.setattr(approach, "INERTIA_TOL_PER_CLUSTER", 0.5)
    for tol, wanted in ((1e-4, {1}), (0, set(range(2, 11)))):
        states: list[FitState] = []
        fit(projection="sign", n_components=2, tol=tol, polish_iter=9, callback=states.append)
        assert [state.step for state in states].count("polish") in wanted


@pytest.mark.parametrize(
    ("name", "value"), [("tol", -1), ("time_budget", -0.1), ("time_budget", "soon")]
)
def test_bad_controls_are_refused(name: str, value: object) -> None:
    """A negative or non-numeric limit raises one sentence."""
    with pytest.raises((ValueError, TypeError), match=f"{name}=.*; use"):
        ProjectedKMeans(2, **{name: value}).fit(np.eye(3))


def interrupt_at(step: str, count: int, times: int = 1) -> Any:
    """Return a callback that sends Ctrl-C to the process at a unit of work of a step."""
    seen: list[str] = []

    def callback(state: FitState) -> None:
        seen.append(state.step)
        if state.step == step and seen.count(step) == count:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize(("step", "count"), [("cluster", 1), ("seed", 7), ("lift", 1)])
def test_ctrl_c_keeps_the_best_result(step: str, count: int) -> None:
    """After the first pass Ctrl-C ends the fit soon, with a warning and a consistent model."""
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = fit(callback=interrupt_at(step, count), solver="lloyd")
    assert model.stopped_ == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_leaves_a_seeding_that_is_not_needed() -> None:
    """In the seeding of a later restart the fit does not choose the other centers."""
    states: list[FitState] = []
    send = interrupt_at("seed", 7)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit(callback=lambda state: (states.append(state), send(state))[1], solver="lloyd")
    assert [state.restart for state in states if state.step == "seed"] == [0] * 5 + [1] * 2
    assert states[-1].step == "lift"


@pytest.mark.parametrize(("step", "times"), [("check", 1), ("reduce", 1), ("seed", 1)])
def test_ctrl_c_without_a_result_raises(step: str, times: int) -> None:
    """Before the solver's first pass there is nothing to keep."""
    X, _ = draw_blobs()
    model = ProjectedKMeans(5, callback=interrupt_at(step, 1, times))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "labels_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_raises() -> None:
    """A second Ctrl-C ends the fit without a result."""
    X, _ = draw_blobs()
    with pytest.raises(KeyboardInterrupt):
        ProjectedKMeans(5, callback=interrupt_at("cluster", 1, times=2)).fit(X)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_of_the_program_are_left_alone() -> None:
    """A program's own handler hears Ctrl-C during a fit, and stands afterwards."""
    heard: list[int] = []

    def own(number: int, frame: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGINT, own)
    try:
        model = fit(callback=interrupt_at("cluster", 1))
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    assert model.stopped_ == "converged"


def test_an_error_in_a_fit_restores_the_handler() -> None:
    """Whatever ends the fit, Python's handler is back."""
    with pytest.raises(ValueError, match="NaN"):
        ProjectedKMeans(1).fit([[np.nan]])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_fit_in_another_thread_touches_no_handler() -> None:
    """Signals belong to the main thread: elsewhere the fit runs without them."""
    found: list[ProjectedKMeans] = []
    handlers: list[object] = []

    def work() -> None:
        with warnings.catch_warnings():
            found.append(
                fit(callback=lambda state: handlers.append(signal.getsignal(signal.SIGINT)))
            )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert set(handlers) == {signal.default_int_handler}
    assert_same_fit(found[0], fit())
