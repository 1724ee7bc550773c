"""SCORE: sparse rows in a power-of-two unit, ready for proofs, with the errors of their products.

Centres products and never rows, which would make them dense; it does not bound anything itself.

With S the weighted sum of squared norms about zero, every product here is off by gamma S at most in
the Frobenius norm, and so is each of the three terms that centre it: by Cauchy and Schwarz, means
of |y| have squares of no more than the mean of y^2. Sixteen gamma S pay for all, and for the few
operations in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.proof_rows import (
    STRETCH_ROWS,
    UNDERFLOW,
    Gram,
    bound_half_squares,
    never_stop,
    scale_back,
    scale_weights,
    sum_error,
)
from projected_kmeans.results import Floats


class SparseProofRows:
    """CSR rows y = x 2^-e in float64, the largest number from 1/2 to 1.

    Parameters
    ----------
    rows : CSR matrix or array (n, d)
        Canonical, of float32 or float64.
    weights : ndarray of float64 (n,) or None
        Not negative; None counts every row once.
    check : callable, optional
        Called between parts of every product; may raise to end it.

    Attributes
    ----------
    weights : ndarray of float64 (n,)
        In a power-of-two unit, the largest from 1/2 to 1; ones where none were given.
    is_weighted : bool
        Whether weights were given.
    shape : (int, int)
        Rows and columns.
    squares : float
        At least the sum of w ||y - mean||^2.
    reach : float
        At least the largest ||y - mean||^2, plus their mean.
    """

    def __init__(
        self, rows: Any, weights: Floats | None = None, check: Callable[[], None] = never_stop
    ) -> None:
        check()
        scan_columns(open_blocks(rows))
        self._check = check
        self.shape: tuple[int, int] = (int(rows.shape[0]), int(rows.shape[1]))
        self.is_weighted = weights is not None
        self.weights, self._weight_exponent = scale_weights(weights, self.shape[0])
        self._total_weight = math.fsum(self.weights)
        self._exponent = _exponent_of(rows)
        data = np.ldexp(rows.data.astype(np.float64), -self._exponent)
        self._rows = scipy.sparse.csr_array((data, rows.indices, rows.indptr), shape=self.shape)
        self._turned = self._rows.T.tocsr()
        self._norms: Floats = np.asarray(self._rows.power(2).sum(axis=1), dtype=np.float64).ravel()
        self._error = 16 * sum_error(sum(self.shape))
        self._measure()

    def _measure(self) -> None:
        """Find the mean, and how far rows are from it at most."""
        self._mean = np.asarray(self._turned @ self.weights) / self._total_weight
        self._raw_squares = float(self.weights @ self._norms)
        raw_mean = self._raw_squares / self._total_weight
        center = float(self._mean @ self._mean)
        centred = self._raw_squares - self._total_weight * center
        self.squares = max(0.0, centred) + self._error * self._raw_squares
        from_mean = self._norms - 2 * (self._rows @ self._mean) + center
        margins = self._error * (np.sqrt(self._norms) + math.sqrt(raw_mean)) ** 2
        farthest = float(np.max(np.maximum(from_mean, 0.0) + margins))
        self.reach = farthest + self.squares / self._total_weight + UNDERFLOW

    def gram(self) -> Gram:
        """Return the smaller Gram matrix about the mean, from sparse products."""
        n_rows, n_columns = self.shape
        if n_rows < n_columns:
            matrix = self._multiply(self._rows, self._turned)
            sides = matrix @ self.weights / self._total_weight
            matrix -= sides[:, None]
            matrix -= sides
            matrix += float(self.weights @ sides) / self._total_weight
            roots = np.sqrt(self.weights)
            matrix *= roots[:, None]
            matrix *= roots
        else:
            weighted = self._turned.multiply(self.weights[None]).tocsr()
            matrix = self._multiply(weighted, self._rows)
            matrix -= np.outer(self._total_weight * self._mean, self._mean)
        error = self._error * self._raw_squares
        return Gram(matrix, error, error)

    def walk_half_squares(self) -> Iterator[Floats]:
        """Walk over stretches of rows: half their squared distances to all, none of them above."""
        n_terms = int(np.diff(self._rows.indptr).max(initial=0))
        for first in range(0, self.shape[0], STRETCH_ROWS):
            self._check()
            some = self._rows[first : first + STRETCH_ROWS]
            products = np.asarray((some @ self._turned).toarray(), dtype=np.float64)
            yield bound_half_squares(products, self._norms, first, n_terms)

    def take(self, indices: NDArray[np.int64]) -> SparseProofRows:
        """Return some rows, each counted once."""
        some = self._rows[indices]
        some.data = np.ldexp(some.data, self._exponent)
        return SparseProofRows(some, check=self._check)

    def _multiply(self, left: Any, right: Any) -> Floats:
        """Return a product of sparse matrices as an array, in stretches of rows."""
        product = np.empty((left.shape[0], right.shape[1]))
        for first in range(0, len(product), STRETCH_ROWS):
            self._check()
            some = slice(first, first + STRETCH_ROWS)
            product[some] = (left[some] @ right).toarray()
        return product

    @property
    def unit(self) -> float:
        """What a squared distance of 1 between rows y is between rows x."""
        return math.ldexp(1.0, 2 * self._exponent)

    @property
    def original_weight(self) -> float:
        """The sum of the weights as they were given."""
        return math.ldexp(self._total_weight, self._weight_exponent)

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded downwards.

        A power of two moves no row but by underflow.
        """
        return scale_back(bound, UNDERFLOW, 2 * self._exponent + self._weight_exponent)


def _exponent_of(rows: Any) -> int:
    """Return the exponent of the largest number, if squares of all can be added up."""
    largest = float(np.max(np.abs(rows.data), initial=0.0))
    n_entries = rows.shape[0] * rows.shape[1]
    if largest > math.sqrt(1e300 / (4 * n_entries)):
        raise ValueError(
            f"X reaches {largest:.3g}, so that sums of squares overflow float64; "
            "divide X by a large constant"
        )
    return math.frexp(largest)[1]
