"""The layout of rows: CSR or C-contiguous in the machine's byte order, and sound if sparse.

SciPy's conversions and our kernels follow the indices of a sparse matrix without looking, so one
that points outside reads or writes foreign memory and can end the process. Matrices come from files
and from callers who set `indptr` themselves, so each is checked once where it enters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.sources.protocol import Rows, UnreadableFile

# `turn_columns` copies 256 rows at a time, or fewer if they are longer than 4 KB, because its
# buffer of at most 1 MB should stay in the processor's cache.
TURNED_ROWS = 256
TURNED_BYTES = 2**20


def plain_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which stored numbers are read: native byte order, booleans as bytes."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")


def plain_rows(rows: Any, dtype: np.dtype[Any]) -> Rows:
    """Return rows of a given type as CSR or C-contiguous and aligned; no copy if they are so."""
    if is_sparse(rows):
        csr: scipy.sparse.csr_array[Any] = to_csr(rows).astype(dtype, copy=False)
        return csr
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


def find_pieces(starts: NDArray[np.int64], start: int, stop: int) -> range:
    """Return the pieces that have the rows start, ..., stop - 1; at least one, also of no rows.

    `starts` has the first row of each piece, and the number of rows at its end.
    """
    first = int(np.searchsorted(starts[:-1], start, side="right")) - 1
    return range(first, max(first + 1, int(np.searchsorted(starts, stop, side="left"))))


def is_sparse(rows: Any) -> bool:
    """Return whether rows are a sparse matrix or array of SciPy's.

    Does not import `scipy.sparse`, so that a process that reads dense files starts in half the
    time: without the import there is no sparse matrix.
    """
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(rows))


def check_sparse(rows: Any, where: str) -> None:
    """Raise if an index of a sparse matrix of any of SciPy's formats points outside of it.

    The cost is one look at each index. Duplicates and any order of indices are allowed.
    """
    if rows.ndim != 2:
        raise UnreadableFile(
            f"{where} has shape {rows.shape}, but rows and columns are needed; reshape it, such as "
            "with X.reshape((1, -1))"
        )
    fault = FAULTS[rows.format](rows)
    if fault is not None:
        raise UnreadableFile(f"{where} is a damaged {rows.format} matrix: {fault}; build it again")


def _find_in_compressed(rows: Any) -> str | None:
    n_major, n_minor = rows.shape if rows.format != "csc" else rows.shape[::-1]
    n_dimensions = 1
    if rows.format == "bsr":
        height, width = rows.data.shape[1:] if rows.data.ndim == 3 else (0, 0)
        if not height or not width or n_major % height or n_minor % width:
            return f"blocks of shape {rows.data.shape[1:]} do not tile its shape {rows.shape}"
        n_major, n_minor, n_dimensions = n_major // height, n_minor // width, 3
    if rows.data.ndim != n_dimensions:
        return f"its data has {rows.data.ndim} dimensions and not {n_dimensions}"
    fault = _find_no_index(rows.indptr, "indptr") or _find_no_index(rows.indices, "indices")
    if fault is not None:
        return fault
    if len(rows.indptr) != n_major + 1:
        return f"its indptr has {len(rows.indptr)} entries and not {n_major + 1}"
    if rows.indptr[0] != 0:
        return f"its indptr starts at {rows.indptr[0]} and not at 0"
    if (rows.indptr[1:] < rows.indptr[:-1]).any():
        return "its indptr does not ascend"
    n_entries, n_stored = int(rows.indptr[-1]), min(len(rows.indices), len(rows.data))
    if n_entries > n_stored:
        return f"its indptr ends at {n_entries}, but only {n_stored} entries are stored"
    return _find_outside(rows.indices[:n_entries], n_minor)


def _find_in_coordinates(rows: Any) -> str | None:
    for indices, extent in ((rows.row, rows.shape[0]), (rows.col, rows.shape[1])):
        fault = _find_no_index(indices, "coordinates")
        if fault is None and len(indices) != len(rows.data):
            fault = f"it has {len(indices)} coordinates and {len(rows.data)} entries"
        fault = fault or _find_outside(indices, extent)
        if fault is not None:
            return fault
    return None


def _find_in_diagonals(rows: Any) -> str | None:
    fault = _find_no_index(rows.offsets, "offsets")
    if fault is None and (rows.data.ndim != 2 or len(rows.data) != len(rows.offsets)):
        fault = f"it has {len(rows.offsets)} offsets and data of shape {rows.data.shape}"
    if fault is None and len(rows.offsets) and np.abs(rows.offsets.astype(float)).max() > 2**31 - 1:
        fault = "an offset exceeds 2147483647"
    return fault


def _find_in_lists(rows: Any) -> str | None:
    if not len(rows.rows) == len(rows.data) == rows.shape[0]:
        return f"it has {len(rows.rows)} lists of indices and not {rows.shape[0]}"
    for row, (indices, entries) in enumerate(zip(rows.rows, rows.data, strict=True)):
        if len(indices) != len(entries):
            return f"row {row} has {len(indices)} indices and {len(entries)} entries"
        if indices and not 0 <= min(indices) <= max(indices) < rows.shape[1]:
            return f"row {row} has an index outside of 0, ..., {rows.shape[1] - 1}"
    return None


def _find_in_pairs(rows: Any) -> str | None:
    for row, column in rows.keys():  # noqa: SIM118, because SciPy refuses to iterate over rows
        if not (0 <= row < rows.shape[0] and 0 <= column < rows.shape[1]):
            return f"it has an entry at {(row, column)}, outside of its shape {rows.shape}"
    return None


def _find_no_index(indices: Any, name: str) -> str | None:
    if not isinstance(indices, np.ndarray) or indices.ndim != 1 or indices.dtype.kind not in "iu":
        return f"its {name} are not a vector of integers"
    return None


def _find_outside(indices: Any, extent: int) -> str | None:
    if indices.size and (low := int(indices.min())) < 0:
        return f"it has the index {low}"
    if indices.size and (high := int(indices.max())) >= extent:
        return f"it has the index {high} where {extent - 1} is the largest"
    return None


FAULTS: dict[str, Callable[[Any], str | None]] = {
    "csr": _find_in_compressed,
    "csc": _find_in_compressed,
    "bsr": _find_in_compressed,
    "coo": _find_in_coordinates,
    "dia": _find_in_diagonals,
    "lil": _find_in_lists,
    "dok": _find_in_pairs,
}
