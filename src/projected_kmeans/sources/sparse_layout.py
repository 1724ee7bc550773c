"""Whether the parts of a sparse matrix fit together, asked before anything walks along its indices.

SciPy's conversions and our kernels follow the indices of a sparse matrix without looking, so one
that points outside reads or writes foreign memory and can end the process. Matrices come from files
and from callers who set `indptr` themselves, so each is checked once where it enters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from projected_kmeans.sources.protocol import UnreadableFile


def is_sparse(rows: Any) -> bool:
    """Return whether rows are a sparse matrix or array of SciPy's.

    Does not import `scipy.sparse`, so that a process that reads dense files starts in half the
    time: without the import there is no sparse matrix.

    Examples
    --------
    >>> import scipy.sparse
    >>> is_sparse(scipy.sparse.csr_array(np.eye(2))), is_sparse(np.eye(2))
    (True, False)
    """
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(rows))


def check_sparse(rows: Any, where: str) -> None:
    """Raise if an index of a sparse matrix or array points outside of it.

    The cost is one look at each index. Duplicates and any order of indices are allowed.

    Parameters
    ----------
    rows : SciPy sparse matrix or array
        Of any of SciPy's formats.
    where : str
        What the error calls it, such as "X".

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = scipy.sparse.csr_array(np.eye(3))
    >>> rows.indptr[1] = 7
    >>> check_sparse(rows, "X")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ...
    projected_kmeans.sources.protocol.UnreadableFile: X is a damaged csr matrix: its indptr does not
    ascend; build it again
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
