"""Rows divided by their lengths: of any type and size, dense and sparse, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.unit_length import UnitRows, to_unit_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_unit_rows(dtype: type, kind: Any) -> None:
    """Each row has length one in the precision of its computation; a row of zeros stays."""
    X = np.random.default_rng(0).normal(scale=1000, size=(700, 9)).astype(dtype)
    X[5] = 0
    X[3, 3:] = 0
    found = to_unit_rows(kind(X))
    dense = found.toarray() if scipy.sparse.issparse(found) else found
    lengths = np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    lengths[5] = 1
    assert dense.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(dense, X / lengths, rtol=1e-6 if dtype != np.float64 else 1e-14)


def test_unit_rows_neither_overflow_nor_vanish() -> None:
    """Rows of very large and very small entries are divided without overflow or loss."""
    X = np.array([[3e200, 4e200], [3e-200, 4e-200]])
    for rows in (X, scipy.sparse.csr_array(X)):
        unit = to_unit_rows(rows)
        dense = unit.toarray() if scipy.sparse.issparse(unit) else unit
        np.testing.assert_allclose(dense, [[0.6, 0.8]] * 2, rtol=1e-15)


def test_the_block_source_of_unit_rows() -> None:
    """Blocks, single rows and selections agree; the bounds hold for every entry."""
    X = np.random.default_rng(0).normal(size=(400, 20))
    source = UnitRows(ArrayBlocks(X, 33))
    whole = to_unit_rows(X)
    np.testing.assert_array_equal(np.concatenate([block.rows for block in source]), whole)
    np.testing.assert_array_equal(source.take(np.array([7, 3])), whole[[7, 3]])
    np.testing.assert_array_equal(source.select(), whole)
    assert (len(source), source.shape, source.sparse) == (13, X.shape, False)
    bounds = source.bound(scan_columns(ArrayBlocks(X)))
    assert np.all(bounds.minimum <= whole.min(axis=0))
    assert np.all(bounds.maximum >= whole.max(axis=0))
