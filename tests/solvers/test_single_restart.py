"""One restart: how it is stored, and how the solvers behave within a run."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.results import Clustering
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.single_restart import Effort, Restart, Solver
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem


def test_many_restarts_are_kept_narrow() -> None:
    """A paused restart takes a byte a row for up to 256 clusters, two beyond."""
    labels = np.array([0, 255, 3], dtype=np.int32)
    for k, width in ((256, 1), (257, 2)):
        found = Clustering(labels, np.zeros((k, 1)), np.zeros(k), 1.0, 1.0)
        kept = Restart.pack(0, found)
        assert kept.labels.itemsize == width
        np.testing.assert_array_equal(kept.clustering.labels, labels)


@pytest.mark.parametrize("solver", ["lloyd", "hartigan", "breathing"])
def test_a_restart_that_pauses_makes_no_local_search(solver: str) -> None:
    """Below the limit of all passes only Lloyd's method runs; up to it, the solver does."""
    X, _ = draw_blobs(n=300, d=10, k=12, gap=0.5)
    problem, centers = make_problem(X), X[:12].copy()
    effort = Effort(solver, key=0, max_iter=200, tol=0.0, inertia_tol=0.0)
    paused = Solver(problem, effort, Run()).advance(0, centers, 3, "restart-0")
    assert paused.history == run_lloyd(problem, centers, max_iter=3).history
    lloyd = run_lloyd(problem, centers, max_iter=200)
    whole = Solver(problem, effort, Run()).advance(0, centers, 200, "restart-0")
    assert whole.history[: lloyd.n_iter] == lloyd.history
    assert (whole.inertia < lloyd.inertia) == (solver != "lloyd")


def test_a_restart_goes_on_after_a_pause() -> None:
    """From the partition of three passes, the others follow, and passes are counted through."""
    X, _ = draw_blobs(n=300, d=10, k=12, gap=0.5)
    problem, centers = make_problem(X), X[:12].copy()
    effort = Effort("lloyd", key=0, max_iter=200, tol=0.0, inertia_tol=0.0)
    monitor = Monitor()
    solver = Solver(problem, effort, Run(monitor))
    first = Restart.pack(4, solver.advance(4, centers, 3, "restart-4"))
    whole = solver.go_on(first, 200, 2)
    expected = run_lloyd(problem, centers, max_iter=200)
    np.testing.assert_array_equal(whole.clustering.labels, expected.labels)
    np.testing.assert_allclose(whole.found.history, expected.history, rtol=1e-14)
    assert [state.iteration for state in monitor.trace] == list(range(1, expected.n_iter + 1))
    assert {state.restart for state in monitor.trace} == {4}
