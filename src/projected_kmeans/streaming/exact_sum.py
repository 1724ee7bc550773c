"""Sums of float64 numbers without rounding, so that no order and no division into parts matters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from projected_kmeans.results import Floats

# frexp gives exponents from -1073 to 1024; the mantissa is a whole number of 53 bits.
LOWEST, N_EXPONENTS, BITS = -1073, 2098, 53

# Mantissas are added in two halves, so that 2**36 of them fit into 63 bits.
HALF = 26


class ExactSum:
    """A sum of finite numbers, kept as whole numbers for each exponent.

    Examples
    --------
    >>> total = ExactSum()
    >>> total.add(np.array([1e300, 1.0]))
    >>> total.add(np.array([-1e300]))
    >>> total.value
    1.0
    """

    def __init__(self) -> None:
        self._halves = np.zeros((2, N_EXPONENTS), np.int64)

    def add(self, numbers: Floats) -> None:
        """Add some numbers."""
        mantissas, exponents = np.frexp(numbers)
        whole = np.ldexp(mantissas, BITS).astype(np.int64)
        np.add.at(self._halves[0], exponents - LOWEST, whole >> HALF)
        np.add.at(self._halves[1], exponents - LOWEST, whole & ((1 << HALF) - 1))

    def copy(self) -> ExactSum:
        """Return an independent sum."""
        other = ExactSum()
        other._halves = self._halves.copy()
        return other

    @property
    def value(self) -> float:
        """The sum, rounded once; infinity if it is too large."""
        total = 0
        for place in np.flatnonzero(self._halves.any(axis=0)):
            high, low = (int(half) for half in self._halves[:, place])
            total += ((high << HALF) + low) << int(place)
        try:
            return float(Fraction(total, 1 << (BITS - LOWEST)))
        except OverflowError:
            return float("inf") if total > 0 else float("-inf")
