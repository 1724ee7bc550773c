"""A hash of the content of rows, on which the draws of the sampled bound depend.

Rows that hold the same numbers in the same order have the same fingerprint, whatever their element
type, dense or sparse, and however they are divided into blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block
from projected_kmeans.results import Floats


def fingerprint_rows(
    blocks: Iterable[Block],
    shape: tuple[int, int],
    weights: Floats | None,
    check: Callable[[], None],
) -> int:
    """Return the SHA-256 hash of the rows and weights as an integer.

    What is hashed are the entries that are not zero, as float64, with their columns. The columns of
    rows without zeros are left out, because they are known.

    Parameters
    ----------
    blocks : iterable of Block
        The rows, in order.
    shape : (int, int)
        The number of rows and of columns.
    weights : ndarray of float64 (n,) or None
        The weights of the rows; None counts every row once.
    check : callable
        Called before every block; may raise to stop the work.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> def stay() -> None: ...
    >>> dense = fingerprint_rows([Block(0, rows)], (2, 2), None, stay)
    >>> sparse = fingerprint_rows([Block(0, scipy.sparse.csr_array(rows))], (2, 2), None, stay)
    >>> dense == sparse, dense == fingerprint_rows([Block(0, rows[::-1])], (2, 2), None, stay)
    (True, False)
    """
    # One hash for each kind of number, so that the end of a block leaves no trace.
    hashes = tuple(hashlib.sha256() for _ in Entries._fields)
    for block in blocks:
        check()
        for one, part in zip(hashes, _list_entries(block.rows), strict=True):
            one.update(np.ascontiguousarray(part).data)
    whole = hashlib.sha256(repr((shape, weights is not None)).encode())
    for one in hashes:
        whole.update(one.digest())
    if weights is not None:
        whole.update(np.ascontiguousarray(weights).data)
    return int.from_bytes(whole.digest(), "big")


class Entries(NamedTuple):
    """The entries of some rows that are not zero.

    Attributes
    ----------
    counts : ndarray of int64
        How many each row has.
    columns : ndarray of int64
        Their columns, row by row, in ascending order, but none for rows without zeros.
    values : ndarray of float64
        The entries, row by row.
    """

    counts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats


def _list_entries(rows: Any) -> Entries:
    n_rows, n_columns = rows.shape
    is_sparse: bool = scipy.sparse.issparse(rows)
    if is_sparse:
        filled = rows.data != 0
        places = np.repeat(np.arange(n_rows), np.diff(rows.indptr))[filled]
        columns, values = rows.indices[filled], rows.data[filled]
    elif rows.all():
        places, columns = np.repeat(np.arange(n_rows), n_columns), np.empty(0, np.int64)
        values = rows
    else:
        places, columns = np.nonzero(rows)
        values = rows[places, columns]
    counts = np.bincount(places, minlength=n_rows)
    if len(columns):
        columns = columns[counts[places] < n_columns]
    return Entries(counts, columns.astype(np.int64), values.astype(np.float64))
