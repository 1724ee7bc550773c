"""Sparse rows: sums over clusters, in every bit those of dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import Problem
from tests import reference
from tests.support.layouts import seeds, threads
from tests.support.sparse_rows import draw_centers, draw_sparse

floats = st.sampled_from(["float32", "float64"])
sizes = st.integers(1, 40)
widths = st.integers(1, 30) | st.sampled_from([511, 1030])


def sum_rows(rows: Any, labels: Any, references: Any, weights: Any = None, **how: Any) -> Moments:
    """Return the moments of rows in either form."""
    block_rows, n_threads = how.get("block_rows"), how.get("n_threads", 1)
    kind = SparseBlocks if scipy.sparse.issparse(rows) else ArrayBlocks
    source = kind(rows, block_rows)
    problem = Problem(source, scan_columns(source), weights, n_threads)
    return problem.sum(labels.astype(np.int32), references)


def assert_same_sums(one: Moments, other: Moments) -> None:
    """Compare all fields, bit by bit."""
    for name in ("mass", "offsets", "squares"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@settings(max_examples=50)
@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=widths,
    k=st.integers(1, 12),
    dtype=floats,
    wide=st.booleans(),
    block_rows=st.integers(1, 61),
    n_threads=threads,
)
def test_sums_have_the_bits_of_dense_rows(
    seed: int, n: int, d: int, k: int, dtype: str, wide: bool, block_rows: int, n_threads: int
) -> None:
    """Without weights the sums of both forms are equal in every bit, in any blocks and threads."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    references = draw_centers(rows, k, seed + 1)
    labels = np.random.default_rng(seed).integers(k, size=n)
    dense = sum_rows(rows.dense, labels, references)
    how = {"block_rows": block_rows, "n_threads": n_threads}
    assert_same_sums(sum_rows(rows.sparse, labels, references, **how), dense)


@pytest.mark.parametrize("k", [1, 40])
def test_sums_of_wide_rows(k: int) -> None:
    """A hundred thousand columns, shared by several threads, have the bits of dense rows."""
    rows = draw_sparse(k, 30, 100_000, density=0.001)
    references = draw_centers(rows, k, 1)
    labels = np.random.default_rng(k).integers(k, size=30)
    dense = sum_rows(rows.dense, labels, references)
    for n_threads in (1, 2, 5):
        assert_same_sums(sum_rows(rows.sparse, labels, references, n_threads=n_threads), dense)


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(1, 25), d=st.integers(1, 12), k=st.integers(1, 5), dtype=floats)
def test_weighted_sums_equal_exact_fractions(seed: int, n: int, d: int, k: int, dtype: str) -> None:
    """With weights, sums are right up to the rounding of a few terms, and blocks do not matter."""
    rows = draw_sparse(seed, n, d, density=0.3, dtype=dtype)
    references = draw_centers(rows, k, seed + 1)
    stream = np.random.default_rng(seed)
    labels, weights = stream.integers(k, size=n), np.exp(stream.normal(scale=3, size=n))
    found = sum_rows(rows.sparse, labels, references, weights)
    about = found.references  # the sums may have chosen nearer ones
    mass, offsets, squares = reference.cluster_moments(rows.dense, labels, weights, about)
    np.testing.assert_allclose(found.mass, mass.astype(float), rtol=1e-15)
    size = (np.abs(rows.dense).max(initial=0) + np.abs(about).max() + 1) * weights.sum()
    assert np.abs(found.offsets - offsets.astype(float)).max() <= 1e-14 * size
    largest = (np.abs(rows.dense).max(initial=0) + np.abs(about).max() + 1) ** 2
    error = np.abs(found.squares - squares.astype(float)).max()
    assert error <= 1e-14 * largest * weights.sum() * d
    other = sum_rows(rows.sparse, labels, references, weights, block_rows=3, n_threads=3)
    assert_same_sums(found, other)


@given(seed=seeds, n=st.integers(1, 60), d=st.integers(1, 20), dtype=floats)
def test_sums_follow_labels_to_the_bit(seed: int, n: int, d: int, dtype: str) -> None:
    """Moving rows between clusters gives the bits of sums made anew, and of dense rows."""
    stream = np.random.default_rng(seed)
    rows = draw_sparse(seed, n, d, density=0.3, dtype=dtype)
    references = draw_centers(rows, 5, seed + 1)
    source = SparseBlocks(rows.sparse, 17)
    sums = Problem(source, scan_columns(source), n_threads=3).open_sums(references)
    before = stream.integers(5, size=n).astype(np.int32)
    sums.update(before)
    for _ in range(3):
        moved = stream.random(n) < 0.3
        after = np.where(moved, stream.integers(5, size=n), before).astype(np.int32)
        assert_same_sums(sums.update(after, before), sum_rows(rows.dense, after, references))
        before = after
