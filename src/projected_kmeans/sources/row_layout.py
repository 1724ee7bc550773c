"""The layout in which rows are handed on: CSR or C-contiguous, in the machine's byte order."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.sources.protocol import Rows
from projected_kmeans.sources.sparse_layout import is_sparse

# `turn_columns` copies 256 rows at a time, or fewer if they are longer than 4 KB, because its
# buffer of at most 1 MB should stay in the processor's cache.
TURNED_ROWS = 256
TURNED_BYTES = 2**20


def plain_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which stored numbers are read: native byte order, booleans as bytes."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")


def plain_rows(rows: Any, dtype: np.dtype[Any]) -> Rows:
    """Return rows of a given type as CSR or C-contiguous and aligned; no copy if they are already.

    Parameters
    ----------
    rows : ndarray or sparse (n, d)
        In any layout.
    dtype : dtype
        The type to return.
    """
    if is_sparse(rows):
        found: scipy.sparse.csr_array[Any] = to_csr(rows).astype(dtype, copy=False)
        return found
    if rows.ndim == 2 and rows.strides[0] == rows.itemsize < rows.strides[1]:
        turned = np.empty(rows.shape, dtype)
        turn_columns(rows.T, turned)
        return turned
    return np.require(rows, dtype, ["C", "A", "E"])


def turn_columns(columns: NDArray[Any], rows: NDArray[Any]) -> None:
    """Write columns (d, n) as rows (n, d), a few rows at a time through a buffer.

    This is five times as fast as a plain transposing copy: columns often lie a power of two bytes
    apart, and then they evict one another from the cache. In the buffer they do not.
    """
    n_features, n_rows = columns.shape
    step = max(16, min(TURNED_ROWS, TURNED_BYTES // max(1, n_features * rows.itemsize)))
    buffer = np.empty((n_features, step + 16), rows.dtype)
    for start in range(0, n_rows, step):
        part = columns[:, start : start + step]
        held = buffer[:, : part.shape[1]]
        held[:] = part
        rows[start : start + step] = held.T


def to_csr(rows: Any) -> scipy.sparse.csr_array[Any]:
    """Return any checked sparse matrix or array as CSR rows, without a copy if they are CSR."""
    return scipy.sparse.csr_array(rows)
