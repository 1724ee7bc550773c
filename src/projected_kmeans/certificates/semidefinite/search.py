"""The search for good multipliers: the method of multipliers, with cuts or without.

A search makes X (`primal_step`) and a matrix Z that meets the other demands agree. A *penalty*
weighs their difference against the inertia. Z is not negative; its multipliers are S. With *cuts*,
it meets all pair and triangle cuts found so far as well (`multipliers`). That is tighter and takes
several times as long, so that it is for parts of up to some 1,000 rows, and plain multipliers are
for up to some 2,000. With M = N / penalty, a step is

1. X <- the nearest matrix to Z + M + G / penalty,
2. Z <- 1.6 X - 0.6 Z, then three sweeps over the cuts and over Z >= 0, each of which moves Z to the
   nearest matrix that meets one demand, and the demand's multiplier with it (Hildreth),
3. M <- M plus the change of Z in the sweeps, which is again the sum of all multipliers.

Without cuts M is S / penalty, and one sweep is exact. `Search.tighten` drops cuts whose multiplier
is 0, adds those that X breaks most, and sums up M anew. Five float32 matrices of n x n are kept:
Z, S / penalty, M (only with cuts), G / penalty, and one for X and the matrix of the next step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.certificates.semidefinite.multipliers import NO_ROW, Multipliers
from projected_kmeans.certificates.semidefinite.primal_step import Eigenpairs, Matrix, PrimalStep
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.results import Floats, Labels

Cuts = NDArray[np.int32]

# Relaxation: a step goes this much farther than to X.
RELAXATION = np.float32(1.6)
# Of the polynomials that find eigenpairs, with cuts and without. With cuts and 1 or 2, some
# searches end too early; without cuts and 3, the same steps take a quarter longer.
CUT_DEGREE, PLAIN_DEGREE = 3, 2
# Sweeps over all demands in a step.
N_SWEEPS = 3
# How often the penalty may change, and by what, with cuts and without. The first steps are few, so
# it changes little without cuts. It changes if one of the two residuals is more than BALANCE_LIMIT
# times the other.
CUT_BALANCE, PLAIN_BALANCE = (5, 1.5), (10, 1.3)
BALANCE_LIMIT = 1.5
# Numbers that are worked on at a time, so that they stay in the processor's cache: 256 kB.
STRETCH_ENTRIES = 2**16

# Cuts count as broken from this share of the mean entry inside clusters on.
FLOOR = 1e-5
# New triangle and pair cuts for each row of the part at a time, and triangles of one row.
TRIANGLES_PER_ROW = 30
PAIRS_PER_ROW = 5
MOST_OF_ONE_ROW = 60


class Search:
    """The method as an object; every state of it gives multipliers.

    It starts from a clustering of a part into at least 2 clusters. ``factors`` is X after the last
    step.
    """

    def __init__(self, bound: MatrixBound, labels: Labels, *, cuts: bool) -> None:
        n_rows = len(bound.roots)
        self.factors: Eigenpairs | None = None
        self._has_cuts = cuts
        self._primal = PrimalStep(bound, CUT_DEGREE if cuts else PLAIN_DEGREE)
        self._balance_every, self._balance_factor = CUT_BALANCE if cuts else PLAIN_BALANCE
        self._scales = None if (bound.roots == 1).all() else 1 / bound.roots
        self._floor = FLOOR * bound.n_clusters / float(np.sum(bound.roots**2))
        self._roots = bound.roots
        self._state = clustering_matrix(labels, bound.roots)
        self._entries = np.zeros((n_rows, n_rows), np.float32)
        self._sum = np.zeros((n_rows, n_rows), np.float32) if cuts else self._entries
        self._cuts, self._values = np.empty((0, 3), np.int32), np.empty(0, np.float32)
        self._matrix = np.empty_like(self._state)
        self._make_matrix()
        self._n_steps = 0

    def step(self) -> None:
        """Make one step; raise `Diverged` if numbers become too large for float32."""
        self._n_steps += 1
        self.factors = self._primal.project(self._matrix)
        self._primal.write(self.factors, self._matrix)
        is_due = self._n_steps % self._balance_every == 0
        before = self._state.copy() if is_due else None
        for span in _stretches(len(self._state)):
            state = self._state[span]
            if self._has_cuts:
                state *= 1 - RELAXATION
                state += RELAXATION * self._matrix[span]
                self._sum[span] -= state
            else:  # the same with other roundings: Z or S is 0 at every entry
                state += RELAXATION * (self._matrix[span] - state)
        for _ in range(N_SWEEPS if len(self._cuts) else 1):
            self._sweep()
        if self._has_cuts:
            for span in _stretches(len(self._state)):
                self._sum[span] += self._state[span]
        if before is not None:
            before -= self._state
            self._matrix -= self._state
            self._balance(_sum_squares(self._matrix), _sum_squares(before))
        self._make_matrix()

    def restart(self, labels: Labels) -> None:
        """Go on from the matrix of a clustering, with the multipliers found so far."""
        self._state = clustering_matrix(labels, self._roots)
        self._make_matrix()

    def tighten(self) -> None:
        """Drop cuts that do nothing and add those that X breaks most."""
        if self.factors is None or not self._has_cuts:
            return
        matrix, scales = np.empty_like(self._state), self._scales
        self._primal.write(self.factors, matrix)
        if scales is not None:
            matrix = (matrix * scales * scales[:, None]).astype(np.float32)
        new = find_cuts(matrix, self._floor)
        self._cuts, self._values = merge_cuts(self._cuts, self._values, new, len(matrix))
        # In float32, steps have moved M away from the sum of the multipliers.
        self._sum[:] = self._scaled_multipliers(1.0).matrix(self._roots).matrix
        self._make_matrix()

    def multipliers(self) -> Multipliers:
        """Return the multipliers of the present state."""
        return self._scaled_multipliers(self._primal.penalty)

    def _scaled_multipliers(self, factor: float) -> Multipliers:
        entries, values = only_finite(self._entries), only_finite(self._values)
        return Multipliers(entries * factor, self._cuts, values * factor)

    def _sweep(self) -> None:
        """Move Z to meet each demand in turn, and the demand's multiplier with it."""
        _native.sweep_cuts(self._cuts, self._scales, self._state, self._values)
        for span in _stretches(len(self._state)):
            lower = np.minimum(self._state[span], self._entries[span])
            self._state[span] -= lower
            self._entries[span] -= lower

    def _make_matrix(self) -> None:
        """Make the matrix from which the next step begins."""
        for span in _stretches(len(self._state)):
            np.add(self._state[span], self._sum[span], out=self._matrix[span])
            self._matrix[span] += self._primal.gram[span]

    def _balance(self, primal: float, dual: float) -> None:
        """Change the penalty so that X - Z and the change of Z, given squared, stay alike."""
        if max(primal, dual) <= BALANCE_LIMIT**2 * min(primal, dual):
            return
        factor = self._balance_factor if primal > dual else 1 / self._balance_factor
        self._primal.rescale(factor)
        for numbers in (self._entries, self._values, *((self._sum,) if self._has_cuts else ())):
            numbers /= np.float32(factor)


def clustering_matrix(labels: Labels, roots: Floats) -> Matrix:
    """Return the matrix Z of a clustering."""
    masses = np.bincount(labels, roots * roots)
    shares = (roots / np.sqrt(masses[labels])).astype(np.float32)
    together = labels[:, None] == labels
    return np.asarray(together * np.outer(shares, shares))


def only_finite(array: Matrix) -> Floats:
    """Return an array in float64, with 0 in place of what float32 could not hold."""
    return np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def _stretches(n_rows: int) -> Iterator[slice]:
    """Yield spans of rows of an n x n matrix that fit in the processor's cache."""
    length = max(1, STRETCH_ENTRIES // n_rows)
    for first in range(0, n_rows, length):
        yield slice(first, first + length)


def _sum_squares(array: Matrix) -> float:
    return float(np.einsum("ij,ij->", array, array))


def find_cuts(matrix: Matrix, floor: float) -> Cuts:
    """Return the cuts that a matrix breaks most, by more than the floor.

    The matrix is U in the words of `multipliers`; without weights, Z.
    """
    return np.concatenate([_find_pairs(matrix, floor), _find_triangles(matrix, floor)])


def merge_cuts(
    cuts: Cuts, values: NDArray[np.float32], new: Cuts, n_rows: int
) -> tuple[Cuts, NDArray[np.float32]]:
    """Return cuts whose multiplier is above 0 and new ones, whose multiplier is 0, each once.

    They are in ascending order of their rows, because a sweep then reads the matrix row by row.
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
