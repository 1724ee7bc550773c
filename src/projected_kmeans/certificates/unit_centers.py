"""From a bound for means to a bound for centers of length one (metric "cosine").

Let Q be the sum of w |y|^2 over all rows, W the sum of the weights of rows that are not zero, and B
a lower bound on the inertia about means. If all rows but those of zeros lie on one side of a plane
through the origin, every clustering has, about centers of length one,

    inertia >= Q + W - 2 sqrt(W (Q - B)).

Proof. Let s_c be the sum of w y over cluster c, and W_c its weight. The best center of length one
is s_c / |s_c|, and about it the cluster costs Q_c + W_c - 2 |s_c|. A cluster with s_c = 0 has the
center 0 and costs Q_c; because rows lie on one side of a plane, it has rows of zeros only. Let V be
the weight of all other clusters, which is at least W. Then the inertia is Q + V - 2 (sum of |s_c|).
About means it is Q - (sum of |s_c|^2 / W_c), which is at least B. By Cauchy and Schwarz, the square
of the sum of |s_c| is at most V (Q - B), and V - 2 sqrt(V (Q - B)) rises where V is above Q - B. So
V = W is the worst case. (Rows of length one have Q - B at most W. If rounding makes it larger, V =
Q - B is the worst case.)

For rows of length one Q = W, and the bound is W (2 - 2 sqrt(1 - B / W)), which is at least B. It is
as good as B where clusters are as dense as each other. If the rows are not on one side of a plane,
the bound is B: a cluster whose rows sum up to zero costs no more about 0 than about its mean.

Rounding. Q is a sum of squares, wrong by at most the share gamma (`sum_error`). It is taken too
small in one place and too large in the other. The few operations that follow are covered by 32
roundings of Q + W. A center of a fit has a length of 1 + e, because it is rounded. About it a
cluster costs at most 2 |e| |W_c - |s_c|| less than about a center of length one, and 2 |W_c -
|s_c|| is at most what the cluster costs, plus the sum of w ||y|^2 - 1|. Rows are on one side of a
plane if their products with its normal exceed `SAME_SIDE` of its length, far above rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.certificate import LowerBound
from projected_kmeans.certificates.proof_rows import (
    ROUNDING,
    UNDERFLOW,
    scale_back,
    scale_weights,
    sum_error,
)
from projected_kmeans.results import Floats

# A row is on one side of a plane if its cosine with the plane's normal is above this.
SAME_SIDE = 1e-6


def to_unit_centers(bound: LowerBound, rows: Any, weights: Floats | None = None) -> LowerBound:
    """Return what a bound for these rows of length one (or zeros) proves about unit centers.

    Better labels are left out, because they are better about means.
    """
    shares, exponent = scale_weights(weights, rows.shape[0])
    squares = np.concatenate([_square_rows(block.rows) for block in open_blocks(rows)])
    total = math.fsum(shares * squares)
    weight, error = math.fsum(shares[squares > 0]), sum_error(sum(rows.shape) + 8)
    uneven = math.fsum(shares * np.abs(squares - 1)) + error * total
    length_error = 2.0**-22 if rows.dtype == np.float32 else 2.0**-50
    if not _are_on_one_side(rows, squares > 0):
        return replace(bound, better_labels=None)

    def convert(value: float) -> float:
        known = math.ldexp(value, -exponent)
        most = max(0.0, total * (1 + error) - known)
        worst = max(weight, most)
        least = total * (1 - error) + worst - 2 * math.sqrt(worst * most)
        least -= 32 * ROUNDING * (total + worst) + UNDERFLOW
        least -= length_error * (abs(least) + uneven)
        return max(value, scale_back(least, 0.0, exponent))

    values = {name: convert(value) for name, value in bound.values.items()}
    trace = tuple((seconds, convert(value)) for seconds, value in bound.trace)
    return replace(
        bound, value=convert(bound.value), values=values, better_labels=None, trace=trace
    )


def _are_on_one_side(rows: Any, is_kept: NDArray[np.bool_]) -> bool:
    """Return whether all rows that are kept have a positive product with the sum of all rows."""
    normal = np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()
    length = math.sqrt(float(multiply(normal, normal)))
    products = np.concatenate([multiply(block.rows, normal) for block in open_blocks(rows)])
    return length > 0 and bool((products[is_kept] > SAME_SIDE * length).all())


def _square_rows(rows: Any) -> Floats:
    """Return the squared length of every row."""
    is_sparse: bool = scipy.sparse.issparse(rows)
    if is_sparse:
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    wide = np.asarray(rows, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", wide, wide))
