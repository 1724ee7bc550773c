"""Partitions of a sketch carried back to the original rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes import sums as sums_module
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.search import settling
from projected_kmeans.search.settling import describe_labels, lift_labels
from tests import reference
from tests.support.layouts import draw_rows, seeds, types
from tests.support.problems import make_problem


def make_sketched(labels: Any, centers: Any, weights: Any = None) -> Clustering:
    """Return a partition as a solver on the sketch leaves it."""
    labels = np.asarray(labels, np.int32)
    mass = np.bincount(labels, weights, minlength=len(centers)).astype(float)
    return Clustering(labels, np.asarray(centers, float), mass, 1.0, 2.0, 3, True, (1.0,))


@settings(max_examples=25)
@given(
    seed=seeds,
    n=st.integers(1, 25),
    d=st.integers(1, 9),
    k=st.integers(1, 4),
    dtype=types,
    weighted=st.booleans(),
)
def test_centers_are_means_and_inertia_is_theirs(
    seed: int, n: int, d: int, k: int, dtype: str, weighted: bool
) -> None:
    """Lifted centers, mass, inertia and sum of squares are those of the original rows."""
    X = draw_rows(seed, n, d, dtype)
    stream = np.random.default_rng(seed)
    weights = stream.random(n) + 0.1 if weighted else None
    labels = stream.integers(k, size=n)
    sketched = make_sketched(labels, stream.normal(size=(k, 2)), weights)
    lifted = lift_labels(make_problem(X, weights), sketched)[0]
    np.testing.assert_array_equal(lifted.labels, labels)
    np.testing.assert_allclose(lifted.mass, sketched.mass, rtol=1e-14)
    filled = np.bincount(labels, minlength=k) > 0
    means = reference.means(X, labels, k, weights)
    size = np.abs(X.astype(float)).max() + 1
    np.testing.assert_allclose(lifted.centers[filled], means[filled], rtol=0, atol=1e-13 * size)
    exact = reference.inertia(X, labels, weights)
    assert lifted.inertia == pytest.approx(exact, rel=1e-11, abs=1e-13 * size**2)
    everything = np.ones(n) if weights is None else weights
    squares = float(np.sum(everything[:, None] * X.astype(np.longdouble) ** 2))
    assert lifted.sum_of_squares == pytest.approx(squares, rel=1e-12)


def test_a_large_offset_costs_no_digits() -> None:
    """float32 rows at 1e4 with spread 1 have their inertia to 1e-9 in a single pass."""
    stream = np.random.default_rng(0)
    X = (1e4 + stream.normal(size=(3000, 20))).astype(np.float32)
    labels = stream.integers(6, size=3000)
    lifted = lift_labels(make_problem(X), make_sketched(labels, np.zeros((6, 2))))[0]
    assert lifted.inertia == pytest.approx(reference.extended_inertia(X, labels), rel=1e-9)


def test_an_empty_cluster_adopts_its_neighbours_center() -> None:
    """A cluster without rows gets the center of the cluster nearest to it in the sketch."""
    X = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [10.0, 10.0, 10.0]])
    sketched = make_sketched([0, 0, 2], [[0.0], [6.0], [9.0], [-1.0]])
    lifted = lift_labels(make_problem(X), sketched)[0]
    np.testing.assert_array_equal(
        lifted.centers, [[1, 0, 1], [10, 10, 10], [10, 10, 10], [1, 0, 1]]
    )
    np.testing.assert_array_equal(lifted.mass, [2, 0, 1, 0])
    assert lifted.inertia == 2.0


def test_a_cluster_of_rows_without_weight_counts_as_empty() -> None:
    """A cluster whose rows weigh nothing adopts a center and adds no inertia."""
    X = np.array([[0.0], [2.0], [50.0]])
    weights = np.array([1.0, 1.0, 0.0])
    sketched = make_sketched([0, 0, 1], [[0.0], [1.0]], weights)
    lifted = lift_labels(make_problem(X, weights), sketched)[0]
    np.testing.assert_array_equal(lifted.centers, [[1], [1]])
    assert lifted.inertia == 2.0


def test_the_sketch_is_left_alone() -> None:
    """The partition of the sketch keeps its own centers, inertia and labels."""
    sketched = make_sketched([0, 1, 0], [[0.0], [1.0]])
    kept = sketched.centers.copy()
    lift_labels(make_problem(np.arange(3.0)[:, None]), sketched)[0]
    np.testing.assert_array_equal(sketched.centers, kept)
    assert sketched.inertia == 1.0


@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_rows_are_read_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One walk lifts dense and sparse rows, also where dense points would take much memory."""
    stream = np.random.default_rng(4)
    X, labels = stream.normal(size=(60, 30)), stream.integers(3, size=60)
    X[np.abs(X) < 0.5] = 0
    if kind == "wide":
        for module in (settling, sums_module):
            monkeypatch.setattr(module, "MAX_KEPT", 5)
    source: Any = ArrayBlocks(X) if kind == "dense" else SparseBlocks(scipy.sparse.csr_array(X))
    problem = Problem(source, scan_columns(source), n_threads=1)
    done: list[int] = []
    walks, walk = [], source.walk
    monkeypatch.setattr(
        source, "walk", lambda *given, **more: (walks.append(1), walk(*given, **more))
    )
    lifted, _, _ = lift_labels(problem, make_sketched(labels, np.zeros((3, 2))), done.append)
    np.testing.assert_allclose(lifted.centers, reference.means(X, labels, 3), atol=1e-14)
    assert lifted.inertia == pytest.approx(reference.inertia(X, labels), rel=1e-12)
    assert done[-1] == 60
    if kind != "wide":
        assert len(walks) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_are_those_of_the_partition(weighted: bool) -> None:
    """Lifting hands over its sums, from which passes over the original rows go on."""
    stream = np.random.default_rng(5)
    X = np.repeat(np.eye(3), 40, axis=0) * 9 + stream.normal(size=(120, 3))
    weights = stream.uniform(0.5, 2, size=120) if weighted else None
    problem, labels = make_problem(X, weights), np.repeat([2, 0, 1], 40)
    lifted, sums, _ = lift_labels(
        problem, make_sketched(labels, stream.normal(size=(3, 2)), weights)
    )
    assert sums is not None
    moments = sums.moments()
    assert moments.inertia == lifted.inertia
    np.testing.assert_array_equal(moments.mass, lifted.mass)
    other = stream.integers(3, size=120).astype(np.int32)
    moved = sums.update(other, lifted.labels)
    assert moved.inertia == pytest.approx(reference.inertia(X, other, weights), rel=1e-12)


def test_large_or_far_sums_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes open their own sums if those of lifting are large, or about points far away."""
    X = np.random.default_rng(6).normal(size=(60, 3))
    sketched = make_sketched(np.repeat([0, 1], 30), np.zeros((2, 2)))
    near = make_problem(X)
    assert lift_labels(near, sketched)[1] is not None
    far = X.copy()
    far[0] = 1e3  # the first row of its cluster, about which sums are taken
    assert lift_labels(make_problem(far), sketched)[1] is None
    monkeypatch.setattr(sums_module, "MAX_KEPT", 5)
    assert lift_labels(near, sketched)[1] is None


def test_labels_alone_tell_means_and_inertia() -> None:
    """A partition is described by its labels, also where a cluster has no rows."""
    X = np.random.default_rng(7).normal(size=(30, 4)) + 1e5
    labels = np.where(np.arange(30) % 3 == 1, 2, np.arange(30) % 3).astype(np.int32)
    found = describe_labels(make_problem(X), labels, 4)
    filled = found.mass > 0
    np.testing.assert_array_equal(filled, [True, False, True, False])
    means = reference.means(X, labels, 4)
    np.testing.assert_allclose(found.centers[filled], means[filled], rtol=1e-14)
    assert found.inertia == pytest.approx(reference.inertia(X, labels), rel=1e-9)
