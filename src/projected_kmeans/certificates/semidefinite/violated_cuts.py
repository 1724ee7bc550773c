"""Which cuts a matrix breaks most, and the list of cuts that a search keeps.

Cuts are kept in ascending order of their rows, because a sweep then reads the matrix row by row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.certificates.semidefinite.multipliers import NO_ROW
from projected_kmeans.certificates.semidefinite.top_eigenpairs import Matrix

Cuts = NDArray[np.int32]

# New triangle and pair cuts for each row of the part at a time, and triangles of one row.
TRIANGLES_PER_ROW = 30
PAIRS_PER_ROW = 5
MOST_OF_ONE_ROW = 60


def find_cuts(matrix: Matrix, floor: float) -> Cuts:
    """Return the cuts that a matrix breaks most.

    Parameters
    ----------
    matrix : ndarray of float32 (n, n)
        U in the words of `multipliers`; without weights, Z.
    floor : float
        Cuts that are broken by less are left out.

    Returns
    -------
    ndarray of int32 (m, 3)
        As in `Multipliers`.
    """
    return np.concatenate([_find_pairs(matrix, floor), _find_triangles(matrix, floor)])


def merge_cuts(
    cuts: Cuts, values: NDArray[np.float32], new: Cuts, n_rows: int
) -> tuple[Cuts, NDArray[np.float32]]:
    """Return cuts whose multiplier is above 0 and new ones, each once, in ascending order.

    Parameters
    ----------
    cuts, values
        The cuts so far and their multipliers.
    new : ndarray of int32 (m, 3)
        Cuts to add; their multiplier is 0.
    n_rows : int
        Rows of the part.
    """
    kept = values > 0
    every = np.concatenate([cuts[kept], new])
    multipliers = np.concatenate([values[kept], np.zeros(len(new), np.float32)])
    first, second, third = every.T.astype(np.int64)
    order = np.unique((first * n_rows + second) * (n_rows + 1) + third + 1, return_index=True)[1]
    return every[order], multipliers[order]


def _find_triangles(matrix: Matrix, floor: float) -> Cuts:
    n_rows = len(matrix)
    others = np.empty((n_rows, MOST_OF_ONE_ROW, 2), np.int32)
    violations = np.empty((n_rows, MOST_OF_ONE_ROW), np.float32)
    counts = np.empty(n_rows, np.int32)
    _native.violated_triangles(matrix, floor, others, violations, counts, 1)
    rows, places = np.nonzero(np.arange(MOST_OF_ONE_ROW) < counts[:, None])
    cuts = np.column_stack([rows.astype(np.int32), others[rows, places]])
    return cuts[_largest(violations[rows, places], TRIANGLES_PER_ROW * n_rows)]


def _find_pairs(matrix: Matrix, floor: float) -> Cuts:
    excess = matrix - np.diagonal(matrix)[:, None]
    np.fill_diagonal(excess, -1.0)
    rows, others = np.nonzero(excess > floor)
    cuts = np.column_stack([rows, others, np.full(len(rows), NO_ROW)]).astype(np.int32)
    return cuts[_largest(excess[rows, others], PAIRS_PER_ROW * len(matrix))]


def _largest(numbers: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """Return the indices of the largest numbers, at most so many; of equal ones the first."""
    return np.argsort(-numbers, kind="stable")[:most]
