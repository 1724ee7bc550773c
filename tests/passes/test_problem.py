"""One pass over the rows: nearest centers, listed centers, and distances in units of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import (
    CenterLists,
    assign_rows,
    measure_rows,
    own_distances,
)
from tests import reference
from tests.support.layouts import compute_type, draw_rows, seeds, types
from tests.support.problems import make_problem


def test_a_problem_assigns_and_sums() -> None:
    """A problem's two passes use its rows, weights and ranges."""
    X = np.array([[0.0], [1.0], [10.0]])
    problem = make_problem(X, np.array([1.0, 3.0, 2.0]))
    labels = np.zeros(3, np.int32)
    distances = problem.assign(np.array([[0.0], [9.0]]), labels, keep_ties=False).nearest
    np.testing.assert_array_equal(distances, [0, 1, 1])
    moments = problem.sum(labels, np.array([[0.0], [9.0]]))
    np.testing.assert_array_equal(moments.means, [[0.75], [10.0]])
    np.testing.assert_array_equal(moments.mass, [4, 2])


def test_the_mean_variance_counts_weights() -> None:
    """The variance is that of the weighted rows, the mean over columns."""
    X, weights = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30.0)
    problem = make_problem(X, weights)
    mean = np.average(X, axis=0, weights=weights)
    expected = np.mean(np.average((X - mean) ** 2, axis=0, weights=weights))
    assert problem.mean_variance == pytest.approx(expected, rel=1e-12)


@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 9),
    k=st.integers(1, 7),
    dtype=types,
    block_rows=st.integers(1, 41),
    n_threads=st.integers(1, 3),
)
def test_blocks_and_threads_touch_no_bit(
    seed: int, n: int, d: int, k: int, dtype: str, block_rows: int, n_threads: int
) -> None:
    """Labels and distances have the same bits for any block size and number of threads."""
    X = draw_rows(seed, n, d, dtype)
    centers = draw_rows(seed + 1, k, d, dtype).astype(float)
    results = []
    for rows, count in ((None, 1), (block_rows, n_threads)):
        source = ArrayBlocks(X, rows)
        labels = np.zeros(n, np.int32)
        near = assign_rows(source, centers, labels, keep_ties=False, n_threads=count)
        own = own_distances(source, centers, labels, n_threads=count)
        everything = measure_rows(source, centers, n_threads=count)
        results.append((labels, near.nearest, near.second, own, everything))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("dtype", "unit"),
    [("float32", 10.0**e) for e in (-30, -20, -5, 0, 5, 20, 30)]
    + [("float64", 10.0**e) for e in (-120, -5, 0, 5, 120)],
)
def test_distances_are_in_the_units_of_the_rows(dtype: str, unit: float) -> None:
    """Labels and float64 squared distances are right, whatever the unit of the rows."""
    stream = np.random.default_rng(1)
    home = stream.integers(4, size=50)
    middle = stream.normal(size=(4, 6)) * 10
    X = ((middle[home] + stream.normal(size=(50, 6))) * unit).astype(dtype)
    labels = np.zeros(50, np.int32)
    distances = assign_rows(ArrayBlocks(X), middle * unit, labels, keep_ties=False).nearest
    assert distances.dtype == np.float64
    np.testing.assert_array_equal(labels, home)
    exact = reference.squared_distances(X, middle * unit)[home, np.arange(50)] / unit / unit
    accuracy = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(distances / unit / unit, exact.astype(float), rtol=accuracy)


@pytest.mark.parametrize("k", [1, 2])
def test_rows_far_from_all_centers(k: int) -> None:
    """Rows much farther out than the centers' spread have finite distances, in float32 too."""
    X = np.array([[1e25, 0.0], [0.0, -1e25]], np.float32)
    centers = np.array([[1.0, 1.0], [-1.0, -1.0]])[:k]
    labels = np.zeros(2, np.int32)
    source = ArrayBlocks(X)
    ranges = scan_columns(source)
    distances = assign_rows(source, centers, labels, keep_ties=False, ranges=ranges).nearest
    np.testing.assert_allclose(distances, 1e50, rtol=1e-5)
    np.testing.assert_array_equal(labels, [0, k - 1])


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_a_common_offset_costs_no_labels(offset: float) -> None:
    """float32 rows far from the origin go to the center that is nearest in exact arithmetic."""
    stream = np.random.default_rng(2)
    X = (offset + stream.normal(size=(300, 8))).astype(np.float32)
    centers = X[:6].astype(float)
    labels = np.zeros(300, np.int32)
    assign_rows(ArrayBlocks(X), centers, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, reference.nearest_center(X, centers))


def test_what_single_precision_cannot_tell_double_precision_does() -> None:
    """Labels are right for centers so close that float32 products cannot separate them."""
    stream = np.random.default_rng(3)
    X = stream.normal(size=(200, 40)).astype(np.float32)
    middle = stream.normal(size=40)
    centers = np.array([middle + 1e-9 * stream.normal(size=40) for _ in range(5)])
    labels = np.zeros(200, np.int32)
    assign_rows(ArrayBlocks(X), centers, labels, keep_ties=False)
    expected = reference.nearest_center(X, centers)
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(labels, expected)


@given(seed=seeds, n=st.integers(1, 30), d=st.integers(1, 20), k=st.integers(1, 9), dtype=types)
def test_the_nearest_but_one_and_own_distances(
    seed: int, n: int, d: int, k: int, dtype: str
) -> None:
    """Second distances are the twin's, infinite for one center; own distances are exact."""
    X = draw_rows(seed, n, d, dtype)
    centers = draw_rows(seed + 1, k, d, dtype).astype(float)
    labels = np.zeros(n, np.int32)
    near = assign_rows(ArrayBlocks(X), centers, labels, keep_ties=False)
    exact = reference.squared_distances(X, centers).astype(float)
    own = own_distances(ArrayBlocks(X), centers, labels)
    np.testing.assert_allclose(own, exact[labels, np.arange(n)], rtol=1e-12)
    if k == 1:
        assert np.isinf(near.second).all()
    else:
        size = (np.abs(X.astype(float)).max() + np.abs(centers).max()) ** 2 * d
        tolerance = (8 + d) * np.finfo(compute_type(dtype)).eps * size
        np.testing.assert_allclose(near.second, np.sort(exact, axis=0)[1], rtol=0, atol=tolerance)


def test_ties_stay_or_go_to_the_lowest() -> None:
    """A row midway between centers keeps its label, or gets the lowest index if it has none yet."""
    source = ArrayBlocks(np.array([[1.0], [0.0], [2.0]]))
    centers = np.array([[0.0], [2.0], [2.0]])
    labels = np.array([2, 2, 2], np.int32)
    assign_rows(source, centers, labels, keep_ties=True)
    np.testing.assert_array_equal(labels, [2, 0, 2])
    assign_rows(source, centers, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, [0, 0, 1])


@given(seed=seeds, n=st.integers(1, 30), d=st.integers(1, 9), dtype=types)
def test_measured_distances_come_back_from_the_frame(seed: int, n: int, d: int, dtype: str) -> None:
    """Distances equal the twin's after division by the scale; equal points have zero."""
    X = draw_rows(seed, n, d, dtype)
    chosen = np.random.default_rng(seed).integers(n, size=3)
    centers = X[chosen].astype(float)
    frame = Frame.around(centers, compute_type(dtype))
    found = measure_rows(ArrayBlocks(X, 7), centers, frame) / np.float64(frame.scale) ** 2
    np.testing.assert_array_equal(found[[0, 1, 2], chosen], 0)
    exact = reference.squared_distances(X, centers).astype(float)
    eps = np.finfo(compute_type(dtype)).eps
    np.testing.assert_allclose(found, exact, rtol=1e3 * eps, atol=1e3 * eps * exact.max())


def draw(seed: int, n: int, d: int, k: int, dtype: str) -> tuple[Any, Any, Any, list[Any], Any]:
    """Return small integers as rows and centers, labels, a list for each group, and groups."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 5, size=(n, d)).astype(dtype)
    centers = stream.integers(0, 5, size=(k, d)).astype(float)
    n_groups = int(stream.integers(1, 5))
    lists = [stream.permutation(k)[: stream.integers(1, k + 1)] for _ in range(n_groups)]
    groups = stream.integers(n_groups, size=n).astype(np.int32)
    return X, centers, stream.integers(k, size=n).astype(np.int32), lists, groups


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 700),
    d=st.integers(1, 40),
    k=st.integers(1, 90),
    dtype=types,
    n_threads=st.integers(1, 3),
    block_rows=st.integers(1, 800),
)
def test_labels_are_those_of_the_twin(
    seed: int, n: int, d: int, k: int, dtype: str, n_threads: int, block_rows: int
) -> None:
    """Every row gets the nearest center of its group's list; its present one among equals."""
    X, centers, labels, lists, groups = draw(seed, n, d, k, dtype)
    problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
    found = labels.copy()
    near = problem.assign_listed(centers, CenterLists.join(lists), found, groups)
    expected = reference.nearest_listed(X, centers, lists, groups, labels).astype(float)
    np.testing.assert_array_equal(found, expected[:, 0])
    np.testing.assert_allclose(near.nearest, expected[:, 1], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(near.second, expected[:, 2], rtol=1e-4, atol=1e-3)


def test_a_row_gets_the_same_bits_alone_and_among_others() -> None:
    """Distances and labels of a row do not depend on the rows beside it."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(900, 33)).astype(np.float32)
    centers = stream.normal(size=(50, 33))
    labels = stream.integers(50, size=900).astype(np.int32)
    lists = CenterLists.of_rows(np.array([stream.permutation(50)[:37] for _ in range(50)]))
    everything = labels.copy()
    near = make_problem(X).assign_listed(centers, lists, everything)
    order = stream.permutation(900)[:200]
    some = labels[order].copy()
    frame = near.frame
    again = make_problem(X[order]).assign_listed(centers, lists, some, frame=frame)
    np.testing.assert_array_equal(some, everything[order])
    for one, other in zip(again.inside, near.inside, strict=True):
        assert one.tobytes() == other[order].tobytes()


def test_full_lists_are_a_full_pass() -> None:
    """If every list holds all centers, labels and distances are those of a look at all."""
    stream = np.random.default_rng(5)
    X = stream.normal(size=(300, 4))
    problem, centers = make_problem(X), X[:20] + 0.1
    labels = stream.integers(20, size=300).astype(np.int32)
    full = labels.copy()
    lists = CenterLists.of_rows(np.tile(np.arange(20), (20, 1)))
    near = problem.assign_listed(centers, lists, labels)
    expected = problem.assign(centers, full, keep_ties=True)
    np.testing.assert_array_equal(labels, full)
    np.testing.assert_allclose(near.nearest, expected.nearest, rtol=1e-9)
    np.testing.assert_allclose(near.second, expected.second, rtol=1e-9)


def test_rows_of_no_group_stay_as_they_are() -> None:
    """Rows of the group -1 keep their labels; the others are looked at."""
    stream = np.random.default_rng(6)
    X, labels = stream.normal(size=(50, 3)), np.arange(50, dtype=np.int32) % 4
    groups = np.where(np.arange(50) % 3 == 0, -1, 0).astype(np.int32)
    found = labels.copy()
    make_problem(X).assign_listed(X[:4], CenterLists.join([np.arange(4)]), found, groups)
    expected = np.where(groups < 0, labels, reference.nearest_center(X, X[:4], labels))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ties_between_far_centers_are_settled(dtype: str) -> None:
    """A row halfway between two centers keeps its label, or gets the lower one, exactly."""
    X = np.full((3, 5), 1e3, dtype=dtype)
    centers = np.vstack([np.full(5, 1e3 - 0.25), np.full(5, 1e3 + 0.25), np.zeros(5)])
    lists = CenterLists.join([np.array([1, 0, 2])])
    labels = np.array([1, 0, 2], np.int32)
    make_problem(X).assign_listed(centers, lists, labels, np.zeros(3, np.int32))
    np.testing.assert_array_equal(labels, [1, 0, 0])
