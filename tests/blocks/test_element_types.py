"""Element types: which ones kernels read, and in which precision they compute."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.element_types import as_native, as_native_sparse, compute_type
from tests.support.layouts import TYPES


@pytest.mark.parametrize("dtype", TYPES)
def test_native_types_are_kept(dtype: str) -> None:
    """An array of a type that kernels read is returned without a copy."""
    X = np.zeros((2, 2), dtype)
    assert as_native(X) is X


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (">f4", "float32"),
        (">f8", "float64"),
        (">i2", "int16"),
        ("bool", "uint8"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("uint32", "float64"),
        ("longdouble", "float64"),
    ],
)
def test_other_types_are_converted(dtype: str, expected: str) -> None:
    """Other byte orders become native, booleans bytes, and the rest float64, values unchanged."""
    X = np.array([[0, 1], [1, 0]], dtype)
    found = as_native(X)
    assert found.dtype == expected
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, X.astype(float))


def test_only_float64_is_computed_in_float64() -> None:
    """Rows of smaller types are computed in float32."""
    found = {name for name in TYPES if compute_type(np.dtype(name)) == np.float64}
    assert found == {"float64"}


def test_sparse_rows_are_brought_to_one_form() -> None:
    """Duplicates are added, indices sorted, small types widened; the caller's rows stay."""
    given_rows = scipy.sparse.csr_matrix(
        (np.array([1, 2, 3], np.int8), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 4)
    )
    found = as_native_sparse(given_rows)
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.indices, [0, 2])
    np.testing.assert_array_equal(found.data, [2, 4])
    assert given_rows.nnz == 3
    given_rows.indptr = given_rows.indptr.astype(np.int64)
    assert as_native_sparse(given_rows).indices.dtype == np.int64
