"""Solvers within a run: they end at a plateau, and go on where an earlier run was left."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans.results import Clustering, FitState
from projected_kmeans.running import checkpoint as running_checkpoint
from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.checkpoint_folder import CheckpointFolder
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.lloyd import Lloyd, run_lloyd
from projected_kmeans.solvers.lloyd_state import state_fits
from projected_kmeans.solvers.resumable_solvers import move_to_plateau, run_to_plateau
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem

X = draw_blobs(n=400, d=5, k=12, gap=0.5)[0]
PROBLEM, CENTERS = make_problem(X), X[:12].copy()
START = run_lloyd(PROBLEM, CENTERS, max_iter=3)


def solve(solver: str, run: Run, inertia_tol: float = 0.0) -> Clustering:
    """Run one of the solvers from the same start."""
    options: dict[str, Any] = {"max_iter": 100, "inertia_tol": inertia_tol}
    if solver == "lloyd":
        return run_to_plateau(PROBLEM, CENTERS, run, "mine", **options)
    return move_to_plateau(PROBLEM, START, run, "mine", **options)


@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
def test_a_plateau_counts_as_convergence(solver: str) -> None:
    """With a tolerance the run ends with the first pass that gains too little."""
    whole = solve(solver, Run())
    early = solve(solver, Run(), inertia_tol=0.01)
    assert early.converged
    assert early.history == whole.history[: early.n_iter]
    gains = -np.diff(whole.history) / whole.history[:-1]
    begin = 0 if solver == "lloyd" else START.n_iter
    first = begin + 1 + int(np.argmax(gains[begin:] < 0.01)) + 1
    assert early.n_iter == first < whole.n_iter


@pytest.mark.parametrize("inertia_tol", [0.0, 0.01])
@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
def test_a_run_that_was_left_goes_on(
    solver: str, inertia_tol: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left after every pass in turn, the solver ends with the same bits, and repeats no pass."""
    monkeypatch.setattr(running_checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(running_checkpoint, "WORK_PER_WRITE", 0.0)
    whole = solve(solver, Run(), inertia_tol)
    told: list[int] = []

    class Left(BaseException):
        """Ends a run as a kill would."""

    def leave(state: FitState) -> None:
        told.append(state.iteration)
        raise Left

    def open_run(monitor: Monitor) -> Run:
        return Run(monitor, Checkpoint(CheckpointFolder(tmp_path, {"data": "mine"})))

    begin = 0 if solver == "lloyd" else START.n_iter
    for _ in range(begin, whole.n_iter):
        with pytest.raises(Left):
            solve(solver, open_run(Monitor(leave)), inertia_tol)
    assert told == list(range(begin + 1, whole.n_iter + 1))
    found = solve(solver, open_run(Monitor()), inertia_tol)
    np.testing.assert_array_equal(found.labels, whole.labels)
    assert found.centers.tobytes() == whole.centers.tobytes()
    assert (found.history, found.converged) == (whole.history, whole.converged)


def test_a_converged_state_does_not_wait(tmp_path: Path) -> None:
    """After convergence nothing is left to be written; the result is stored by the caller."""
    checkpoint = Checkpoint(CheckpointFolder(tmp_path, {"data": "mine"}))
    assert solve("lloyd", Run(Monitor(), checkpoint)).converged
    checkpoint.flush()
    assert list(tmp_path.iterdir()) == []


def test_passes_count_on_from_those_before() -> None:
    """Passes that count as done are part of what the monitor is told."""
    monitor = Monitor()
    run_to_plateau(PROBLEM, CENTERS, Run(monitor), "mine", max_iter=3, inertia_tol=0.0, done=10)
    assert [state.iteration for state in monitor.trace] == [11, 12, 13]


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.full(400, 12, np.int32)},
        {"labels": np.zeros(399, np.int32)},
        {"references": np.zeros((11, 5))},
        {"references": np.full((12, 5), np.nan)},
        {"offsets": np.zeros(3)},
        {"totals": np.zeros((2, 12, 2))},
        {"offsets": np.full((2, 12, 5), np.nan)},
        {"totals": np.full((3, 12, 2), np.nan)},
        {"history": ()},
        {"history": (1.0,)},
        {"refilled": np.array([400]), "targets": np.array([0], np.int32)},
        {"refilled": np.array([1]), "targets": np.array([12], np.int32)},
        {"refilled": np.array([1]), "targets": np.empty(0, np.int32)},
        {"ahead": np.zeros((11, 5))},
        {"ahead": np.full((12, 5), np.inf)},
        {"momentum": math.nan},
        {"momentum": 2.0},
    ],
)
def test_a_state_of_other_rows_is_not_used(change: dict[str, Any]) -> None:
    """A state that does not fit the rows, or that does not agree with itself, is noticed."""
    lloyd = Lloyd(PROBLEM, CENTERS, max_iter=9)
    lloyd.step()
    assert state_fits(PROBLEM, CENTERS.shape, lloyd.state())
    assert not state_fits(PROBLEM, CENTERS.shape, replace(lloyd.state(), **change))
