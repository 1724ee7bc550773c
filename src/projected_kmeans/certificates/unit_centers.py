"""From a bound for means to a bound for centers of length one (metric "cosine").

Let Q be the sum of w |y|^2 over all rows, W the sum of their weights, and B a lower bound on the
inertia about means. Every clustering has, about centers of length one,

    inertia >= Q + W - 2 sqrt(W (Q - B)).

Proof. Let s_c be the sum of w y over cluster c, and W_c its weight. The best center of length one
is s_c / |s_c|, and about it the inertia is Q + W - 2 (sum of |s_c|). About means it is
Q - (sum of |s_c|^2 / W_c), which is at least B. By Cauchy and Schwarz, the square of the sum of
|s_c| is at most W times the sum of |s_c|^2 / W_c, which is at most W (Q - B).

For rows of length one Q = W, and the bound is W (2 - 2 sqrt(1 - B / W)), which is at least B. It is
as good as B where clusters are as dense as each other.

Rounding. Q is a sum of squares, wrong by at most the share gamma (`sum_error`). It is taken too
small in one place and too large in the other. The few operations that follow, and centers whose
length is 1 but for rounding, are covered by 32 roundings of Q + W.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.lower_bounds import LowerBound
from projected_kmeans.certificates.proof_rows import (
    ROUNDING,
    UNDERFLOW,
    scale_back,
    scale_weights,
    sum_error,
)
from projected_kmeans.results import Floats


def to_unit_centers(bound: LowerBound, rows: Any, weights: Floats | None = None) -> LowerBound:
    """Return what a bound proves about centers of length one.

    Better labels are left out, because they are better about means.

    Parameters
    ----------
    bound : LowerBound
        For these rows and weights.
    rows : ndarray or CSR (n, d)
        Rows of length one, or zeros.
    weights : ndarray of float64 (n,) or None
        None counts every row once.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> proven = to_unit_centers(LowerBound(1.0, "spectral", True, 1.0, 0.0), rows)
    >>> round(proven.value, 9) == round(4 - 8**0.5, 9)
    True
    """
    shares, exponent = scale_weights(weights, rows.shape[0])
    squares = math.fsum(
        float(multiply(shares[block.span], _square_rows(block.rows))) for block in open_blocks(rows)
    )
    weight, error = math.fsum(shares), sum_error(sum(rows.shape) + 8)

    def convert(value: float) -> float:
        known = math.ldexp(value, -exponent)
        most = max(0.0, squares * (1 + error) - known)
        least = squares * (1 - error) + weight - 2 * math.sqrt(weight * most)
        least -= 32 * ROUNDING * (squares + weight) + UNDERFLOW
        return max(value, scale_back(least, 0.0, exponent))

    values = {name: convert(value) for name, value in bound.values.items()}
    trace = tuple((seconds, convert(value)) for seconds, value in bound.trace)
    return replace(
        bound, value=convert(bound.value), values=values, better_labels=None, trace=trace
    )


def _square_rows(rows: Any) -> Floats:
    """Return the squared length of every row."""
    is_sparse: bool = scipy.sparse.issparse(rows)
    if is_sparse:
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    wide = np.asarray(rows, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", wide, wide))
