"""Sparse rows: nearest centers and distances, the same as for dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks, open_blocks
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import assign_rows, measure_rows, own_distances
from tests import reference
from tests.support.layouts import seeds, threads
from tests.support.sparse_rows import both_forms, draw_centers, draw_sparse

floats = st.sampled_from(["float32", "float64"])
sizes = st.integers(1, 40)
widths = st.integers(1, 30) | st.sampled_from([511, 1030])


def assign(rows: Any, centers: NDArray[Any], labels: NDArray[Any] | None, **options: Any) -> Any:
    """Return labels and both distances."""
    found = np.zeros(rows.shape[0], np.int32) if labels is None else labels.astype(np.int32)
    source = options.pop("source", open_blocks(rows))
    near = assign_rows(source, centers, found, keep_ties=labels is not None, **options)
    return found, near.nearest, near.second


@settings(max_examples=60)
@given(
    seed=seeds,
    n=sizes,
    d=widths,
    k=st.integers(1, 40),
    dtype=floats,
    wide=st.booleans(),
    n_threads=threads,
    keep=st.booleans(),
    integers=st.booleans(),
)
def test_labels_are_those_of_dense_rows(
    seed: int,
    n: int,
    d: int,
    k: int,
    dtype: str,
    wide: bool,
    n_threads: int,
    keep: bool,
    integers: bool,
) -> None:
    """Labels are equal, ties and equal centers included; distances up to rounding."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide, integers=integers)
    centers = draw_centers(rows, k, seed + 1, integers=integers)
    present = np.random.default_rng(seed).integers(k, size=n) if keep else None
    dense = assign(rows.dense, centers, present)
    sparse = assign(rows.sparse, centers, present, n_threads=n_threads)
    np.testing.assert_array_equal(sparse[0], dense[0])
    if integers:
        np.testing.assert_array_equal(
            sparse[0], reference.nearest_center(rows.dense, centers, present)
        )
    reach = 4 * (np.abs(rows.dense).max(initial=1) + np.abs(centers).max(initial=1)) ** 2 * d
    tolerance = (8 + d) * np.finfo(dtype).eps * reach
    for one, other in zip(sparse[1:], dense[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@settings(max_examples=40)
@given(
    seed=seeds,
    n=sizes,
    d=widths,
    k=st.integers(2, 30),
    m=st.integers(1, 12),
    dtype=floats,
    wide=st.booleans(),
    n_threads=threads,
    integers=st.booleans(),
)
def test_chosen_candidates_are_those_of_the_twin(
    seed: int,
    n: int,
    d: int,
    k: int,
    m: int,
    dtype: str,
    wide: bool,
    n_threads: int,
    integers: bool,
) -> None:
    """The nearest candidate is chosen, also where candidates repeat; the twin's on integers."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide, integers=integers)
    centers = draw_centers(rows, k, seed + 1, integers=integers)
    stream = np.random.default_rng(seed)
    lists = stream.integers(k, size=(n, m)).astype(np.uint16)
    labels = stream.integers(k, size=n).astype(np.int32)
    lists[:, -1] = labels
    chosen = labels.copy()
    (block,) = source = open_blocks(rows.sparse)
    frame = Frame.around(centers, np.dtype(dtype), scan_columns(source))
    inside = frame.origin, frame.scale, frame.centers, centers
    _native.nearest_candidate(block.rows, *inside, lists, chosen, n_threads)
    assert (chosen[:, None] == lists).any(axis=1).all()
    expected = reference.nearest_candidate(rows.dense, centers, lists.astype(int), labels)
    if integers:
        np.testing.assert_array_equal(chosen, expected)
    squared = reference.squared_distances(rows.dense, centers)
    found, best = (squared[each, np.arange(n)].astype(float) for each in (chosen, expected))
    np.testing.assert_allclose(found, best, rtol=1e-9, atol=1e-12)


def test_rows_equally_far_are_settled_alike() -> None:
    """Rows on the border of two centers, far from zero, go where the dense kernel sends them."""
    stream = np.random.default_rng(0)
    centers = 1e3 + stream.normal(size=(6, 50))
    middles = (centers[:, None] + centers[None])[np.triu_indices(6, 1)] / 2
    for dtype in ("float32", "float64"):
        rows = both_forms(np.concatenate([middles, np.zeros((3, 50))]).astype(dtype))
        for present in (None, np.full(len(rows.dense), 5)):
            dense = assign(rows.dense, centers, present)[0]
            np.testing.assert_array_equal(assign(rows.sparse, centers, present)[0], dense)
        assert (dense[-3:] == dense[-1]).all()


@pytest.mark.parametrize("k", [1, 40])
def test_labels_of_wide_rows(k: int) -> None:
    """Rows of a hundred thousand columns have the labels of dense rows."""
    rows = draw_sparse(k, 30, 100_000, density=0.001)
    centers = draw_centers(rows, k, 1)
    found = assign(rows.sparse, centers, None, n_threads=3)
    np.testing.assert_array_equal(found[0], assign(rows.dense, centers, None)[0])


@given(seed=seeds, n=sizes, d=widths, k=st.integers(1, 9), dtype=floats, wide=st.booleans())
def test_distances_equal_the_twin(
    seed: int, n: int, d: int, k: int, dtype: str, wide: bool
) -> None:
    """Distances to all centers and to the own center are right to the last digits of their size."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    centers = draw_centers(rows, k, seed + 1)
    centers = centers.astype(dtype).astype(float)
    exact = reference.squared_distances(rows.dense, centers).astype(float)
    size = float(np.max(np.sum(rows.dense.astype(float) ** 2, axis=1), initial=0.0))
    size += float(np.max(np.sum(centers**2, axis=1)))
    labels = np.random.default_rng(seed).integers(k, size=n).astype(np.int32)
    own = own_distances(SparseBlocks(rows.sparse), centers, labels)
    np.testing.assert_allclose(own, exact[labels, np.arange(n)], rtol=0, atol=1e-13 * size)
    source = SparseBlocks(rows.sparse)
    from_dense = measure_rows(ArrayBlocks(rows.dense), centers)
    found = measure_rows(source, centers, n_threads=2)
    assert found.dtype == dtype
    largest = np.abs(from_dense).max()
    np.testing.assert_allclose(
        found, from_dense, rtol=0, atol=(d + 8) * np.finfo(dtype).eps * largest
    )
