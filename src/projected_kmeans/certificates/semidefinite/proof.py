"""The check: the bound that given multipliers prove, with all rounding errors.

Let G be the Gram matrix of the rows y, each multiplied by the root of its weight, r the vector of
these roots, q = r / |r|, J = I - q q^T and A = G + N with N admissible (`multipliers`). Then every
clustering into at most k clusters has

    inertia >= tr G - q^T A q - sum over i < k of max(0, lambda_i(J A J)).

Proof. Let u_C be r restricted to the rows of a cluster C, divided by its length. The u_C are
orthonormal, and replacing each row by the mean of its cluster is the projection Z = sum of u_C
u_C^T. So inertia = tr G - <G, Z>, which is at least tr G - <A, Z> because <N, Z> >= 0. Z r = r, so
Z = q q^T + P with a projection P of rank at most k - 1 and P q = 0. Hence <A, Z> = q^T A q +
<J A J, P>, and the second term is at most the sum of those of the k - 1 largest eigenvalues that
are positive (Ky Fan).

For N = 0 this is `spectral_bound`. It is valid for every admissible N, so that no search has to
converge, and no eigenvalue has to be bounded from below.

Rounding. Let u be `ROUNDING` and norms be Frobenius norms.

- G and N as computed differ from G and an admissible N by at most `Gram.error` and
  `Admissible.error`, and tr G is too large by at most `Gram.loss`. Their sum adds u |A|.
- q^T A q is computed as r^T (A r) / r^T r, each a sum of n products, with roots that are wrong by a
  factor of 1 + u: by at most gamma |A|, where gamma = `sum_error` of 2 n + 24 terms.
- J (A - s r^T - r s^T) J = J A J for every vector s, and leaving out J on both sides lowers no
  eigenvalue. So what is decomposed is C = A - s r^T - r s^T, with s chosen as if there were no
  rounding. An inexact s costs nothing. The products and sums of an entry have 4 roundings, and
  inexact roots cost 2 u |s| |r|: together at most 16 u (|A| + |s| |r|).
- The eigenvalues are the exact ones of C plus a matrix whose norm `find_eigenvalues` bounds.
- An error matrix of norm e changes the sum of k - 1 eigenvalues by at most sqrt(k - 1) e.
"""

from __future__ import annotations

import math

import numpy as np

from projected_kmeans.blas_threads import strictly
from projected_kmeans.certificates.proof_rows import ROUNDING, UNDERFLOW, ProofRows, sum_error
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.spectral_bound import find_eigenvalues
from projected_kmeans.results import Floats

# Norms and other factors of margins are raised by this share, which covers their own rounding.
SLACK = 1 + 1e-8


class MatrixBound:
    """The Gram matrix of one part, for which `prove` checks multipliers.

    The rows have weights above 0; clusterings into fewer than k clusters count, too. The matrix
    takes 8 n^2 bytes, and a check twice as much.
    """

    def __init__(self, rows: ProofRows, n_clusters: int) -> None:
        self.gram, self._error, self._loss = rows.row_gram()
        self.roots: Floats = np.sqrt(rows.weights)
        self.n_clusters = n_clusters
        # The trace of G as computed: the inertia of one cluster.
        self.total = math.fsum(np.diagonal(self.gram))
        self._to_original = rows.to_original

    def prove(self, multipliers: Multipliers) -> float:
        """Return the bound for the rows y; minus infinity if the numbers are too large for float64.

        `to_original` turns it into a bound for the rows x.
        """
        if len(multipliers.entries) != len(self.gram):
            raise ValueError(
                f"multipliers are for {len(multipliers.entries)} rows and the part has "
                f"{len(self.gram)}; search on the same rows"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            bound = self._prove(multipliers)
        return bound if math.isfinite(bound) else -math.inf

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded down; at least 0."""
        return self._to_original(bound)

    def _prove(self, multipliers: Multipliers) -> float:
        matrix, error = multipliers.matrix(self.roots)
        matrix += self.gram
        size, norm = len(matrix), _length(matrix)
        if not math.isfinite(norm + error):
            return -math.inf
        share, side = self._split(matrix)
        error += self._error
        at_share = error + (ROUNDING + sum_error(2 * size + 24)) * norm
        error += 17 * ROUNDING * (norm + _length(side) * _length(self.roots))
        matrix -= np.outer(side, self.roots)
        matrix -= np.outer(self.roots, side)
        kept = min(self.n_clusters - 1, size)
        eigenvalues = find_eigenvalues(matrix)
        top = np.maximum(eigenvalues.values[size - kept :], 0.0)
        margin = self._loss + at_share + math.sqrt(kept) * (error + eigenvalues.error)
        terms = [self.total, -share, *(-top), -margin * SLACK, -UNDERFLOW]
        return math.fsum(terms) - 8 * ROUNDING * math.fsum(np.abs(terms))

    def _split(self, matrix: Floats) -> tuple[float, Floats]:
        """Return q^T A q, and s such that A - s r^T - r s^T has r as an eigenvector to 0."""
        roots = self.roots
        products = strictly(lambda: matrix @ roots)
        squares = math.fsum(roots * roots)
        share = math.fsum(products * roots) / squares
        return share, (products - share / 2 * roots) / squares


def _length(array: Floats) -> float:
    """Return the square root of the sum of squares."""
    return float(strictly(lambda: np.linalg.norm(array)))
