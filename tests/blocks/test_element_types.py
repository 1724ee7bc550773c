"""Rows brought to the types that kernels read."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from projected_kmeans.blocks.element_types import as_native_sparse


def test_rows_are_brought_to_one_form() -> None:
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
