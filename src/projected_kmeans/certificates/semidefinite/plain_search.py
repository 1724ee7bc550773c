"""Multipliers without cuts: N = S with S >= 0, for parts of up to some 2,000 rows.

The method of multipliers for X (`primal_step`) and a matrix Z >= 0. Because Z S = 0 entry by entry,
one matrix R = Z - S / penalty holds both: Z = max(R, 0) and S / penalty = max(-R, 0). A step is

1. X <- the nearest matrix to |R| + G / penalty,
2. R <- R + 1.6 (X - max(R, 0)).

Three float32 matrices of n x n are kept: R, G / penalty, and one for X and what is next made of R.
"""

from __future__ import annotations

import numpy as np

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
from projected_kmeans.results import Labels

# Of the polynomials that find eigenpairs. With 3 the same steps take a quarter longer.
DEGREE = 2
# How often the penalty may change, and by what. The first steps are few, so it changes little.
BALANCE_EVERY = 10
BALANCE_FACTOR = 1.3


class PlainSearch:
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
        self.factors: Factors | None = None
        self._primal = PrimalStep(bound, DEGREE)
        self._roots = bound.roots
        self._state = clustering_matrix(labels, bound.roots)
        self._matrix = np.empty_like(self._state)
        self._make_matrix()
        self._balance = Balance(BALANCE_EVERY, BALANCE_FACTOR)
        self._n_steps = 0

    def step(self) -> None:
        """Make one step."""
        self._n_steps += 1
        self.factors = self._primal.project(self._matrix)
        self._primal.write(self.factors, self._matrix)
        primal = dual = 0.0
        is_due = self._balance.is_due(self._n_steps)
        for span in stretches(len(self._state)):
            state, matrix = self._state[span], self._matrix[span]
            before = np.maximum(state, 0)
            found = matrix.copy() if is_due else None
            matrix -= before
            matrix *= RELAXATION
            state += matrix
            if found is not None:
                after = np.maximum(state, 0)
                primal += sum_squares(found - after)
                dual += sum_squares(after - before)
        if is_due:
            self._rescale(self._balance.choose_factor(primal, dual))
        self._make_matrix()

    def restart(self, labels: Labels) -> None:
        """Go on from the matrix of a clustering, with the multipliers between its clusters."""
        given = clustering_matrix(labels, self._roots)
        self._state = np.where(given > 0, given, np.minimum(self._state, 0))
        self._make_matrix()

    def tighten(self) -> None:
        """Do nothing; other searches look for cuts here."""

    def multipliers(self) -> Multipliers:
        """Return the multipliers of the present state."""
        entries = only_finite(np.maximum(-self._state, 0)) * self._primal.penalty
        return Multipliers(entries, np.empty((0, 3), np.int32), np.empty(0))

    def _make_matrix(self) -> None:
        """Make the matrix from which the next step begins."""
        for span in stretches(len(self._state)):
            np.abs(self._state[span], out=self._matrix[span])
            self._matrix[span] += self._primal.gram[span]

    def _rescale(self, factor: float) -> None:
        if factor == 1:
            return
        self._primal.rescale(factor)
        for span in stretches(len(self._state)):
            state = self._state[span]
            np.divide(state, np.float32(factor), out=state, where=state < 0)
