"""What a bound asks of the rows (`ProofRows`), and the rounding arithmetic that bounds share.

The two kinds of rows stand in `dense_proof_rows` and `sparse_proof_rows`. Both call the given rows
x and the rows that bounds are computed for y = (x - shift) 2^-e. The shift is close to the mean for
dense rows and zero for sparse rows; the exponent e is chosen so that no value of y exceeds 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Floats

# Half the distance from 1 to the next float64: the largest relative error of one operation.
ROUNDING = 2.0**-53
# Larger than the sum of all underflow errors, because rows are scaled to values of at most 1.
UNDERFLOW = 1e-250
# Products and distances are computed for this many rows at a time; time limits are checked between.
STRETCH_ROWS = 512


def never_stop() -> None:
    """Do nothing; the default for a check that may raise to stop the work."""


def sum_error(n_terms: int) -> float:
    """Return gamma, the largest relative error of a float64 sum of products in any order.

    gamma = m u / (1 - m u), where u is `ROUNDING` and m is the number of products plus 8 (Higham
    2002, section 3.1). The 8 extra terms cover the few operations that follow the sum.
    """
    errors = (n_terms + 8) * ROUNDING
    return errors / (1 - errors)


class Gram(NamedTuple):
    """A Gram matrix of the centred rows, each multiplied by the root of its weight.

    Attributes
    ----------
    matrix : ndarray (m, m)
        As computed; m is the number of rows or of columns.
    error : float
        At least the Frobenius norm of the rounding error of the matrix.
    loss : float
        At least the amount by which the trace exceeds the sum of squared distances from the exact
        mean.
    """

    matrix: Floats
    error: float
    loss: float


class ProofRows(Protocol):
    """The rows y, as a bound sees them.

    Every walk over the rows calls the check that the rows were opened with, between blocks. The
    check may raise `OutOfTime` to stop the walk.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def weights(self) -> Floats:
        """The weights of the rows, scaled by a power of two; ones if none were given."""

    @property
    def is_weighted(self) -> bool:
        """Whether weights were given."""

    @property
    def squares(self) -> float:
        """The approximate sum of w ||y - mean||^2."""

    @property
    def reach(self) -> float:
        """An upper bound on the largest ||y - mean||^2 plus the mean of all ||y - mean||^2."""

    @property
    def unit(self) -> float:
        """The squared distance between rows x that corresponds to 1 between rows y."""

    @property
    def original_weight(self) -> float:
        """The sum of the weights as they were given."""

    def fingerprint(self) -> int:
        """Return a number that follows from the content of the rows x and their weights."""

    def gram(self) -> Gram:
        """Return the smaller Gram matrix."""

    def row_gram(self) -> Gram:
        """Return the Gram matrix of the rows, also if that of the columns is smaller."""

    def walk_half_squares(self) -> Iterator[Floats]:
        """Yield, for one stretch of rows after another, lower bounds on ||y_i - y_j||^2 / 2."""

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return some of the rows, each with weight 1."""

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded down."""


def scale_back(bound: float, moved: float, exponent: int) -> float:
    """Return 2^exponent times what a bound proves for rows that have moved.

    The square root of the minimum inertia is the distance of the matrix of rows from the set of
    matrices with at most k different rows. Moving the rows by a matrix of norm ``moved`` changes
    this distance by at most ``moved``. The result is rounded down.

    Parameters
    ----------
    bound : float
        A lower bound on the minimum inertia of the moved rows; may be negative.
    moved : float
        An upper bound on the (weighted) Frobenius norm of the move.
    exponent : int
        The power of two that undoes the scaling of squared distances and weights.
    """
    root = max(0.0, math.sqrt(max(0.0, bound)) - moved)
    proven = root * root * (1 - 8 * ROUNDING)
    value = math.ldexp(proven, exponent)
    return value if math.ldexp(value, -exponent) <= proven else math.nextafter(value, 0.0)


def scale_weights(weights: Floats | None, n_rows: int) -> tuple[Floats, int]:
    """Return the weights times 2^-e, and e, chosen so that the largest lies in [1/2, 1).

    Without weights, return ones and 0.
    """
    if weights is None:
        return np.ones(n_rows), 0
    exponent = int(np.frexp(weights.max())[1])
    return np.ldexp(weights, -exponent), exponent


def bound_half_squares(products: Floats, squares: Floats, first: int, n_terms: int) -> Floats:
    """Turn products <y_i, y_j> into lower bounds on ||y_i - y_j||^2 / 2, in place.

    The half squared distance is (|y_i|^2 + |y_j|^2) / 2 - <y_i, y_j>. With gamma = `sum_error`, the
    first term and the product are each wrong by at most gamma (|y_i|^2 + |y_j|^2) / 2. The result
    is lowered by 2.5 gamma (|y_i|^2 + |y_j|^2) / 2, and set to zero if it is negative.

    Parameters
    ----------
    products : ndarray (m, n)
        Products of rows ``first`` to ``first + m`` with all rows; overwritten.
    squares : ndarray (n,)
        Squared norms of all rows.
    first : int
        Index of the first row of ``products``.
    n_terms : int
        The largest number of products in one sum.
    """
    own = slice(first, first + len(products))
    rate = (1 - 2.5 * sum_error(n_terms)) / 2
    np.subtract(rate * (squares[own, None] + squares), products, out=products)
    return np.maximum(products, 0.0, out=products)
