"""The rows that bounds are computed for, dense or sparse, and the rounding arithmetic of bounds.

Bounds are computed for rows y = (x - shift) 2^-e in float64 instead of the given rows x. The
exponent e is chosen so that no value of y exceeds 1.

*Dense rows* are centred twice. The first subtraction removes an approximate mean; the second
removes the mean of what is left, which is tiny. What still remains of the mean is measured as
`DenseProofRows.drift`.

*Sparse rows* are only scaled, because centring would make them dense. Products of rows are centred
instead. Let S be the weighted sum of ||y||^2 and gamma = `sum_error`. Every product of matrices of
sparse rows is wrong by at most gamma S in the Frobenius norm. So is each of the three terms that
centre a product, because the square of a mean of |y| is at most the mean of y^2 (Cauchy-Schwarz).
16 gamma S covers these four errors and the few operations in between.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply, multiply_by_transpose, multiply_rows
from projected_kmeans.blocks.block_source import LocalBlocks
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, open_blocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.results import Floats

Indices = NDArray[np.int64]

# Half the distance from 1 to the next float64: the largest relative error of one operation.
ROUNDING = 2.0**-53
# Larger than the sum of all underflow errors, because rows are scaled to values of at most 1.
UNDERFLOW = 1e-250
# Products and distances are computed for this many rows at a time; time limits are checked between.
STRETCH_ROWS = 512
# Numbers in one block of dense rows: 16 MB.
BLOCK_ENTRIES = 2**21
# Multiplications per stretch of distances, about 1 s: with many columns a stretch has fewer rows.
STRETCH_PRODUCTS = 2**31


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
    """A Gram matrix of the centred rows, each multiplied by the root of its weight."""

    matrix: Floats  # (m, m) as computed; m is the number of rows or of columns
    error: float  # at least the Frobenius norm of the rounding error of the matrix
    # At least the amount by which the trace exceeds the sum of squared distances from the exact
    # mean.
    loss: float


class ProofRows(ABC):
    """The rows y with their weights, as a bound sees them.

    Every walk over the rows calls the check that the rows were opened with, between blocks. The
    check may raise `OutOfTime` to stop the walk.
    """

    squares: float  # the sum of w ||y - mean||^2, nearly
    # An upper bound on the largest ||y - mean||^2 plus the mean of all ||y - mean||^2.
    reach: float

    def __init__(
        self, source: LocalBlocks, weights: Floats | None, check: Callable[[], None]
    ) -> None:
        self.source, self.check = source, check  # the rows x
        self.shape = source.shape
        self.is_weighted = weights is not None
        # Ones if no weights were given; else scaled so that the largest lies in [1/2, 1).
        self.weights, self._weight_exponent = scale_weights(weights, self.shape[0])
        self._total_weight = math.fsum(self.weights)
        self._exponent = 0

    @abstractmethod
    def column_gram(self) -> Gram:
        """Return the Gram matrix of the columns."""

    @abstractmethod
    def row_gram(self) -> Gram:
        """Return the Gram matrix of the rows."""

    @abstractmethod
    def walk_half_squares(self) -> Iterator[Floats]:
        """Yield, for one stretch of rows after another, lower bounds on ||y_i - y_j||^2 / 2."""

    @abstractmethod
    def take(self, indices: Indices) -> Self:
        """Return some of the rows, each with weight 1."""

    @abstractmethod
    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded down."""

    def gram(self) -> Gram:
        """Return the smaller of both Gram matrices."""
        return self.row_gram() if self.shape[0] < self.shape[1] else self.column_gram()

    @property
    def unit(self) -> float:
        """The squared distance between rows x that corresponds to 1 between rows y."""
        return math.ldexp(1.0, 2 * self._exponent)

    @property
    def original_weight(self) -> float:
        """The sum of the weights as they were given."""
        return math.ldexp(self._total_weight, self._weight_exponent)

    def _scale_back(self, bound: float, moved: float) -> float:
        return scale_back(bound, moved, 2 * self._exponent + self._weight_exponent)


class DenseProofRows(ProofRows):
    """Rows y = (x - mean) 2^-e, computed block by block.

    Without rounding, the minimum inertia of the rows y would be that of the rows x times a power of
    two. `to_original` accounts for the rounding. ``drift`` is an upper bound on
    ||sum of w y||^2 / sum of w, which would be 0 without rounding.
    """

    def __init__(
        self,
        rows: NDArray[Any],
        weights: Floats | None = None,
        check: Callable[[], None] = never_stop,
    ) -> None:
        super().__init__(ArrayBlocks(rows, max(1, BLOCK_ENTRIES // rows.shape[1])), weights, check)
        ranges = scan_columns(self.source, on_block=lambda done: check())
        self._first = self._second = np.zeros(self.shape[1])
        # The exact mean of a column lies within its range. Clipping keeps a rounded one there.
        self._first = np.clip(self._mean(), ranges.minimum, ranges.maximum)
        largest = np.maximum(ranges.maximum - self._first, self._first - ranges.minimum).max()
        self._exponent = int(np.frexp(largest)[1])
        self._second = self._mean()
        self._measure()

    def _mean(self) -> Floats:
        """Return the mean of the rows with the present shift and exponent."""
        sums = np.zeros(self.shape[1])
        for block in self._walk():
            sums += multiply(self.weights[block.span], block.rows)
        return sums / self._total_weight

    def _measure(self) -> None:
        """Set `squares`, and `drift` and `reach`, which are rounded up."""
        squares, sums, sizes = [], np.zeros(self.shape[1]), np.zeros(self.shape[1])
        largest = 0.0
        for block in self._walk():
            weights = self.weights[block.span]
            norms = np.einsum("ij,ij->i", block.rows, block.rows)
            squares.append(float(multiply(weights, norms)))
            sums += multiply(weights, block.rows)
            sizes += multiply(weights, np.abs(block.rows))
            largest = max(largest, float(norms.max()))
        self.squares = math.fsum(squares)
        largest *= 1 + sum_error(self.shape[1])
        drift = np.abs(sums) + sum_error(self.shape[0]) * sizes
        self.drift = math.fsum(drift * drift) / self._total_weight * (1 + sum_error(self.shape[1]))
        to_mean = math.sqrt(largest) + math.sqrt(self.drift / self._total_weight)
        self.reach = to_mean**2 + self.squares / self._total_weight

    def _walk(self) -> Iterator[Block]:
        for block in self.source:
            self.check()
            moved = np.ldexp(block.rows - self._first, -self._exponent)
            yield Block(block.start, moved - self._second)

    def _take_all(self) -> Floats:
        return np.concatenate([block.rows for block in self._walk()])

    def column_gram(self) -> Gram:
        """Return the Gram matrix of the columns."""
        roots = np.sqrt(self.weights)[:, None]
        matrix = np.zeros((self.shape[1], self.shape[1]))
        for block in self._walk():
            part = roots[block.span] * block.rows
            matrix += multiply_by_transpose(part.T, _native.max_threads())
        return self._describe(matrix)

    def row_gram(self) -> Gram:
        """Return the Gram matrix of the rows."""
        n_rows = self.shape[0]
        matrix = np.empty((n_rows, n_rows))
        rows = np.sqrt(self.weights)[:, None] * self._take_all()
        for first in range(0, n_rows, STRETCH_ROWS):
            self.check()
            span = slice(first, first + STRETCH_ROWS)
            matrix[span] = multiply_rows(rows[span], rows.T, _native.max_threads())
        return self._describe(matrix)

    def _describe(self, matrix: Floats) -> Gram:
        """Return a matrix with its error.

        Rounding changes the matrix by at most gamma ||Y||^2 in the Frobenius norm, and its trace by
        at most as much. The reported error is twice that.
        """
        error = 2 * sum_error(sum(self.shape)) * float(np.trace(matrix))
        return Gram(matrix, error, self.drift + error)

    def walk_half_squares(self) -> Iterator[Floats]:
        """Yield, for one stretch of rows after another, lower bounds on ||y_i - y_j||^2 / 2."""
        rows = self._take_all()
        n_rows, n_columns = self.shape
        squares = np.einsum("ij,ij->i", rows, rows)
        length = min(STRETCH_ROWS, max(64, STRETCH_PRODUCTS // (n_rows * n_columns)))
        for first in range(0, n_rows, length):
            self.check()
            products = multiply_rows(rows[first : first + length], rows.T, _native.max_threads())
            yield bound_half_squares(products, squares, first, n_columns)

    def take(self, indices: Indices) -> DenseProofRows:
        """Return some of the rows, each with weight 1."""
        return DenseProofRows(self.source.select(indices), check=self.check)

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded down.

        Each of the two subtractions moves a row by at most `ROUNDING` times the norm of its result,
        and multiplying by the root of a weight moves it by a similar amount.
        """
        second = math.sqrt(self._total_weight * float(np.sum(np.square(self._second))))
        moved = 8 * ROUNDING * (math.sqrt(self.squares) + second) + UNDERFLOW
        return self._scale_back(bound, moved)


class SparseProofRows(ProofRows):
    """CSR rows y = x 2^-e in canonical form, whose largest absolute value lies in [1/2, 1).

    ``squares`` is an upper bound on the sum of w ||y - mean||^2.
    """

    def __init__(
        self, rows: Any, weights: Floats | None = None, check: Callable[[], None] = never_stop
    ) -> None:
        check()
        super().__init__(open_blocks(rows), weights, check)
        scan_columns(self.source)
        self._exponent = _find_sparse_exponent(rows)
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

    def column_gram(self) -> Gram:
        """Return the Gram matrix of the columns of the centred rows, from a sparse product."""
        weighted = self._turned.multiply(self.weights[None]).tocsr()
        matrix = self._multiply(weighted, self._rows)
        matrix -= np.outer(self._total_weight * self._mean, self._mean)
        return self._describe(matrix)

    def row_gram(self) -> Gram:
        """Return the Gram matrix of the centred rows, from a sparse product."""
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

    def _multiply(self, left: Any, right: Any) -> Floats:
        """Return the product of two sparse matrices as an array, one stretch of rows at a time."""
        product = np.empty((left.shape[0], right.shape[1]))
        for first in range(0, len(product), STRETCH_ROWS):
            self.check()
            span = slice(first, first + STRETCH_ROWS)
            product[span] = (left[span] @ right).toarray()
        return product

    def walk_half_squares(self) -> Iterator[Floats]:
        """Yield, for one stretch of rows after another, lower bounds on ||y_i - y_j||^2 / 2."""
        n_terms = int(np.diff(self._rows.indptr).max(initial=0))
        for first in range(0, self.shape[0], STRETCH_ROWS):
            self.check()
            stretch = self._rows[first : first + STRETCH_ROWS]
            products = np.asarray((stretch @ self._turned).toarray(), dtype=np.float64)
            yield bound_half_squares(products, self._norms, first, n_terms)

    def take(self, indices: Indices) -> SparseProofRows:
        """Return some of the rows, each with weight 1."""
        taken = self._rows[indices]
        taken.data = np.ldexp(taken.data, self._exponent)
        return SparseProofRows(taken, check=self.check)

    def to_original(self, bound: float) -> float:
        """Return what a bound for the rows y proves for the rows x, rounded down.

        Scaling by a power of two is exact, except for underflow.
        """
        return self._scale_back(bound, UNDERFLOW)


def prepare_rows(
    rows: Any, weights: Floats | None = None, check: Callable[[], None] = never_stop
) -> ProofRows:
    """Return an array or CSR rows as bounds see them; no weights count every row once."""
    make = SparseProofRows if scipy.sparse.issparse(rows) else DenseProofRows
    return make(rows, weights, check)


def scale_back(bound: float, moved: float, exponent: int) -> float:
    """Return 2^exponent times what a bound proves for rows that have moved, rounded down.

    The square root of the minimum inertia is the distance of the matrix of rows from the set of
    matrices with at most k different rows. Moving the rows by a matrix whose (weighted) Frobenius
    norm is at most ``moved`` changes this distance by at most ``moved``. The exponent undoes the
    scaling of squared distances and weights.
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
    """Turn products of rows from ``first`` on with all rows into lower bounds, in place.

    The half squared distance is (|y_i|^2 + |y_j|^2) / 2 - <y_i, y_j>. With gamma = `sum_error` of
    at most ``n_terms`` products in a sum, the first term and the product are each wrong by at most
    gamma (|y_i|^2 + |y_j|^2) / 2. The result is lowered by 2.5 gamma (|y_i|^2 + |y_j|^2) / 2, and
    set to zero if it is negative.
    """
    own = slice(first, first + len(products))
    rate = (1 - 2.5 * sum_error(n_terms)) / 2
    np.subtract(rate * (squares[own, None] + squares), products, out=products)
    return np.maximum(products, 0.0, out=products)


def _find_sparse_exponent(rows: Any) -> int:
    """Return e such that the largest |x| is below 2^e; refuse rows whose squares overflow."""
    largest = float(np.max(np.abs(rows.data), initial=0.0))
    n_entries = rows.shape[0] * rows.shape[1]
    if largest > math.sqrt(1e300 / (4 * n_entries)):
        raise ValueError(
            f"X reaches {largest:.3g}, so that sums of squares overflow float64; "
            "divide X by a large constant"
        )
    return math.frexp(largest)[1]
