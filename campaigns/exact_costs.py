"""The inertia of every set of a few rows without rounding, and the minimum over all partitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = 300


class ExactCosts:
    """The inertia of every set of rows, and the minimum over all partitions, without rounding.

    Numbers are multiplied by a power of two that makes all of them whole. A set of rows is a
    number whose bits say which rows belong to it.

    Parameters
    ----------
    rows : ndarray (n, d)
        The rows.
    weights : ndarray of float64 (n,)
        Their weights.
    about_units : bool, default=False
        Whether centers have length one, or are 0 if the rows sum up to 0; else centers are means.
        Lengths of sums are rounded, at `DIGITS` bits after the point.
    """

    def __init__(
        self, rows: NDArray[Any], weights: NDArray[np.float64], *, about_units: bool = False
    ) -> None:
        exact = [[Fraction(float(value)) for value in row] for row in rows]
        scales = [Fraction(float(weight)) for weight in weights]
        self._n = len(exact)
        self.of_set = [Fraction(0)] * (1 << self._n)
        for chosen in range(1, 1 << self._n):
            members = [i for i in range(self._n) if chosen >> i & 1]
            mass = sum((scales[i] for i in members), start=Fraction(0))
            squares = length = Fraction(0)
            for column in range(len(exact[0])):
                sums = sum((scales[i] * exact[i][column] for i in members), start=Fraction(0))
                squares += sum(scales[i] * exact[i][column] ** 2 for i in members)
                length += sums * sums
            gain = length / mass
            if about_units and length:
                gain = 2 * Fraction(math.isqrt(int(length * 4**DIGITS)), 2**DIGITS) - mass
            self.of_set[chosen] = squares - gain

    def of_partition(self, labels: NDArray[np.int64]) -> Fraction:
        """Return the inertia of a partition."""
        sets = [
            sum(1 << int(i) for i in np.flatnonzero(labels == label)) for label in np.unique(labels)
        ]
        return sum((self.of_set[one] for one in sets), start=Fraction(0))

    def minimum(self, k: int) -> Fraction:
        """Return the minimum inertia of all partitions into at most k clusters."""
        best = list(self.of_set)
        for _ in range(k - 1):
            before = list(best)
            for whole in range(1, 1 << self._n):
                part = (whole - 1) & whole
                while part:
                    if part & whole & -whole:  # the part with the lowest row, so each split once
                        best[whole] = min(best[whole], self.of_set[part] + before[whole ^ part])
                    part = (part - 1) & whole
        return best[-1]
