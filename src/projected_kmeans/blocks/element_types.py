"""READ: the element types that kernels read, and the precision in which they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native

NATIVE_TYPES = tuple(np.dtype(name) for name in _native.ELEMENT_TYPES)


def as_native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in an element type that kernels read.

    Arrays of these types are returned as they are. Other byte orders become native, booleans become
    uint8, and all other types float64.
    """
    if array.dtype.newbyteorder("=") in NATIVE_TYPES:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return array.astype(np.uint8 if array.dtype == np.bool_ else np.float64)


def as_native_sparse(rows: Any) -> Any:
    """Return CSR rows in the form that kernels read.

    Entries are float32 or float64, both index arrays have the same type, and the column indices of
    a row are ascending and unique. The rows given are never changed.
    """
    dtype = compute_type(as_native(rows.data[:0]).dtype)
    native = scipy.sparse.csr_array(rows).astype(dtype, copy=False)
    index = np.promote_types(native.indices.dtype, native.indptr.dtype)
    native.indices = native.indices.astype(index, copy=False)
    native.indptr = native.indptr.astype(index, copy=False)
    if not native.has_canonical_format:
        native = native.copy() if np.shares_memory(native.data, rows.data) else native
        native.sum_duplicates()
    return native


def compute_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision in which rows of a type are computed: float64 only for float64."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)
