"""The step that all searches share: the nearest matrix X that a clustering could have.

X stands for the matrix Z of a clustering (`multipliers`), and keeps only some of what is true of Z:
X = q q^T + P with P q = 0, eigenvalues of P from 0 to 1, and trace k - 1. The P of the nearest such
X to a symmetric matrix has the matrix's eigenvectors, and its eigenvalues less a number, clipped to
[0, 1].

A search makes X and a matrix Z that meets the other demands agree, by the method of multipliers: a
*penalty* weighs their difference against the inertia, and the multipliers are what is proven.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from projected_kmeans.blas_threads import strictly
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.top_eigenpairs import (
    Eigenpairs,
    Matrix,
    TopEigenpairs,
)
from projected_kmeans.results import Floats, Labels

# Relaxation: a step goes this much farther than to X.
RELAXATION = np.float32(1.6)
# The penalty changes if one of the two residuals is more than this many times the other.
BALANCE_LIMIT = 1.5
# Numbers that are worked on at a time, so that they stay in the processor's cache: 256 kB.
STRETCH_ENTRIES = 2**16


class Diverged(Exception):
    """Raised if the numbers of a search have become too large for float32."""


class Factors(NamedTuple):
    """X without q q^T as a product: vectors times diag(values) times their transpose.

    Attributes
    ----------
    values : ndarray of float32 (m,)
        The eigenvalues above 0, descending.
    vectors : ndarray of float32 (n, m)
        Their eigenvectors, one a column.
    """

    values: Matrix
    vectors: Matrix


class PrimalStep:
    """Finds the nearest X, again and again.

    Parameters
    ----------
    bound : MatrixBound
        Of the part.
    degree : int
        Of the polynomials that find eigenpairs.

    Attributes
    ----------
    gram : ndarray of float32 (n, n)
        G divided by the penalty.
    penalty : float
        At first the mean of the k - 1 largest eigenvalues of G.
    """

    def __init__(self, bound: MatrixBound, degree: int) -> None:
        roots = bound.roots
        self._direction = (roots / np.sqrt(np.sum(roots * roots))).astype(np.float32)[:, None]
        self._rank = self._trace = bound.n_clusters - 1
        self._search = TopEigenpairs(len(roots), degree)
        self.gram = bound.gram.astype(np.float32)
        largest = self._decompose(self.gram).values[: self._trace]
        self.penalty = float(np.mean(np.maximum(largest, 0.0), dtype=np.float64))
        self._search = TopEigenpairs(len(roots), degree)  # other matrices have other eigenvalues
        if self.penalty > 0:
            self.gram /= np.float32(self.penalty)

    def project(self, matrix: Matrix) -> Factors:
        """Return the nearest X to a symmetric matrix; raise `Diverged` if it is not finite."""
        values, vectors = self._decompose(matrix)
        clipped = clip_to_sum(values.astype(np.float64), self._trace)
        self._rank = max(1, int(np.count_nonzero(clipped)))
        kept = slice(0, self._rank)
        return Factors(clipped[kept].astype(np.float32), vectors[:, kept])

    def write(self, factors: Factors, out: Matrix) -> None:
        """Write X into an array (n, n)."""
        right = np.hstack([self._direction, factors.vectors])
        left = np.hstack([self._direction, factors.vectors * factors.values])
        strictly(lambda: np.matmul(left, right.T, out=out))

    def rescale(self, factor: float) -> None:
        """Multiply the penalty by a factor."""
        self.penalty *= factor
        self.gram /= np.float32(factor)

    def _decompose(self, matrix: Matrix) -> Eigenpairs:
        """Return the largest eigenpairs of J times a matrix times J."""
        direction = self._direction

        def centre(vectors: Matrix) -> Matrix:
            return np.asarray(vectors - direction * (direction.T @ vectors))

        def multiply(vectors: Matrix) -> Matrix:
            return centre(matrix @ centre(vectors))

        def make_dense() -> Matrix:
            # q gets the lowest eigenvalue of all, because it is no eigenvector that X may use.
            side = matrix @ direction
            lowest = 1 + np.linalg.norm(matrix)
            side -= direction * ((direction.T @ side) - lowest) / 2
            return np.asarray(matrix - side * direction.T - direction * side.T)

        try:
            found = self._search.find(multiply, make_dense, self._rank)
        except np.linalg.LinAlgError:
            raise Diverged from None
        if not np.isfinite(found.values).all():
            raise Diverged
        return found


def clip_to_sum(values: Floats, total: float) -> Floats:
    """Return values less a number, clipped to [0, 1], so that they add up to a total.

    If there are fewer values than the total, all become 1.

    Examples
    --------
    >>> clip_to_sum(np.array([3.0, 0.5, 0.25]), 1.5)
    array([1.   , 0.375, 0.125])
    """
    points = np.sort(np.concatenate([values, values - 1]))[::-1]
    sums = np.clip(values - points[:, None], 0.0, 1.0).sum(axis=1)
    clipped: Floats = np.clip(values - np.interp(total, sums, points), 0.0, 1.0)
    return clipped


class Balance:
    """Chooses the penalty's factor, so that X - Z and the change of Z stay of the same size.

    Parameters
    ----------
    every : int
        The penalty changes after every so many steps at most.
    factor : float
        By which it is raised or lowered.
    """

    def __init__(self, every: int, factor: float) -> None:
        self._every, self._factor = every, factor

    def is_due(self, step: int) -> bool:
        """Return whether the penalty may change after a step."""
        return step % self._every == 0

    def choose_factor(self, primal: float, dual: float) -> float:
        """Return by what to multiply the penalty.

        Parameters
        ----------
        primal, dual : float
            The squared norm of X - Z, and that of the change of Z.
        """
        if max(primal, dual) <= BALANCE_LIMIT**2 * min(primal, dual):
            return 1.0
        return self._factor if primal > dual else 1 / self._factor


def clustering_matrix(labels: Labels, roots: Floats) -> Matrix:
    """Return the matrix Z of a clustering."""
    masses = np.bincount(labels, roots * roots)
    shares = (roots / np.sqrt(masses[labels])).astype(np.float32)
    together = labels[:, None] == labels
    return np.asarray(together * np.outer(shares, shares))


def stretches(n_rows: int) -> Iterator[slice]:
    """Yield spans of rows of an n x n matrix that fit in the processor's cache."""
    length = max(1, STRETCH_ENTRIES // n_rows)
    for first in range(0, n_rows, length):
        yield slice(first, first + length)


def sum_squares(array: Matrix) -> float:
    """Return the sum of squares."""
    return float(np.einsum("ij,ij->", array, array))


def only_finite(array: Matrix) -> Floats:
    """Return an array in float64, with 0 in place of what float32 could not hold."""
    return np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
