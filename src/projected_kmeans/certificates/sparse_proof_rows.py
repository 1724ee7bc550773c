"""Sparse rows for proofs: scaled by a power of two, with bounds on the errors of their products.

Rows are not centred, because that would make them dense. Products of rows are centred instead.

Rounding: let S be the weighted sum of ||y||^2 and gamma = `sum_error`. Every product of matrices
here is wrong by at most gamma S in the Frobenius norm. So is each of the three terms that centre a
product, because the square of a mean of |y| is at most the mean of y^2 (Cauchy-Schwarz). 16 gamma S
covers these four errors and the few operations in between.

Prepares rows; the bounds stand in their own modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blas_threads import multiply
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
from projected_kmeans.certificates.row_fingerprint import fingerprint_rows
from projected_kmeans.results import Floats


class SparseProofRows:
    """CSR rows y = x 2^-e in float64, whose largest absolute value lies in [1/2, 1).

    Parameters
    ----------
    rows : CSR matrix or array (n, d)
        In canonical form, of float32 or float64.
    weights : ndarray of float64 (n,) or None
        Not negative; None counts every row once.
    check : callable, optional
        Called between the parts of every product; may raise to stop it.

    Attributes
    ----------
    weights : ndarray of float64 (n,)
        Scaled by a power of two so that the largest lies in [1/2, 1); ones if none were given.
    is_weighted : bool
        Whether weights were given.
    shape : (int, int)
        Rows and columns.
    squares : float
        An upper bound on the sum of w ||y - mean||^2.
    reach : float
        An upper bound on the largest ||y - mean||^2 plus the mean of all ||y - mean||^2.
    """

    def __init__(
        self, rows: Any, weights: Floats | None = None, check: Callable[[], None] = never_stop
    ) -> None:
        check()
        scan_columns(open_blocks(rows))
        self._check, self._given = check, rows
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
        """Set the mean, `squares` and `reach`."""
        self._mean = np.asarray(self._turned @ self.weights) / self._total_weight
        self._raw_squares = float(multiply(self.weights, self._norms))
        raw_mean = self._raw_squares / self._total_weight
        center = float(multiply(self._mean, self._mean))
        centred = self._raw_squares - self._total_weight * center
        self.squares = max(0.0, centred) + self._error * self._raw_squares
        from_mean = self._norms - 2 * (self._rows @ self._mean) + center
        margins = self._error * (np.sqrt(self._norms) + math.sqrt(raw_mean)) ** 2
        farthest = float(np.max(np.maximum(from_mean, 0.0) + margins))
        self.reach = farthest + self.squares / self._total_weight + UNDERFLOW

    def fingerprint(self) -> int:
        """Return a number that follows from the content of the rows x and their weights."""
        weights = self.weights if self.is_weighted else None
        return fingerprint_rows(open_blocks(self._given), self.shape, weights, self._check)

    def gram(self) -> Gram:
        """Return the smaller Gram matrix of the centred rows, from sparse products."""
        n_rows, n_columns = self.shape
        if n_rows < n_columns:
            return self.row_gram()
        weighted = self._turned.multiply(self.weights[None]).tocsr()
        matrix = self._multiply(weighted, self._rows)
        matrix -= np.outer(self._total_weight * self._mean, self._mean)
        return self._describe(matrix)

    def row_gram(self) -> Gram:
        """Return the Gram matrix of the centred rows, whichever is smaller."""
        matrix = self._multiply(self._rows, self._turned)
        sides = multiply(matrix, self.weights) / self._total_weight
        matrix -= sides[:, None]
        matrix -= sides
        matrix += float(multiply(self.weights, sides)) / self._total_weight
        roots = np.sqrt(self.weights)
        matrix *= roots[:, None]
        matrix *= roots
        return self._describe(matrix)

    def _describe(self, matrix: Floats) -> Gram:
        error = self._error * self._raw_squares
        return Gram(matrix, error, error)

    def walk_half_squares(self) -> Iterator[Floats]:
        """Yield, for one stretch of rows after another, lower bounds on ||y_i - y_j||^2 / 2."""
        n_terms = int(np.diff(self._rows.indptr).max(initial=0))
        for first in range(0, self.shape[0], STRETCH_ROWS):
            self._check()
            some = self._rows[first : first + STRETCH_ROWS]
            products = np.asarray((some @ self._turned).toarray(), dtype=np.float64)
            yield bound_half_squares(products, self._norms, first, n_terms)

    def take(self, indices: NDArray[np.int64]) -> SparseProofRows:
        """Return some of the rows, each with weight 1."""
        some = self._rows[indices]
        some.data = np.ldexp(some.data, self._exponent)
        return SparseProofRows(some, check=self._check)

    def _multiply(self, left: Any, right: Any) -> Floats:
        """Return the product of two sparse matrices as an array, one stretch of rows at a time."""
        product = np.empty((left.shape[0], right.shape[1]))
        for first in range(0, len(product), STRETCH_ROWS):
            self._check()
            some = slice(first, first + STRETCH_ROWS)
            product[some] = (left[some] @ right).toarray()
        return product

    @property
    def unit(self) -> float:
        """The squared distance between rows x that corresponds to 1 between rows y."""
        return math.ldexp(1.0, 2 * self._exponent)

    @property
    def original_weight(self) -> float:
        """The sum of the weights as they were given."""
        return math.ldexp(self._total_weight, self._weight_exponent)

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded down.

        Scaling by a power of two is exact, except for underflow.
        """
        return scale_back(bound, UNDERFLOW, 2 * self._exponent + self._weight_exponent)


def _exponent_of(rows: Any) -> int:
    """Return e such that the largest |x| is below 2^e; refuse rows whose squares overflow."""
    largest = float(np.max(np.abs(rows.data), initial=0.0))
    n_entries = rows.shape[0] * rows.shape[1]
    if largest > math.sqrt(1e300 / (4 * n_entries)):
        raise ValueError(
            f"X reaches {largest:.3g}, so that sums of squares overflow float64; "
            "divide X by a large constant"
        )
    return math.frexp(largest)[1]
