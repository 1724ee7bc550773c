"""READ: the element types that kernels read, and the precision in which they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.sources.row_layout import check_sparse

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
    """Return sparse rows in the form that kernels read: CSR; raise if they are damaged.

    Entries are float32 or float64, both index arrays have the same type, and the column indices of
    a row are ascending and unique. The rows given are never changed. All sparse rows pass through
    here before SciPy, scikit-learn or a kernel follows their indices.
    """
    check_sparse(rows, "X")
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"X holds values of type {rows.dtype}; give real numbers, such as abs(X)")
    dtype = compute_type(as_native(np.empty(0, rows.dtype)).dtype)
    given = rows.tocsr()
    native: Any = scipy.sparse.csr_array(given.shape, dtype=dtype)
    # The arrays are set one by one, because the constructor of SciPy may convert the indices.
    narrow = given.indices.dtype == given.indptr.dtype == np.int32
    native.indices, native.indptr = (
        np.require(part, np.int32 if narrow else np.int64, ["C", "A", "E"])
        for part in (given.indices, given.indptr)
    )
    native.data = np.require(given.data, dtype, ["C", "A", "E"])
    if not native.has_canonical_format:
        native = native.copy()
        native.sum_duplicates()
    return native


def compute_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision in which rows of a type are computed: float64 only for float64."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)
