"""Labels of the nearest centers after a solver that ended early."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from projected_kmeans.passes.bounded_search import NearestSearch
from projected_kmeans.solvers.lloyd import Lloyd, run_lloyd
from projected_kmeans.solvers.settling import ChangedCenters, settle_and_fill, settle_labels
from tests.support.problems import make_problem


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_get_their_nearest_centers(dtype: str) -> None:
    """The centers stay, labels are of the nearest ones, and the inertia is about these centers."""
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(dtype)
    problem = make_problem(X)
    found = run_lloyd(problem, X[:5].astype(np.float64), max_iter=1)
    settled = settle_labels(problem, found)
    np.testing.assert_array_equal(settled.centers.astype(dtype), found.centers.astype(dtype))
    squared = np.sum((X[:, None] - settled.centers) ** 2, axis=2)
    np.testing.assert_array_equal(settled.labels, np.argmin(squared, axis=1))
    assert not np.array_equal(settled.labels, found.labels)
    assert settled.inertia == pytest.approx(squared.min(axis=1).sum(), rel=1e-12)
    assert settled.inertia < found.inertia
    np.testing.assert_array_equal(settled.mass, np.bincount(settled.labels, minlength=5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_known_sums_follow_the_rows_that_move(dtype: str, offset: float) -> None:
    """With the sums of the partition, only rows that move are summed; the result is the same."""
    X = (np.random.default_rng(0).normal(size=(300, 3)) + offset).astype(dtype)
    problem = make_problem(X)
    lloyd = Lloyd(problem, X[:5].astype(np.float64), max_iter=1)
    assert lloyd.step()
    expected = settle_labels(problem, lloyd.result())
    settled = settle_labels(problem, lloyd.result(), None, lloyd.sums)
    np.testing.assert_array_equal(settled.labels, expected.labels)
    np.testing.assert_array_equal(settled.centers, expected.centers)
    np.testing.assert_array_equal(settled.mass, expected.mass)
    assert settled.inertia == pytest.approx(expected.inertia, rel=1e-12)
    assert abs(settled.inertia - expected.inertia) <= settled.inertia_error + expected.inertia_error


def test_a_converged_partition_stays() -> None:
    """What a further pass would not change is returned as it is, also if nobody says so."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    problem = make_problem(X)
    found = run_lloyd(problem, X[:5], max_iter=300)
    assert found.settled
    assert settle_labels(problem, found).labels is found.labels
    again = settle_labels(problem, replace(found, settled=False))
    assert again.settled
    assert again.labels is found.labels
    assert again.inertia == found.inertia


def test_a_search_knows_of_a_pass_that_was_taken_back() -> None:
    """Bounds of a pass that did not lower the inertia do not mislead the last look at all rows."""
    stream = np.random.default_rng(0)
    X, labels = stream.normal(size=(500, 4)), np.sort(stream.integers(14, size=500))
    problem, labels = make_problem(X), labels.astype(np.int32)
    start = replace(problem.sum(labels, X[:14]).describe(labels), inertia=1e-9)
    search = NearestSearch(problem, 14, 1.0, min_work=0)
    lloyd = Lloyd(problem, start.centers, max_iter=5, start=start, search=search)
    assert not lloyd.step()
    found = lloyd.result()
    np.testing.assert_array_equal(found.labels, labels)
    expected = settle_labels(problem, found)
    assert not np.array_equal(expected.labels, labels)
    np.testing.assert_array_equal(settle_labels(problem, found, search).labels, expected.labels)


def test_of_equally_near_centers_the_lowest_wins() -> None:
    """A row between two centers gets the label that ``predict`` gives it, whatever it had."""
    X = np.array([[0.0], [2.0], [1.0]])
    problem = make_problem(X)
    found = problem.sum(np.array([0, 1, 1], np.int32), X[:2]).describe(
        np.array([0, 1, 1], np.int32)
    )
    tied = replace(found, centers=np.array([[0.0], [2.0]]), inertia=1.0)
    settled = settle_labels(problem, tied)
    np.testing.assert_array_equal(settled.labels, [0, 1, 0])
    assert settled.inertia == 1.0


def test_clusters_that_lose_all_rows_get_others() -> None:
    """Two centers in one place leave one cluster empty; it gets the row that is farthest away."""
    X = np.array([[0.0], [0.1], [5.0], [9.0]])
    problem = make_problem(X)
    labels = np.array([0, 1, 2, 2], np.int32)
    found = problem.sum(labels, X[:3]).describe(labels)
    stacked = replace(found, centers=np.array([[0.05], [0.05], [7.0]]))
    assert settle_labels(problem, stacked).mass.tolist() == [2.0, 0.0, 2.0]
    filled = settle_and_fill(problem, stacked)
    assert filled.mass.min() == 1.0
    assert filled.inertia == pytest.approx(0.005)
    squared = (X - filled.centers.T) ** 2
    np.testing.assert_array_equal(filled.labels, np.argmin(squared, axis=1))


@pytest.mark.parametrize("step", [1.0, 0.0])
def test_rows_meet_only_centers_that_changed(step: float) -> None:
    """After a few centers moved, labels are those of a look at all centers, also between ties."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(500, 3)) if step else stream.integers(3, size=(500, 3)).astype(float)
    problem, centers = make_problem(X), X[:40].copy()
    labels = np.zeros(500, np.int32)
    problem.label(centers, labels)
    changed = np.array([3, 17])
    centers[changed] = X[100:102] + step
    expected = labels.copy()
    problem.label(centers, expected)
    ChangedCenters(problem, changed).assign(centers, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, expected)
