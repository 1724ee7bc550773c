"""Dense rows for proofs: centred, scaled by a power of two, with a record of the rounding errors.

Rows are centred twice. The first subtraction removes an approximate mean; the second removes the
mean of what is left, which is tiny. What still remains of the mean is measured as `drift`.

Prepares rows; the bounds stand in their own modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply, multiply_by_transpose, multiply_rows
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.certificates.proof_rows import (
    ROUNDING,
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

# Numbers in one block of rows: 16 MB.
BLOCK_ENTRIES = 2**21
# Multiplications per stretch of distances, about 1 s: with many columns a stretch has fewer rows.
STRETCH_PRODUCTS = 2**31


class DenseProofRows:
    """Rows y = (x - mean) 2^-e in float64, computed block by block, with weights of at most 1.

    Without rounding, the minimum inertia of the rows y would be that of the rows x times a power of
    two. `to_original` accounts for the rounding.

    Parameters
    ----------
    rows : ndarray (n, d)
        Of an element type that the kernels accept.
    weights : ndarray of float64 (n,) or None
        Not negative; None counts every row once.
    check : callable, optional
        Called before every block of every walk over the rows; may raise to stop it.

    Attributes
    ----------
    weights : ndarray of float64 (n,)
        Scaled by a power of two so that the largest lies in [1/2, 1); ones if none were given.
    is_weighted : bool
        Whether weights were given.
    shape : (int, int)
        Rows and columns.
    squares : float
        Sum of w ||y||^2.
    drift : float
        An upper bound on ||sum of w y||^2 / sum of w, which would be 0 without rounding.
    """

    def __init__(
        self,
        rows: NDArray[Any],
        weights: Floats | None = None,
        check: Callable[[], None] = never_stop,
    ) -> None:
        self._check = check
        self._source = ArrayBlocks(rows, max(1, BLOCK_ENTRIES // rows.shape[1]))
        self.shape = self._source.shape
        self.is_weighted = weights is not None
        self.weights, self._weight_exponent = scale_weights(weights, len(rows))
        self._total_weight = math.fsum(self.weights)
        ranges = scan_columns(self._source, on_block=lambda done: check())
        self._exponent = 0
        self._first = self._second = np.zeros(self.shape[1])
        # The exact mean of a column lies within its range. Clipping keeps a rounded one there.
        self._first = np.clip(self._mean(), ranges.minimum, ranges.maximum)
        reach = np.maximum(ranges.maximum - self._first, self._first - ranges.minimum).max()
        self._exponent = int(np.frexp(reach)[1])
        self._second = self._mean()
        self._measure()

    def _mean(self) -> Floats:
        """Return the mean of the rows with the present shift and exponent."""
        sums = np.zeros(self.shape[1])
        for block in self:
            sums += multiply(self.weights[block.span], block.rows)
        return sums / self._total_weight

    def _measure(self) -> None:
        """Set `squares`, `drift` and the largest squared norm, the last two rounded up."""
        squares, sums, sizes = [], np.zeros(self.shape[1]), np.zeros(self.shape[1])
        self._largest = 0.0
        for block in self:
            weights = self.weights[block.span]
            norms = np.einsum("ij,ij->i", block.rows, block.rows)
            squares.append(float(multiply(weights, norms)))
            sums += multiply(weights, block.rows)
            sizes += multiply(weights, np.abs(block.rows))
            self._largest = max(self._largest, float(norms.max()))
        self.squares = math.fsum(squares)
        self._largest *= 1 + sum_error(self.shape[1])
        drift = np.abs(sums) + sum_error(self.shape[0]) * sizes
        self.drift = math.fsum(drift * drift) / self._total_weight * (1 + sum_error(self.shape[1]))

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks of rows y."""
        for block in self._source:
            self._check()
            moved = np.ldexp(block.rows - self._first, -self._exponent)
            yield Block(block.start, moved - self._second)

    def fingerprint(self) -> int:
        """Return a number that follows from the content of the rows x and their weights."""
        weights = self.weights if self.is_weighted else None
        return fingerprint_rows(self._source, self.shape, weights, self._check)

    def gram(self) -> Gram:
        """Return the smaller Gram matrix.

        Rounding changes the matrix by at most gamma ||Y||^2 in the Frobenius norm, and its trace by
        at most as much. The reported error is twice that.
        """
        n_rows, n_columns = self.shape
        if n_rows < n_columns:
            return self.row_gram()
        roots = np.sqrt(self.weights)[:, None]
        matrix = np.zeros((n_columns, n_columns))
        for block in self:
            part = roots[block.span] * block.rows
            matrix += multiply_by_transpose(part.T, _native.max_threads())
        return self._describe(matrix)

    def row_gram(self) -> Gram:
        """Return the Gram matrix of the rows, whichever is smaller."""
        n_rows = self.shape[0]
        matrix = np.empty((n_rows, n_rows))
        rows = np.sqrt(self.weights)[:, None] * self._take_all()
        for first in range(0, n_rows, STRETCH_ROWS):
            self._check()
            some = slice(first, first + STRETCH_ROWS)
            matrix[some] = multiply_rows(rows[some], rows.T, _native.max_threads())
        return self._describe(matrix)

    def _describe(self, matrix: Floats) -> Gram:
        error = 2 * sum_error(sum(self.shape)) * float(np.trace(matrix))
        return Gram(matrix, error, self.drift + error)

    def walk_half_squares(self) -> Iterator[Floats]:
        """Yield, for one stretch of rows after another, lower bounds on ||y_i - y_j||^2 / 2."""
        rows = self._take_all()
        n_rows, n_columns = self.shape
        squares = np.einsum("ij,ij->i", rows, rows)
        length = min(STRETCH_ROWS, max(64, STRETCH_PRODUCTS // (n_rows * n_columns)))
        for first in range(0, n_rows, length):
            self._check()
            some = rows[first : first + length]
            products = multiply_rows(some, rows.T, _native.max_threads())
            yield bound_half_squares(products, squares, first, n_columns)

    def take(self, indices: NDArray[np.int64]) -> DenseProofRows:
        """Return some of the rows, each with weight 1."""
        return DenseProofRows(self._source.select(indices), check=self._check)

    def _take_all(self) -> Floats:
        return np.concatenate([block.rows for block in self])

    @property
    def reach(self) -> float:
        """An upper bound on the largest ||y - mean||^2 plus the mean of all ||y - mean||^2."""
        drift = math.sqrt(self.drift / self._total_weight)
        return (math.sqrt(self._largest) + drift) ** 2 + self.squares / self._total_weight

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

        Each of the two subtractions moves a row by at most `ROUNDING` times the norm of its result,
        and multiplying by the root of a weight moves it by a similar amount.
        """
        second = math.sqrt(self._total_weight * float(np.sum(np.square(self._second))))
        moved = 8 * ROUNDING * (math.sqrt(self.squares) + second) + UNDERFLOW
        return scale_back(bound, moved, 2 * self._exponent + self._weight_exponent)
