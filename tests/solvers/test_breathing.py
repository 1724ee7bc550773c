"""Breathing: it never raises the inertia, mends what Lloyd cannot, and keeps to its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.keys import open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.solvers import breathing
from projected_kmeans.solvers.breathing import breathe, draw_in_largest
from projected_kmeans.solvers.lloyd import run_lloyd
from tests import reference
from tests.support.blobs import draw_blobs
from tests.support.layouts import seeds
from tests.support.problems import make_problem


def improve(
    problem: Problem, start: Clustering, *, key: int = 0, max_iter: int = 1000, **options: Any
) -> Clustering:
    """Run the local search from a partition."""
    return breathe(problem, start, open_stream(key), max_iter=max_iter, **options)


def draw_corners(seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return 200 rows around 10 far means, and first centers that Lloyd cannot get right."""
    stream = np.random.default_rng(seed)
    means = 100 * stream.permutation(40)[:10, None] * np.ones(3)
    X = np.repeat(means, 20, axis=0) + stream.normal(size=(200, 3))
    return X, X[[0, 1, 2, 20, 21, 22, 40, 41, 60, 80]]


@settings(max_examples=40)
@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 4),
    k=st.integers(1, 8),
    weighted=st.booleans(),
    max_iter=st.integers(1, 60),
)
def test_the_inertia_never_rises(
    seed: int, n: int, d: int, k: int, weighted: bool, max_iter: int
) -> None:
    """With ties, equal rows, weights and any limit, the best partition so far is kept."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 6, size=(n, d)).astype(float)
    weights = stream.integers(0, 4, size=n).astype(float) if weighted else None
    if weights is not None:
        weights[0] += 1
    k = min(k, n)
    problem = make_problem(X, weights)
    start = run_lloyd(problem, X[:k].copy(), max_iter=min(max_iter, 20))
    found = improve(problem, start, key=seed, max_iter=max_iter)
    assert found.inertia <= start.inertia
    assert found.history[: start.n_iter] == start.history
    assert (np.diff(found.history) <= 0).all()
    assert found.n_iter == len(found.history) <= max_iter
    exact = reference.inertia(X, found.labels, weights)
    assert found.inertia == pytest.approx(exact, rel=1e-9, abs=1e-9)
    filled = found.mass > 0
    means = reference.means(X, found.labels, k, weights)
    np.testing.assert_allclose(found.centers[filled], means[filled], rtol=0, atol=1e-9)
    assert found.centers.shape == (k, d)


@pytest.mark.parametrize("seed", range(5))
def test_misplaced_centers_move_to_far_clusters(seed: int) -> None:
    """Breathing finds all clusters when Lloyd leaves three centers in one and none in others."""
    X, centers = draw_corners(seed)
    problem = make_problem(X)
    start = run_lloyd(problem, centers, max_iter=100)
    planted = reference.extended_inertia(X, np.repeat(np.arange(10), 20))
    assert start.inertia > 100 * planted
    found = improve(problem, start, key=seed)
    assert found.inertia == pytest.approx(planted, rel=1e-9)
    assert found.converged


def test_small_instances_are_solved() -> None:
    """Breathing finds most optima of small instances that Lloyd misses, and none below them."""
    solved = stuck = 0
    for seed in range(16):
        X = np.random.default_rng(seed).normal(size=(7, 2))
        problem = make_problem(X)
        start = run_lloyd(problem, X[:3].copy(), max_iter=100)
        found = improve(problem, start, key=seed)
        optimum = reference.brute_force_optimum(X, 3)
        assert found.inertia >= optimum * (1 - 1e-12)
        solved += found.inertia <= optimum * (1 + 1e-9)
        stuck += start.inertia > optimum * (1 + 1e-9)
    # Fixed keys: Lloyd alone misses 14 of the sixteen, breathing 3.
    assert stuck >= 12
    assert solved >= 12


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_the_key_fixes_the_result(dtype: str) -> None:
    """Blocks and threads change no bit of the result."""
    X = np.random.default_rng(1).integers(0, 255, size=(400, 6)).astype(dtype)
    results = []
    for rows, threads in ((None, 1), (None, 2), (37, 3)):
        problem = make_problem(X, block_rows=rows, n_threads=threads)
        start = run_lloyd(problem, problem.source.take(np.arange(12)), max_iter=50)
        results.append(improve(problem, start, key=3))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].labels, other.labels)
        assert results[0].centers.tobytes() == other.centers.tobytes()
        assert results[0].history == other.history


def test_a_true_answer_stops_at_once() -> None:
    """After the caller asks to stop no further pass is made, and the best partition is returned."""
    X, centers = draw_corners()
    problem = make_problem(X)
    start = run_lloyd(problem, centers, max_iter=100)
    total = improve(problem, start).n_iter
    for stop in range(start.n_iter + 1, total + 1):
        calls: list[tuple[int, float]] = []

        def on_pass(done: int, inertia: float, calls: list[Any] = calls, stop: int = stop) -> bool:
            calls.append((done, inertia))
            return done == stop

        found = improve(problem, start, on_pass=on_pass)
        assert [done for done, _ in calls] == list(range(start.n_iter + 1, stop + 1))
        assert found.n_iter == stop
        assert found.inertia <= calls[-1][1]
        assert not found.converged


def test_no_inertia_leaves_nothing_to_do() -> None:
    """If every row is a center, the partition does not change."""
    X = np.arange(5.0)[:, None]
    problem = make_problem(X)
    start = run_lloyd(problem, X.copy(), max_iter=10)
    found = improve(problem, start)
    np.testing.assert_array_equal(found.labels, start.labels)
    assert found.inertia == 0


@pytest.mark.parametrize("seed", range(4))
def test_breathing_is_a_solver(seed: int) -> None:
    """From the same first centers, solver="breathing" ends no higher than Lloyd."""
    X, _ = draw_blobs(seed, n=300, d=10, k=12, gap=1.0)
    options = {"projection": None, "n_init": 1, "random_state": seed}
    lloyd = ProjectedKMeans(12, **options).fit(X)
    breathing = ProjectedKMeans(12, solver="breathing", **options).fit(X)
    assert breathing.inertia_ <= lloyd.inertia_
    assert breathing.history_[: lloyd.n_iter_] == lloyd.history_


@pytest.mark.parametrize(
    ("min_gain", "expected"), [(0.0, [5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0]), (1e-3, [5, 0, 0])]
)
def test_breaths_end_as_they_are_told(
    min_gain: float, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At an optimum five breaths fail, each less deep; with a minimum gain there is only one."""
    X, _ = draw_corners()
    problem = make_problem(X)
    best = run_lloyd(problem, X[::20].copy(), max_iter=100)
    depths: list[int] = []

    def spy(problem: Problem, centers: NDArray[Any], **options: Any) -> Clustering:
        depths.append(len(centers) - 10)
        return run_lloyd(problem, centers, **options)

    monkeypatch.setattr(breathing, "run_lloyd", spy)
    found = improve(problem, best, min_gain=min_gain)
    assert depths == expected
    assert found.inertia == best.inertia


@pytest.mark.parametrize("seed", range(3))
def test_a_plateau_ends_the_last_passes(seed: int) -> None:
    """With a tolerance of the inertia the last passes end sooner, and count as converged."""
    X, _ = draw_blobs(seed, n=600, d=4, k=12, gap=0.5)
    problem = make_problem(X)
    start = run_lloyd(problem, X[:12].copy(), max_iter=2)
    whole = improve(problem, start, min_gain=0.5)
    early = improve(problem, start, min_gain=0.5, inertia_tol=0.01)
    assert early.n_iter < whole.n_iter
    assert early.history == whole.history[: early.n_iter]
    assert early.converged


def test_rows_are_drawn_in_the_clusters_of_most_inertia() -> None:
    """One row is drawn from each of these clusters, never a row without a chance."""
    labels = np.repeat(np.arange(4, dtype=np.int32), 5)
    chances = np.where(np.arange(20) % 5 == 2, np.array([1.0, 9.0, 0.0, 4.0])[labels], 0.0)
    assert draw_in_largest(open_stream(0), chances, labels, 2).tolist() == [7, 17]
    assert draw_in_largest(open_stream(0), chances, labels, 4).tolist() == [7, 17, 2]
