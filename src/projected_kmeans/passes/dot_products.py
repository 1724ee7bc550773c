"""Dot products of rows in float64 that zeros do not change, so that sparse and dense rows agree.

Products of columns whose numbers have the same rest modulo `SPAN` are added in the order of the
columns, and then these `SPAN` sums. A zero adds nothing to its sum. So vectors that are stored
without most of their zeros have the dot products of the dense vectors, to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Floats

# Half a unit in the last place of 1.0.
ROUNDING = 2.0**-53

# The number of sums that products go to. Each has few terms, so that their rounding stays small.
SPAN = 512


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
    n_columns = left.shape[1] if columns is None else columns.n_columns
    if n_columns < SPAN:
        if columns is not None:
            left, right = (_fill(some, columns) for some in (left, right))
        return np.asarray(np.einsum("ij,ij->i", left, right))
    sums = np.zeros((len(left), SPAN))
    if columns is not None:
        places = columns.indices % SPAN
        for i, products in enumerate(left * right):
            sums[i] = np.bincount(places, products, SPAN)
        return np.asarray(np.einsum("ij->i", sums))
    n_spans = n_columns // SPAN
    whole = n_spans * SPAN
    for i in range(len(left)):
        products = left[i] * right[i]
        np.add.reduce(products[:whole].reshape(n_spans, SPAN), axis=0, out=sums[i])
        sums[i, : n_columns - whole] += products[whole:]
    return np.asarray(np.einsum("ij->i", sums))


def dot_error(n_columns: int) -> float:
    """Return the relative error of `dot_rows`, with some roundings of its result."""
    return (min(n_columns, SPAN) + n_columns // SPAN + 8) * ROUNDING


def _fill(some: Floats, columns: SomeColumns) -> Floats:
    """Return vectors with all their zeros."""
    dense = np.zeros((len(some), columns.n_columns))
    dense[:, columns.indices] = some
    return dense
