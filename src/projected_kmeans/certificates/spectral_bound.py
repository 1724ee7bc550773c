"""SCORE: the spectral lower bound on the inertia of every clustering, with its rounding margin.

Uses all eigenvalues of an exact Gram matrix; it never takes a randomized one for them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.certificates.proof_rows import ROUNDING, UNDERFLOW, ProofRows
from projected_kmeans.results import Floats

# Rows or columns of the largest Gram matrix: 128 MB, and about 10 s for its eigenvalues.
SPECTRAL_LIMIT = 4096

# Eigenvalues of a matrix of this size, 8 ms, are timed to tell how long those of a larger one take.
# There are 10 operations a nanosecond here, 14 at size 2048 and 11 at 4096: the answer is too long
# rather than too short.
TIMED_SIZE = 384


def predict_seconds(size: int) -> float:
    """Return about how long the eigenvalues of a matrix of this size take here and now, at most.

    Nothing can stop them on their way. Their operations grow with the cube of the size.
    """
    matrix = np.add.outer(np.arange(TIMED_SIZE), np.arange(TIMED_SIZE)) % 7.0
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        _eigenvalues(matrix)
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[1] * max(1.0, size / TIMED_SIZE) ** 3


def spectral_bound(rows: ProofRows, n_clusters: int) -> float:
    """Return ||Y||^2 minus the k - 1 largest squared singular values of the centred rows Y.

    Parameters
    ----------
    rows : ProofRows
        At most `SPECTRAL_LIMIT` rows or columns.
    n_clusters : int
        k.

    Returns
    -------
    float
        For the rows y, before `ProofRows.to_original`; may be negative.
    """
    return spectral_bounds(rows, [n_clusters])[0]


def spectral_bounds(rows: ProofRows, counts: Sequence[int]) -> list[float]:
    """Return the same for several numbers of clusters, from one decomposition.

    A clustering projects Y to k dimensions, one of them the mean, which is zero: what it keeps is
    at most what the best k - 1 dimensions keep, and its inertia is the rest. (The paper's
    Proposition 1 is the same without centring and with k dimensions: never more.)

    The margin: the computed eigenvalues are exact for G + E, where the Frobenius norm of E is what
    the Gram matrix itself is off by, and the N Householder steps of eigvalsh, each of at most 10 N
    roundings, add 10 N^2 u ||G||_F (Higham 2002, lemma 19.3). The k - 1 largest sum up to more by
    at most sqrt(k - 1) ||E||_F.
    """
    gram = rows.gram()
    size, total = len(gram.matrix), float(np.trace(gram.matrix))
    eigenvalues = np.maximum(_eigenvalues(gram.matrix), 0.0)
    backward = 10 * size**2 * ROUNDING * float(np.linalg.norm(gram.matrix))
    bounds = []
    for count in counts:
        kept = min(count - 1, size)
        margin = gram.loss + math.sqrt(kept) * (gram.error + backward) + UNDERFLOW
        bounds.append(total - math.fsum(eigenvalues[size - kept :]) - margin)
    return bounds


def _eigenvalues(matrix: Floats) -> Floats:
    # Half of the work is bound by memory: threads gain little, and where cores are shared they wait
    # for one another a hundred times as long as the work takes.
    with one_blas_thread():
        return np.asarray(np.linalg.eigvalsh(matrix))
