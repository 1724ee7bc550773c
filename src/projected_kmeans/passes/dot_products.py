"""Dot products of rows in float64 that zeros do not change, so that sparse and dense rows agree.

Products of columns whose numbers have the same rest modulo `SPAN` are added in the order of the
columns, and then these `SPAN` sums, two and two. A zero adds nothing to its sum. So vectors that
are stored without most of their zeros have the dot products of the dense vectors, to the bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.results import Floats

# Half a unit in the last place of 1.0.
ROUNDING = 2.0**-53

# The number of sums that products go to: a power of two.
SPAN = _native.DOT_SPAN


@dataclass(frozen=True)
class SomeColumns:
    """Columns outside which all entries of some vectors are 0.

    Attributes
    ----------
    indices : ndarray of int64 (m,)
        The columns, ascending.
    n_columns : int
        The number of all columns.
    """

    indices: NDArray[np.int64]
    n_columns: int


def dot_rows(left: Floats, right: Floats, columns: SomeColumns | None = None) -> Floats:
    """Return the dot product of each row of one array with the same row of another.

    Parameters
    ----------
    left, right : ndarray of float64 (k, m)
        The vectors.
    columns : SomeColumns, optional
        Which columns the arrays hold; by default all.

    Examples
    --------
    >>> dot_rows(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]]), SomeColumns(np.array([4, 9]), 10))
    array([13.])
    """
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    out = np.empty(len(left))
    if columns is None:
        _native.dot_rows(left, right, None, left.shape[1], out)
    else:
        _native.dot_rows(left, right, columns.indices, columns.n_columns, out)
    return out


def dot_error(n_columns: int) -> float:
    """Return the relative error of `dot_rows`, with some roundings of its result."""
    n_additions = n_columns // SPAN + math.log2(SPAN)
    return (n_additions + 10) * ROUNDING  # one for the product, nine for what callers do with it
