"""Sparse rows: ranges of columns and entries that are not finite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from tests.support.layouts import seeds, threads
from tests.support.sparse_rows import draw_sparse

floats = st.sampled_from(["float32", "float64"])
sizes = st.integers(1, 40)
widths = st.integers(1, 30) | st.sampled_from([511, 1030])


@given(seed=seeds, n=sizes, d=widths, dtype=floats, wide=st.booleans(), n_threads=threads)
def test_ranges_are_those_of_dense_rows(
    seed: int, n: int, d: int, dtype: str, wide: bool, n_threads: int
) -> None:
    """Ranges include zero where a row does not name a column, and only there."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    for block_rows in (None, 1, 7):
        found = scan_columns(SparseBlocks(rows.sparse, block_rows), n_threads)
        np.testing.assert_array_equal(found.minimum, rows.dense.min(axis=0))
        np.testing.assert_array_equal(found.maximum, rows.dense.max(axis=0))
        assert found.squared_norm == scan_columns(ArrayBlocks(rows.dense)).squared_norm


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_finite_is_named(value: float, dtype: str) -> None:
    """The first such entry by rows is named, whatever the threads and blocks."""
    rows = draw_sparse(1, 60, 9, density=0.5, dtype=dtype).sparse
    for bad in (190, 150):
        rows.data[bad] = value
        row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
        for block_rows, n_threads in ((None, 1), (None, 3), (11, 2)):
            with pytest.raises(ValueError, match=f"row {row}, column {rows.indices[bad]};"):
                scan_columns(SparseBlocks(rows, block_rows), n_threads)
