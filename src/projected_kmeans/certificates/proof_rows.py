"""SCORE: what a bound asks of rows, and the rounding arithmetic that all kinds of rows share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Floats

# Half the distance from 1 to the next float64: the relative error of one operation.
ROUNDING = 2.0**-53


# More than all underflow can add up to, as rows are scaled to reach 1.
UNDERFLOW = 1e-250


# Rows whose distances to all are computed at a time, fewer where it would take long.
STRETCH_ROWS = 512


def never_stop() -> None:
    """Let work go on to its end."""


def sum_error(n_terms: int) -> float:
    """Return gamma, the relative error of a float64 sum of so many products in any order.

    Higham (2002), section 3.1: n u / (1 - n u); 8 terms more pay for what is done to the sum.
    """
    errors = (n_terms + 8) * ROUNDING
    return errors / (1 - errors)


class Gram(NamedTuple):
    """The smaller Gram matrix of rows about their mean, times the roots of their weights.

    Attributes
    ----------
    matrix : ndarray (m, m)
        As computed; m is the number of rows or of columns.
    error : float
        At least the Frobenius norm of what rounding did to the matrix.
    loss : float
        At least what its trace is above the squared distances from the exact mean.
    """

    matrix: Floats
    error: float
    loss: float


class ProofRows(Protocol):
    """What a bound asks of rows y, which are rows x in a power-of-two unit and about some point.

    Every walk over the rows may be left between two blocks by whoever opened them.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def weights(self) -> Floats:
        """Of the rows, in a power-of-two unit; ones where none were given."""

    @property
    def is_weighted(self) -> bool:
        """Whether weights were given."""

    @property
    def squares(self) -> float:
        """About the sum of w ||y - mean||^2."""

    @property
    def reach(self) -> float:
        """At least the largest ||y - mean||^2, plus their mean."""

    @property
    def unit(self) -> float:
        """What a squared distance of 1 between rows y is between rows x."""

    @property
    def original_weight(self) -> float:
        """The sum of the weights as they were given."""

    def gram(self) -> Gram:
        """Return the smaller Gram matrix."""

    def walk_half_squares(self) -> Iterator[Floats]:
        """Walk over stretches of rows: half their squared distances to all, none of them above."""

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return some rows, each counted once."""

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded downwards."""


def scale_back(bound: float, moved: float, exponent: int) -> float:
    """Return a bound 2^exponent, less what rows that moved by a norm ``moved`` can take from it.

    The root of the least inertia is a distance to a set of matrices. Rounded downwards.
    """
    root = max(0.0, math.sqrt(max(0.0, bound)) - moved)
    proven = root * root * (1 - 8 * ROUNDING)
    value = math.ldexp(proven, exponent)
    return value if math.ldexp(value, -exponent) <= proven else math.nextafter(value, 0.0)


def scale_weights(weights: Floats | None, n_rows: int) -> tuple[Floats, int]:
    """Return weights in a power-of-two unit, the largest from 1/2 to 1, and its exponent."""
    if weights is None:
        return np.ones(n_rows), 0
    exponent = int(np.frexp(weights.max())[1])
    return np.ldexp(weights, -exponent), exponent


def bound_half_squares(products: Floats, squares: Floats, first: int, n_terms: int) -> Floats:
    """Return half the squared distances of some rows to all, from their products, in place.

    Computed as (|y|^2 + |z|^2) / 2 - <y, z>; both are off by gamma (|y|^2 + |z|^2) / 2 at most.
    A quarter more than both is subtracted, and where less than zero is left, zero is the distance.

    Parameters
    ----------
    products : ndarray (m, n)
        Of rows ``first`` to ``first + m`` with all; overwritten.
    squares : ndarray (n,)
        Squared norms of all rows.
    first, n_terms : int
        Where the rows stand, and of how many products each sum consists at most.
    """
    own = slice(first, first + len(products))
    rate = (1 - 2.5 * sum_error(n_terms)) / 2
    np.subtract(rate * (squares[own, None] + squares), products, out=products)
    return np.maximum(products, 0.0, out=products)
