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
from projected_kmeans.passes import cluster_sums
from projected_kmeans.passes.cluster_sums import KeptSums
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.solvers.lifting import lift, lift_lowest, sum_for_polishing
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
    lifted = lift(make_problem(X, weights), [sketched])[0]
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
    lifted = lift(make_problem(X), [make_sketched(labels, np.zeros((6, 2)))])[0]
    assert lifted.inertia == pytest.approx(reference.extended_inertia(X, labels), rel=1e-9)


def test_an_empty_cluster_adopts_its_neighbours_center() -> None:
    """A cluster without rows gets the center of the cluster nearest to it in the sketch."""
    X = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [10.0, 10.0, 10.0]])
    sketched = make_sketched([0, 0, 2], [[0.0], [6.0], [9.0], [-1.0]])
    lifted = lift(make_problem(X), [sketched])[0]
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
    lifted = lift(make_problem(X, weights), [sketched])[0]
    np.testing.assert_array_equal(lifted.centers, [[1], [1]])
    assert lifted.inertia == 2.0


def test_the_sketch_is_left_alone() -> None:
    """The partition of the sketch keeps its own centers, inertia and labels."""
    sketched = make_sketched([0, 1, 0], [[0.0], [1.0]])
    kept = sketched.centers.copy()
    lift(make_problem(np.arange(3.0)[:, None]), [sketched])[0]
    np.testing.assert_array_equal(sketched.centers, kept)
    assert sketched.inertia == 1.0


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(1, 40), dtype=types, weighted=st.booleans())
def test_partitions_are_lifted_together_in_one_walk(
    seed: int, n: int, dtype: str, weighted: bool
) -> None:
    """Partitions lifted together, also of different k, get what each gets alone, in one walk."""
    X = draw_rows(seed, n, 5, dtype)
    stream = np.random.default_rng(seed)
    weights = stream.random(n) + 0.1 if weighted else None
    sketched = [
        make_sketched(stream.integers(k, size=n), stream.normal(size=(k, 2)), weights)
        for k in (3, 1, 4)
    ]
    walks: list[int] = []

    class Watched(ArrayBlocks):
        """Counts the blocks that are read."""

        def blocks_from(self, first: int) -> Any:
            for block in super().blocks_from(first):
                walks.append(block.start)
                yield block

    problem = Problem(Watched(X, 7), scan_columns(ArrayBlocks(X)), weights, 2)
    together = lift(problem, sketched)
    assert walks == list(range(0, n, 7))
    for one, partition in zip(together, sketched, strict=True):
        alone = lift(problem, [partition])[0]
        np.testing.assert_array_equal(one.labels, alone.labels)
        np.testing.assert_allclose(one.centers, alone.centers, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(one.mass, alone.mass, rtol=1e-15)
        assert one.inertia == pytest.approx(alone.inertia, rel=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_lowest_partition_is_lifted_and_equal_ones_once(sparse: bool) -> None:
    """Of several partitions the lowest on the original rows is returned, with its own bits.

    A partition that comes again with other numbers, here the last, is not summed again: the walks
    over the rows are one for each that differs, or one for all dense ones.
    """
    stream = np.random.default_rng(4)
    X = np.repeat(np.eye(3), 20, axis=0) * 9 + stream.normal(size=(60, 3))
    right = np.repeat([2, 0, 1], 20)
    wrong = stream.integers(3, size=60)
    labels = [wrong, right, (right + 1) % 3, (wrong + 2) % 3]
    sketched = [make_sketched(one, stream.normal(size=(3, 2))) for one in labels]
    source: Any = SparseBlocks(scipy.sparse.csr_array(X)) if sparse else ArrayBlocks(X)
    problem = Problem(source, scan_columns(source))
    walks = 0
    walk = source.walk

    def count(*tasks: Any, **options: Any) -> None:
        nonlocal walks
        walks += 1
        walk(*tasks, **options)

    source.walk = count
    found = lift_lowest(problem, sketched)
    assert walks == (2 if sparse else 1)
    assert found.sketched is sketched[1]
    np.testing.assert_array_equal(found.original.labels, right)
    alone = lift(problem, [sketched[1]])[0]
    np.testing.assert_allclose(found.original.centers, alone.centers, rtol=1e-15)
    assert found.original.inertia == pytest.approx(alone.inertia, rel=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_partitions", [1, 3])
def test_kept_sums_are_those_of_the_partition_alone(n_partitions: int, weighted: bool) -> None:
    """Lifting leaves the sums that polishing would take itself, to the bit."""
    stream = np.random.default_rng(5)
    X = np.repeat(np.eye(3), 40, axis=0) * 9 + stream.normal(size=(120, 3))
    weights = stream.uniform(0.5, 2, size=120) if weighted else None
    labels = [np.repeat([2, 0, 1], 40), *stream.integers(3, size=(2, 120))][:n_partitions]
    sketched = [make_sketched(one, stream.normal(size=(3, 2))) for one in labels]
    source = ArrayBlocks(X)
    problem, kept = Problem(source, scan_columns(source), weights), KeptSums()
    found = lift_lowest(problem, sketched, kept=kept)
    alone = sum_for_polishing(problem, found.original.labels, 3)
    assert kept.sums is not None
    assert alone is not None
    for one, other in zip(kept.sums.parts, alone.parts, strict=True):
        np.testing.assert_array_equal(one, other)
    moments = kept.sums.moments()
    assert moments.inertia == pytest.approx(found.original.inertia, rel=1e-14)
    np.testing.assert_array_equal(moments.mass, found.original.mass)


def test_large_or_far_sums_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polishing opens its own sums if those of lifting are large, or about points far away."""
    X = np.random.default_rng(6).normal(size=(60, 3))
    labels = np.repeat([0, 1], 30).astype(np.int32)
    near = make_problem(X)
    assert sum_for_polishing(near, labels, 2) is not None
    far = X.copy()
    far[0] = 1e3  # the first row of its cluster, about which sums are taken
    assert sum_for_polishing(make_problem(far), labels, 2) is None
    monkeypatch.setattr(cluster_sums, "MAX_KEPT", 5)
    assert sum_for_polishing(near, labels, 2) is None
