"""Products with rows about a center, dense or sparse, without making a centred copy.

Dense rows are cut into stretches. They begin at the first row, and their length depends on the
number of columns alone. Each stretch is multiplied on one thread, and the products are added in
float64 in the order of the rows. So the result depends neither on blocks nor on threads.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.thread_pool import ThreadPool

# Numbers in a stretch: few enough to stay in the second-level cache while it is multiplied twice. A
# stretch of wide rows has up to 256 rows and 2**20 numbers, because its products are as large for
# few rows as for many.
STRETCH_SIZE, WIDE_SIZE, WIDE_ROWS = 2**18, 2**20, 256

# Stretches that one thread adds up before its sum is added to the total: at most 16, and so few
# that many threads have something to do.
MAX_PER_SUM, WANTED_SUMS = 16, 32

# CSR rows that are multiplied at a time.
SPARSE_STRETCH_ROWS = 2**16

# Columns of a few dense rows that are multiplied at a time.
PANEL_COLUMNS = 4096

# If entries are larger than this, or smaller than its inverse, their squares may leave the range of
# float32. The rows are then scaled by a power of two and computed in float64.
MAX_REACH = 1e12


class Signs(NamedTuple):
    """The first rows and columns of the sign matrix of a key."""

    key: int
    shape: tuple[int, int]


Omega: TypeAlias = Signs | Floats


@dataclass(frozen=True)
class CentredRows(ABC):
    """Rows about a center, with weights.

    C = (A - c)^T diag(w) (A - c) for rows A, center c and weights w, in the rows' unit.
    """

    array: Any
    center: Floats
    weights: Floats | None
    unit: float  # the power of two that rows are multiplied by, so that squares do not overflow
    dtype: np.dtype[Any]  # the precision of the products
    n_threads: int

    @abstractmethod
    def multiply(self, omega: Omega | None) -> Floats:
        """Return C omega, or without omega C itself, for few columns."""

    @abstractmethod
    def row_gram(self) -> Floats:
        """Return the products of all weighted rows with one another. Use it for few rows."""

    @abstractmethod
    def combine(self, left: Floats) -> Floats:
        """Return the transposed weighted rows times ``left``, (d, t). Use it for few rows."""


def center_rows(rows: Any, weights: Floats | None, n_threads: int) -> CentredRows:
    """Return rows about their mean, in a unit in which their squares do not overflow.

    The mean is computed from exact sums in one pass.
    """
    source = open_blocks(rows)
    ranges = scan_columns(source, n_threads)
    center = Problem(source, ranges, weights, n_threads).sum_all().means[0]
    # Counted here, because a BLAS on OpenMP may share the limit of its guard with the kernels.
    n_threads = _native.max_threads(n_threads)
    reach = np.max(np.maximum(ranges.maximum - center, center - ranges.minimum))
    sparse = scipy.sparse.issparse(rows)
    if sparse:  # rows are multiplied as they are, and the center is subtracted from the products
        reach = max(reach, np.max(np.abs(center)))
    moderate = reach == 0 or 1 / MAX_REACH < reach < MAX_REACH
    unit = 1.0 if moderate else float(2.0 ** -np.frexp(float(reach))[1])
    if sparse:
        return SparseRows(rows, center, weights, unit, np.dtype(np.float64), n_threads)
    dtype = compute_type(rows.dtype) if moderate else np.dtype(np.float64)
    return DenseRows(rows, center, weights, unit, dtype, n_threads)


class DenseRows(CentredRows):
    """Rows of an array, or rows picked from one, about a center."""

    def multiply(self, omega: Omega | None) -> Floats:
        """Return the sum of S^T diag(w) S omega over all stretches S."""
        n_rows, n_columns = self.array.shape
        length, dtype = stretch_rows(n_columns), self.dtype
        width = n_columns if omega is None else omega.shape[1]
        factor = omega.astype(dtype) if isinstance(omega, np.ndarray) else None
        center, unit = self.center.astype(dtype), dtype.type(self.unit)

        heaviest = 1.0 if self.weights is None else float(self.weights.max())
        shares = np.ones(0) if self.weights is None else self.weights / heaviest
        shares = shares.astype(dtype)

        own = _OwnStretch((length, n_columns), dtype)

        @one_blas_thread()
        def add_up(group: slice) -> Floats:
            total = np.zeros((n_columns, width))
            for span in spans(group.stop, length, group.start):
                stretch = own.stretch[: span.stop - span.start]
                np.subtract(self.array[span], center, out=stretch, dtype=dtype)
                if unit != 1:
                    stretch *= unit
                if isinstance(omega, Signs):
                    right = _multiply_signs(stretch, omega)
                else:
                    right = stretch if factor is None else stretch @ factor
                if self.weights is not None:
                    right = right * shares[span, None]
                total += stretch.T @ right
            return total

        total = np.zeros((n_columns, width))
        per_sum = min(max(-(-n_rows // length) // WANTED_SUMS, 1), MAX_PER_SUM)
        groups = list(spans(n_rows, length * per_sum))
        with ThreadPool(self.n_threads) as pool:
            for part in pool.map(add_up, groups):
                total += part
        return total * heaviest

    def row_gram(self) -> Floats:
        """Return the products of all weighted rows with one another. Use it for few rows."""
        n_rows, n_columns = self.array.shape
        gram = np.zeros((n_rows, n_rows))
        for panel in spans(n_columns, PANEL_COLUMNS):
            part = self._columns(panel)
            gram += part @ part.T
        return gram

    def combine(self, left: Floats) -> Floats:
        """Return the transposed weighted rows times ``left``, (d, t). Use it for few rows."""
        panels = spans(self.array.shape[1], PANEL_COLUMNS)
        return np.concatenate([self._columns(panel).T @ left for panel in panels])

    def _columns(self, panel: slice) -> Floats:
        part: Floats = self.array[:][:, panel].astype(np.float64) - self.center[panel]
        part *= self.unit
        return part if self.weights is None else part * np.sqrt(self.weights)[:, None]


class SparseRows(CentredRows):
    """CSR rows about a center, which is subtracted from the products as a matrix of rank one."""

    def multiply(self, omega: Omega | None) -> Floats:
        """Return C omega, or without omega C itself, stretch by stretch."""
        n_rows, n_columns = self.array.shape
        omega = np.eye(n_columns) if omega is None else omega
        total = np.zeros((n_columns, omega.shape[1]))
        for span in spans(n_rows, SPARSE_STRETCH_ROWS):
            weights = None if self.weights is None else self.weights[span]
            part = replace(self, array=self.array[span], weights=weights)
            total += part.combine(part.sketch(omega))
        return total

    def sketch(self, omega: Omega) -> Floats:
        """Return the weighted rows times omega. Use it for few rows."""
        part, center = self._part(), (self.center * self.unit)[None]
        width = omega.shape[1]
        out, shift = np.empty((part.shape[0], width)), np.empty((1, width))
        if isinstance(omega, Signs):
            matrix = (part.data, part.indices, part.indptr, part.shape[1])
            _native.sign_product_sparse(*matrix, omega.key, 1.0, out, self.n_threads)
            _native.sign_product(center, omega.key, 1.0, shift, self.n_threads)
        else:
            _native.table_product(part, np.ascontiguousarray(omega), out, self.n_threads)
            np.matmul(center, omega, out=shift)
        out -= shift
        out *= self._roots()[:, None]
        return out

    def row_gram(self) -> Floats:
        """Return the products of all weighted rows with one another. Use it for few rows."""
        part, center = self._part(), self.center * self.unit
        along = part @ center
        gram = (part @ part.T).toarray() - along - along[:, None] + center @ center
        root = self._roots()
        return np.asarray(gram * root * root[:, None])

    def combine(self, left: Floats) -> Floats:
        """Return the transposed weighted rows times ``left``, (d, t). Use it for few rows."""
        weighted = np.multiply(self._roots()[:, None], left, order="C")
        out = np.outer(self.center * -self.unit, weighted.sum(axis=0))
        _native.transposed_product(self._part(), weighted, out, self.n_threads)
        return out

    def _part(self) -> Any:
        part = self.array.astype(np.float64, copy=False)
        return part if self.unit == 1 else part * self.unit

    def _roots(self) -> Floats:
        return np.ones(self.array.shape[0]) if self.weights is None else np.sqrt(self.weights)


class _OwnStretch(threading.local):
    """Room for a stretch of rows that each thread uses again, because new memory is slow."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.stretch = np.empty(shape, dtype)


def stretch_rows(n_columns: int) -> int:
    """Return the rows of a stretch: a power of two from 128 to 4096."""
    sizes = STRETCH_SIZE // n_columns, WIDE_SIZE // n_columns
    usual, wide = (1 << (max(size, 1).bit_length() - 1) for size in sizes)
    return min(max(usual, min(wide, WIDE_ROWS), 128), 4096)


def _multiply_signs(stretch: NDArray[Any], signs: Signs) -> NDArray[Any]:
    out = np.empty((len(stretch), signs.shape[1]), dtype=stretch.dtype)
    _native.sign_product(stretch, signs.key, 1.0, out, 1)
    return out


def spans(stop: int, length: int, start: int = 0) -> Iterator[slice]:
    """Yield ranges of at most ``length`` that cover all from ``start`` to ``stop``."""
    for first in range(start, stop, length):
        yield slice(first, min(first + length, stop))
