"""One pass over all blocks: nearest centers, and distances in the units of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import (
    assign_rows,
    measure_rows,
    own_distances,
)
from tests import reference
from tests.support.layouts import compute_type, draw_rows, seeds, types


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
