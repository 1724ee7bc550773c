"""SCORE: the spectral lower bound on the inertia of every clustering, with its rounding margin.

Uses all eigenvalues of an exact Gram matrix; it never takes a randomized one for them.
"""

from __future__ import annotations

import math

import numpy as np
from threadpoolctl import threadpool_limits

from projected_kmeans.results import Floats
from projected_kmeans.rounded_rows import ROUNDING, UNDERFLOW, RoundedRows, sum_error

# Rows or columns of the largest Gram matrix: 128 MB, and about 10 s for its eigenvalues.
SPECTRAL_LIMIT = 4096


def spectral_bound(centred: RoundedRows, n_clusters: int) -> float:
    """Return ||Y||^2 minus the k - 1 largest squared singular values of the centred rows Y.

    A clustering projects Y to k dimensions, one of them the mean, which is zero: what it keeps is
    at most what the best k - 1 dimensions keep, and its inertia is the rest. (The paper's
    Proposition 1 is the same without centring and with k dimensions: never more.)

    The margin: the computed eigenvalues are exact for G + E, where the product that made G adds
    gamma ||Y||^2 to the Frobenius norm of E, and the N Householder steps of eigvalsh, each of at
    most 10 N roundings, add 10 N^2 u ||G||_F (Higham 2002, lemma 19.3). The k - 1 largest sum up
    to more by at most sqrt(k - 1) ||E||_F.

    Parameters
    ----------
    centred : RoundedRows
        At most `SPECTRAL_LIMIT` rows or columns.
    n_clusters : int
        k.

    Returns
    -------
    float
        For the rows y, before `RoundedRows.to_original`; may be negative.
    """
    gram = _multiply(centred)
    size = len(gram)
    kept = min(n_clusters - 1, size)
    # Half of the work is bound by memory: threads gain little, and where cores are shared they wait
    # for one another a hundred times as long as the work takes.
    with threadpool_limits(1, user_api="blas"):
        eigenvalues = np.linalg.eigvalsh(gram)
    largest = np.maximum(eigenvalues[size - kept :], 0.0)
    product = sum_error(sum(centred.shape)) * float(np.trace(gram))
    backward = 10 * size**2 * ROUNDING * float(np.linalg.norm(gram))
    margin = 2 * product + math.sqrt(kept) * (2 * product + backward) + UNDERFLOW
    return float(np.trace(gram)) - centred.drift - math.fsum(largest) - margin


def _multiply(centred: RoundedRows) -> Floats:
    """Return the smaller Gram matrix of the rows times the roots of their weights."""
    n_rows, n_columns = centred.shape
    roots = np.sqrt(centred.weights)[:, None]
    if n_rows < n_columns:
        rows = roots * centred.take_all()
        return np.asarray(rows @ rows.T)
    gram = np.zeros((n_columns, n_columns))
    for block in centred:
        rows = roots[block.span] * block.rows
        gram += rows.T @ rows
    return gram
