"""A fitted model that further rows move: its centers stand for its rows, and drift is measured.

Holds the model as it was before the first of these rows; `row_stream` keeps it beside them. Sums
are exact, so that the blocks in which rows arrive do not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from projected_kmeans.blocks.tasks import Block
from projected_kmeans.passes.labelling import measure_block
from projected_kmeans.results import Floats
from projected_kmeans.streaming.condensing import WeightedRows

# frexp gives exponents from -1073 to 1024; the mantissa is a whole number of 53 bits.
LOWEST, N_EXPONENTS, BITS = -1073, 2098, 53

# Mantissas are added in two halves, so that 2**36 of them fit into 63 bits.
HALF = 26


class ExactSum:
    """A sum of finite numbers without rounding, kept as whole numbers for each exponent.

    No order of the numbers and no division into parts matters.
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


@dataclass(frozen=True)
class ModelSummary:
    """What a fit leaves of its rows: the centers, and sums over the clusters."""

    centers: Floats
    center_weights: Floats  # the weight of each cluster; for unit rows the length of their sum
    inertia: float
    sum_of_squares: float  # of the rows, weighted
    total_weight: float  # of the rows
    n_rows: int

    @property
    def mean_square(self) -> float:
        """The mean squared distance of rows to their centers."""
        return self.inertia / self.total_weight

    def to_rows(self, dtype: np.dtype[Any], *, sparse: bool) -> WeightedRows:
        """Return the centers that have a weight as rows that stand for all others."""
        filled = np.flatnonzero(self.center_weights > 0)
        weights = self.center_weights[filled]
        rows = self.centers[filled]
        squares = math.fsum(np.einsum("ij,ij->i", rows, rows) * weights)
        kept: Any = rows.astype(dtype)
        return WeightedRows(
            scipy.sparse.csr_array(kept) if sparse else kept,
            weights,
            self.inertia,
            self.sum_of_squares - squares,
        )


@dataclass(frozen=True)
class Drift:
    """How far new rows are from the centers of a model, compared with the rows of its fit.

    Sums are exact, so that drift does not depend on how rows are divided into blocks.
    """

    model: ModelSummary  # before the new rows
    squares: ExactSum  # of distances of new rows to their nearest centers, weighted
    weight: ExactSum  # of the new rows

    @classmethod
    def begin(cls, model: ModelSummary) -> Drift:
        """Return the drift of no rows."""
        return cls(model, ExactSum(), ExactSum())

    def copy(self) -> Drift:
        """Return an independent value."""
        return replace(self, squares=self.squares.copy(), weight=self.weight.copy())

    def add(self, rows: Any, weights: Floats | None, n_threads: int, spherical: bool) -> None:
        """Measure further rows."""
        distances = measure_block(
            Block(0, rows), self.model.centers, n_threads, spherical
        ).distances
        assert distances is not None
        mass = np.ones(len(distances)) if weights is None else weights
        self.squares.add(distances * distances * mass)
        self.weight.add(mass)

    @property
    def ratio(self) -> float:
        """Mean squared distance of the new rows over that of the fit; NaN without new rows."""
        weight = self.weight.value
        return compare_squares(self.squares.value, weight, self.model.mean_square)


def compare_squares(squares: float, weight: float, mean_square: float) -> float:
    """Return the mean of some squared distances over another mean; 1 if both are zero."""
    if not weight > 0:
        return math.nan
    if mean_square > 0:
        return squares / weight / mean_square
    return math.inf if squares > 0 else 1.0
