"""SCORE: rows about their mean and in a power-of-two unit, with all that rounding did to them.

Prepares rows for proofs; it does not bound anything itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks import ArrayBlocks, Block, scan_columns
from projected_kmeans.results import Floats

# Half the distance from 1 to the next float64: the relative error of one operation.
ROUNDING = 2.0**-53
# More than all underflow can add up to, as rows are scaled to reach 1.
UNDERFLOW = 1e-250
BLOCK_ENTRIES = 2**21


def sum_error(n_terms: int) -> float:
    """Return gamma, the relative error of a float64 sum of so many products in any order.

    Higham (2002), section 3.1: n u / (1 - n u); 8 terms more pay for what is done to the sum.
    """
    errors = (n_terms + 8) * ROUNDING
    return errors / (1 - errors)


class RoundedRows:
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

    Attributes
    ----------
    weights : ndarray of float64 (n,)
        In a power-of-two unit, the largest from 1/2 to 1; ones where none were given.
    total_weight, squares : float
        Sum of w and sum of w ||y||^2.
    drift : float
        At least ||sum of w y||^2 / sum of w, which exact centring would make zero.
    largest : float
        At least the largest ||y||^2.
    """

    def __init__(self, rows: NDArray[Any], weights: Floats | None = None) -> None:
        self._source = ArrayBlocks(rows, max(1, BLOCK_ENTRIES // rows.shape[1]))
        self.shape = self._source.shape
        self.is_weighted = weights is not None
        self._weight_exponent = 0
        if weights is None:
            self.weights = np.ones(len(rows))
        else:
            self._weight_exponent = int(np.frexp(weights.max())[1])
            self.weights = np.ldexp(weights, -self._weight_exponent)
        self.total_weight = math.fsum(self.weights)
        ranges = scan_columns(self._source)
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
        return sums / self.total_weight

    def _measure(self) -> None:
        squares, sums, sizes = [], np.zeros(self.shape[1]), np.zeros(self.shape[1])
        self.largest = 0.0
        for block in self:
            weights = self.weights[block.span]
            norms = np.einsum("ij,ij->i", block.rows, block.rows)
            squares.append(float(weights @ norms))
            sums += weights @ block.rows
            sizes += weights @ np.abs(block.rows)
            self.largest = max(self.largest, float(norms.max()))
        self.squares = math.fsum(squares)
        self.largest *= 1 + sum_error(self.shape[1])
        drift = np.abs(sums) + sum_error(self.shape[0]) * sizes
        self.drift = float(drift @ drift) / self.total_weight * (1 + sum_error(self.shape[1]))

    def __iter__(self) -> Iterator[Block]:
        """Walk over the rows y."""
        for block in self._source:
            moved = np.ldexp(block.rows - self._first, -self._exponent)
            yield Block(block.start, moved - self._second)

    def take_all(self) -> Floats:
        """Return all rows y in one array."""
        return np.concatenate([block.rows for block in self])

    @property
    def unit(self) -> float:
        """What a squared distance of 1 between rows y is between rows x."""
        return math.ldexp(1.0, 2 * self._exponent)

    @property
    def original_weight(self) -> float:
        """The sum of the weights as they were given."""
        return math.ldexp(self.total_weight, self._weight_exponent)

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded downwards.

        Each of the two subtractions moves a row by ROUNDING times the norm of its result, and so
        does the root of a weight that multiplies it.
        """
        second = math.sqrt(self.total_weight * float(np.sum(np.square(self._second))))
        moved = 8 * ROUNDING * (math.sqrt(self.squares) + second) + UNDERFLOW
        root = max(0.0, math.sqrt(max(0.0, bound)) - moved)
        proven = root * root * (1 - 8 * ROUNDING)
        exponent = 2 * self._exponent + self._weight_exponent
        value = math.ldexp(proven, exponent)
        return value if math.ldexp(value, -exponent) <= proven else math.nextafter(value, 0.0)
