"""READ: the element types that kernels read, and the precision they compute in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native

NATIVE_TYPES = tuple(np.dtype(name) for name in _native.ELEMENT_TYPES)


def as_native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in an element type that kernels read: itself, or float64 where it must."""
    if array.dtype.newbyteorder("=") in NATIVE_TYPES:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return array.astype(np.uint8 if array.dtype == np.bool_ else np.float64)


def as_native_sparse(rows: Any) -> Any:
    """Return CSR rows as kernels read them: float32 or float64, indices ascending and unique."""
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
    """Return the precision that rows of this type are computed in: float64 only for float64."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)
