"""SCORE: rows about their mean and in a power-of-two unit, with all that rounding did to them.

Prepares rows for proofs; it does not bound anything itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from projected_kmeans.results import Floats

BLOCK_ENTRIES = 2**21
STRETCH_PRODUCTS = 2**31


class DenseProofRows:
    """Rows y = (x - mean) 2^-e in float64, block by block, with weights of at most 1.

    The least inertia of the rows y is that of the rows x, but for the unit and for rounding:
    its square root is a distance to a set of matrices, so it moves by at most the norm of what
    rounding did to the rows (see `to_original`).

    Parameters
    ----------
    rows : ndarray (n, d)
        Of a type that kernels read.
    weights : ndarray of float64 (n,) or None
        Not negative; None counts every row once.
    check : callable, optional
        Called at every block of every walk over the rows; may raise to end it.

    Attributes
    ----------
    weights : ndarray of float64 (n,)
        In a power-of-two unit, the largest from 1/2 to 1; ones where none were given.
    is_weighted : bool
        Whether weights were given.
    shape : (int, int)
        Rows and columns.
    squares : float
        Sum of w ||y||^2.
    drift : float
        At least ||sum of w y||^2 / sum of w, which exact centring would make zero.
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
        # The mean of numbers in a range lies in it; clipping keeps rounding from leaving it.
        self._first = np.clip(self._mean(), ranges.minimum, ranges.maximum)
        reach = np.maximum(ranges.maximum - self._first, self._first - ranges.minimum).max()
        self._exponent = int(np.frexp(reach)[1])
        self._second = self._mean()
        self._measure()

    def _mean(self) -> Floats:
        """Return the mean of the rows as they stand, about as exact as float64 allows."""
        sums = np.zeros(self.shape[1])
        for block in self:
            sums += self.weights[block.span] @ block.rows
        return sums / self._total_weight

    def _measure(self) -> None:
        squares, sums, sizes = [], np.zeros(self.shape[1]), np.zeros(self.shape[1])
        self._largest = 0.0
        for block in self:
            weights = self.weights[block.span]
            norms = np.einsum("ij,ij->i", block.rows, block.rows)
            squares.append(float(weights @ norms))
            sums += weights @ block.rows
            sizes += weights @ np.abs(block.rows)
            self._largest = max(self._largest, float(norms.max()))
        self.squares = math.fsum(squares)
        self._largest *= 1 + sum_error(self.shape[1])
        drift = np.abs(sums) + sum_error(self.shape[0]) * sizes
        self.drift = float(drift @ drift) / self._total_weight * (1 + sum_error(self.shape[1]))

    def __iter__(self) -> Iterator[Block]:
        """Walk over the rows y."""
        for block in self._source:
            self._check()
            moved = np.ldexp(block.rows - self._first, -self._exponent)
            yield Block(block.start, moved - self._second)

    def gram(self) -> Gram:
        """Return the smaller Gram matrix: of rows at once, of columns block by block.

        The products add gamma ||Y||^2 to the Frobenius norm, and to the trace; twice that is told.
        """
        n_rows, n_columns = self.shape
        roots = np.sqrt(self.weights)[:, None]
        matrix = np.zeros((min(self.shape),) * 2)
        if n_rows < n_columns:
            rows = roots * self._take_all()
            for first in range(0, n_rows, STRETCH_ROWS):
                self._check()
                some = slice(first, first + STRETCH_ROWS)
                np.matmul(rows[some], rows.T, out=matrix[some])
        else:
            for block in self:
                part = roots[block.span] * block.rows
                matrix += part.T @ part
        error = 2 * sum_error(n_rows + n_columns) * float(np.trace(matrix))
        return Gram(matrix, error, self.drift + error)

    def walk_half_squares(self) -> Iterator[Floats]:
        """Walk over stretches of rows: half their squared distances to all, none of them above."""
        rows = self._take_all()
        n_rows, n_columns = self.shape
        squares = np.einsum("ij,ij->i", rows, rows)
        length = min(STRETCH_ROWS, max(64, STRETCH_PRODUCTS // (n_rows * n_columns)))
        for first in range(0, n_rows, length):
            self._check()
            products = rows[first : first + length] @ rows.T
            yield bound_half_squares(products, squares, first, n_columns)

    def take(self, indices: NDArray[np.int64]) -> DenseProofRows:
        """Return some rows, each counted once."""
        return DenseProofRows(self._source.select(indices), check=self._check)

    def _take_all(self) -> Floats:
        return np.concatenate([block.rows for block in self])

    @property
    def reach(self) -> float:
        """At least the largest squared distance of a row from the mean, plus their mean."""
        drift = math.sqrt(self.drift / self._total_weight)
        return (math.sqrt(self._largest) + drift) ** 2 + self.squares / self._total_weight

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

        Each of the two subtractions moves a row by ROUNDING times the norm of its result, and so
        does the root of a weight that multiplies it.
        """
        second = math.sqrt(self._total_weight * float(np.sum(np.square(self._second))))
        moved = 8 * ROUNDING * (math.sqrt(self.squares) + second) + UNDERFLOW
        return scale_back(bound, moved, 2 * self._exponent + self._weight_exponent)
