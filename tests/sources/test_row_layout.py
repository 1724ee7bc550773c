"""Rows that are handed on: C-contiguous or CSR, native, and not copied without need."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.sources.row_layout import plain_dtype, plain_rows, turn_columns


def test_types_are_native_and_booleans_are_bytes() -> None:
    """Only booleans and foreign byte orders change their type."""
    assert plain_dtype(np.dtype(bool)) == np.uint8
    assert plain_dtype(np.dtype(">f4")) == np.float32
    assert plain_dtype(np.dtype(">f4")).isnative
    assert plain_dtype(np.dtype(np.int16)) == np.int16


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (300, 2), (1000, 7), (40, 5000), (2000, 64)])
def test_columns_are_turned(shape: tuple[int, int]) -> None:
    """Columns become rows, whatever the numbers of both, and may change their type."""
    rows = np.random.default_rng(0).integers(-99, 99, size=shape)
    turned = np.empty(shape, np.float32)
    turn_columns(rows.T, turned)
    np.testing.assert_array_equal(turned, rows)
    found = plain_rows(np.asfortranarray(rows), np.dtype(np.float64))
    assert isinstance(found, np.ndarray)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, rows)


def test_rows_that_are_plain_are_not_copied() -> None:
    """Contiguous rows of the right type, and CSR, share their memory with what was given."""
    rows = np.ones((4, 3))
    assert np.shares_memory(plain_rows(rows[1:3], rows.dtype), rows)
    sparse = scipy.sparse.csr_array(rows)
    assert np.shares_memory(plain_rows(sparse, rows.dtype).data, sparse.data)


def test_other_sparse_layouts_become_csr() -> None:
    """Any sparse matrix is handed on as CSR of the wanted type."""
    found = plain_rows(scipy.sparse.coo_matrix(np.eye(3)), np.dtype(np.float32))
    assert (found.format, found.dtype) == ("csr", np.float32)
