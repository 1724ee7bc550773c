"""Multipliers with pair and triangle cuts, for parts of up to some 1,000 rows.

The method of multipliers for X (`primal_step`) and a matrix Z that is not negative and meets all
cuts found so far. With M = N / penalty, a step is

1. X <- the nearest matrix to Z + M + G / penalty,
2. Z <- 1.6 X - 0.6 Z, then three sweeps over the cuts and over Z >= 0, each of which moves Z to the
   nearest matrix that meets one demand, and the demand's multiplier with it (Hildreth),
3. M <- M plus the change of Z in the sweeps, which is again the sum of all multipliers.

`tighten` drops cuts whose multiplier is 0, adds those that X breaks most, and sums up M anew. Five
float32 matrices of n x n are kept: Z, S / penalty, M, G / penalty, and one for X and the matrix of
the next step.
"""

from __future__ import annotations

import numpy as np

from projected_kmeans import _native
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.semidefinite.primal_step import (
    RELAXATION,
    Balance,
    Factors,
    PrimalStep,
    clustering_matrix,
    only_finite,
    stretches,
    sum_squares,
)
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.violated_cuts import find_cuts, merge_cuts
from projected_kmeans.results import Labels

# Of the polynomials that find eigenpairs. With 1 or 2 some searches end too early.
DEGREE = 3
# Sweeps over all demands in a step.
N_SWEEPS = 3
# Cuts count as broken from this share of the mean entry inside clusters on.
FLOOR = 1e-5

# How often the penalty may change, and by what.
BALANCE_EVERY = 5
BALANCE_FACTOR = 1.5


class CutSearch:
    """The method as an object; every state of it gives multipliers.

    Parameters
    ----------
    bound : MatrixBound
        Of the part; at least 2 clusters.
    labels : ndarray of int32 (n,)
        A clustering to start from.

    Attributes
    ----------
    factors : Factors or None
        X after the last step.
    """

    def __init__(self, bound: MatrixBound, labels: Labels) -> None:
        n_rows = len(bound.roots)
        self.factors: Factors | None = None
        self._primal = PrimalStep(bound, DEGREE)
        self._scales = None if (bound.roots == 1).all() else 1 / bound.roots
        self._floor = FLOOR * bound.n_clusters / float(np.sum(bound.roots**2))
        self._roots = bound.roots
        self._state = clustering_matrix(labels, bound.roots)
        self._entries = np.zeros((n_rows, n_rows), np.float32)
        self._sum = np.zeros((n_rows, n_rows), np.float32)
        self._cuts, self._values = np.empty((0, 3), np.int32), np.empty(0, np.float32)
        self._matrix = np.empty_like(self._state)
        self._make_matrix()
        self._balance = Balance(BALANCE_EVERY, BALANCE_FACTOR)
        self._n_steps = 0

    def step(self) -> None:
        """Make one step."""
        self._n_steps += 1
        self.factors = self._primal.project(self._matrix)
        self._primal.write(self.factors, self._matrix)
        before = self._state.copy() if self._balance.is_due(self._n_steps) else None
        for span in stretches(len(self._state)):
            state = self._state[span]
            state *= 1 - RELAXATION
            state += RELAXATION * self._matrix[span]
            self._sum[span] -= state
        for _ in range(N_SWEEPS if len(self._cuts) else 1):
            _native.sweep_cuts(self._cuts, self._scales, self._state, self._values)
            for span in stretches(len(self._state)):
                lower = np.minimum(self._state[span], self._entries[span])
                self._state[span] -= lower
                self._entries[span] -= lower
        for span in stretches(len(self._state)):
            self._sum[span] += self._state[span]
        if before is not None:
            before -= self._state
            self._matrix -= self._state
            self._rescale(
                self._balance.choose_factor(sum_squares(self._matrix), sum_squares(before))
            )
        self._make_matrix()

    def restart(self, labels: Labels) -> None:
        """Go on from the matrix of a clustering, with the multipliers found so far."""
        self._state = clustering_matrix(labels, self._roots)
        self._make_matrix()

    def tighten(self) -> None:
        """Drop cuts that do nothing and add those that X breaks most."""
        if self.factors is None:
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

    def _make_matrix(self) -> None:
        """Make the matrix from which the next step begins."""
        for span in stretches(len(self._state)):
            np.add(self._state[span], self._sum[span], out=self._matrix[span])
            self._matrix[span] += self._primal.gram[span]

    def _rescale(self, factor: float) -> None:
        if factor == 1:
            return
        self._primal.rescale(factor)
        for numbers in (self._sum, self._entries, self._values):
            numbers /= np.float32(factor)
