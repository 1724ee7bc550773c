"""The spectral bound: a lower bound on the inertia from the singular values of the rows.

Let Y be the centred rows, each multiplied by the root of its weight, with singular values s_1 >=
s_2 >= ... Then every clustering into k clusters has

    inertia >= ||Y||^2 - (s_1^2 + ... + s_{k-1}^2).

Proof. Replacing each row by the mean of its cluster is an orthogonal projection of Y to the space
spanned by the k cluster indicators, and the inertia is ||Y||^2 minus the squared norm of what the
projection keeps. One direction in this space is the vector of (rooted) weights, to which Y is
orthogonal because it is centred. The other k - 1 directions keep at most s_1^2 + ... + s_{k-1}^2.
(Proposition 1 of the paper says the same without centring and with k singular values; that bound is
never higher.)

Rounding. The squares of the singular values are the eigenvalues of the Gram matrix G. The computed
eigenvalues are the exact ones of G + E. The Frobenius norm of E is at most the rounding error of G
(`Gram.error`) plus 10 N^2 u ||G||_F for the N Householder steps of ``eigvalsh``, each of at most
10 N roundings (Higham 2002, lemma 19.3). Then the sum of the k - 1 largest eigenvalues is too small
by at most sqrt(k - 1) ||E||_F. The bound subtracts this, and what the trace of G is too large by.
All eigenvalues are computed, because a randomized or iterative method would give no such guarantee.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from projected_kmeans.blas_threads import strictly
from projected_kmeans.certificates.proof_rows import ROUNDING, UNDERFLOW, ProofRows
from projected_kmeans.results import Floats

# The largest Gram matrix: 4096 x 4096, 128 MB, and about 10 s for its eigenvalues.
SPECTRAL_LIMIT = 4096

# The eigenvalues of a matrix of this size take 8 ms. They are timed to predict the time of a larger
# matrix. Larger matrices run slightly faster per operation (10 operations per nanosecond at size
# 384, 14 at 2048, 11 at 4096), so that the prediction is too long rather than too short.
TIMED_SIZE = 384


def predict_seconds(size: int) -> float:
    """Predict how many seconds the eigenvalues of a matrix of this size take on this machine.

    The time grows with the cube of the size. A prediction is needed because LAPACK cannot be
    stopped once it has begun.
    """
    matrix = np.add.outer(np.arange(TIMED_SIZE), np.arange(TIMED_SIZE)) % 7.0
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        find_eigenvalues(matrix)
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[1] * max(1.0, size / TIMED_SIZE) ** 3


def spectral_bound(rows: ProofRows, n_clusters: int) -> float:
    """Return the spectral bound of the rows y, less its rounding margin; may be negative.

    There must be at most `SPECTRAL_LIMIT` rows or columns.
    """
    return spectral_bounds(rows, [n_clusters])[0]


def spectral_bounds(rows: ProofRows, counts: Sequence[int]) -> list[float]:
    """Return the spectral bound for each of several numbers of clusters, from one decomposition."""
    gram = rows.gram()
    size, total = len(gram.matrix), float(np.trace(gram.matrix))
    computed = find_eigenvalues(gram.matrix)
    eigenvalues = np.maximum(computed.values, 0.0)
    bounds = []
    for count in counts:
        kept = min(count - 1, size)
        margin = gram.loss + math.sqrt(kept) * (gram.error + computed.error) + UNDERFLOW
        bounds.append(total - math.fsum(eigenvalues[size - kept :]) - margin)
    return bounds


class Eigenvalues(NamedTuple):
    """The eigenvalues of a symmetric matrix as computed."""

    values: Floats  # ascending
    # At least the Frobenius norm of E, where the values are the exact ones of the matrix plus E.
    error: float


def find_eigenvalues(matrix: Floats) -> Eigenvalues:
    """Return all eigenvalues of the symmetric matrix that the lower half of a matrix gives."""
    # One thread, because half of the work is limited by memory and threads gain little. If other
    # programs share the cores, threads that wait for each other take 100 times as long.
    values = np.asarray(strictly(lambda: np.linalg.eigvalsh(matrix)))
    norm = math.sqrt(float(np.sum(matrix * matrix)))
    return Eigenvalues(values, 10 * len(matrix) ** 2 * ROUNDING * norm)
