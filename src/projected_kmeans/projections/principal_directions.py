"""Find the directions along which rows vary most, by a sign sketch or an exact decomposition.

The callers choose how many directions they want, and from which rows.

With C = (A - c)^T diag(w) (A - c) and a sign matrix R, one walk over the rows gives C R, stretch by
stretch as S^T (S R), and C is about (C R) (R^T C R)^-1 (C R)^T (Nystrom; Tropp, Yurtsever, Udell,
Cevher 2017), whose eigenvectors are the directions. A power pass replaces R by an orthonormal basis
of C R and walks over the rows once more. If there is one, the first walk may take fewer rows.

No centred copy of the rows is made. Dense rows are cut into stretches, which begin at the first row
and whose length depends on the number of columns alone. Each stretch is multiplied on one thread,
and the products are added in float64 in the order of the rows. So the result depends neither on
blocks nor on threads.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread, strictly
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import draw_signs
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

# Decompose the Gram matrix exactly if min(n, d) is at most this, because it then costs little.
EXACT_SIZE = 400

# R has as many columns beyond t as t itself, and at least 10.
MIN_OVERSAMPLES = 10

# Matrices of many rows are decomposed by their Gram matrix, in which ratios of lengths are squared,
# if no length is below this share of the largest.
MIN_RATIO = 1e-4


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
                    right = np.empty((len(stretch), width), dtype)
                    _native.sign_product(stretch, omega.key, 1.0, right, 1)
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


def spans(stop: int, length: int, start: int = 0) -> Iterator[slice]:
    """Yield ranges of at most ``length`` that cover all from ``start`` to ``stop``."""
    for first in range(start, stop, length):
        yield slice(first, min(first + length, stop))


class Directions(NamedTuple):
    """Orthonormal columns (d, t) and the singular values along them; both 0 beyond the rank."""

    columns: Floats
    singular_values: Floats


class Eigenpairs(NamedTuple):
    """Eigenvectors of C as columns, not normalized, and their eigenvalues in descending order."""

    columns: Floats
    values: Floats


def sketch_width(n_directions: int, n_columns: int, n_oversamples: int | None = None) -> int:
    """Return the number of columns of R: t and the oversamples, at most d."""
    if n_oversamples is None:
        n_oversamples = max(n_directions, MIN_OVERSAMPLES)
    return min(n_directions + n_oversamples, n_columns)


def find_directions(
    rows: CentredRows,
    n_directions: int,
    *,
    key: int,
    n_oversamples: int | None,
    n_power: int,
    exact: bool | None = None,
    start: CentredRows | None = None,
) -> Directions:
    """Return the directions of largest variance, approximately from a sign sketch or exactly.

    The smaller Gram matrix is decomposed, in O(n d min(n, d)), if ``exact`` or, where that is None,
    if min(n, d) is at most 400. ``n_power`` passes over the rows follow the first one, which then
    takes the rows of ``start``; None is all of them.
    """
    n_rows, n_columns = rows.array.shape
    width = sketch_width(n_directions, n_columns, n_oversamples)
    signs = Signs(key, (n_columns, width))
    decompose: Callable[[], Eigenpairs]
    if exact or (exact is None and min(n_rows, n_columns) <= EXACT_SIZE):
        decompose = partial(_decompose, rows)
    elif isinstance(rows, SparseRows) and n_rows < n_columns:
        decompose = partial(_decompose_few, rows, signs, n_power, n_directions)
    else:
        decompose = partial(_decompose_many, rows, signs, n_power, start or rows)
    return strictly(partial(_tidy, strictly(decompose), n_directions, rows))


def _decompose_many(
    rows: CentredRows, signs: Signs, n_power: int, start: CentredRows
) -> Eigenpairs:
    """Return the eigenvectors of the Nystrom approximation that C times signs gives of C."""
    product, omega = (start if n_power else rows).multiply(signs), None
    for _ in range(n_power):
        omega = _orthonormal(product)
        del product  # free it before the next product, which is as large
        product = rows.multiply(omega)
    if omega is None:
        omega = draw_signs(signs.key, signs.shape).astype(np.float64)
    core = omega.T @ product
    values, vectors = scipy.linalg.eigh((core + core.T) / 2)
    seen = values > values[-1] * float(np.finfo(rows.dtype).eps) * len(values)
    root = product @ (vectors[:, seen] / np.sqrt(values[seen]))
    if not seen.any():  # all rows are equal; SciPy 1.11 refuses to decompose an empty matrix
        return Eigenpairs(root, np.empty(0))
    squares, vectors = scipy.linalg.eigh(root.T @ root)
    if squares[0] > MIN_RATIO**2 * squares[-1]:
        return Eigenpairs(root @ vectors[:, ::-1], squares[::-1])
    left, singular, _ = scipy.linalg.svd(root, full_matrices=False)
    return Eigenpairs(left, singular**2)


def _orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of the columns, which are overwritten."""
    values, vectors = scipy.linalg.eigh(columns.T @ columns)
    if values[0] > MIN_RATIO**2 * values[-1]:
        return np.ascontiguousarray(columns @ (vectors / np.sqrt(values)))
    basis = scipy.linalg.qr(columns, mode="economic", overwrite_a=True)[0]
    return np.ascontiguousarray(basis)


def _decompose(rows: CentredRows) -> Eigenpairs:
    """Return all eigenvectors of C, from the Gram matrix of columns or of rows: the smaller one."""
    few_rows = rows.array.shape[0] < rows.array.shape[1]
    values, vectors = scipy.linalg.eigh(rows.row_gram() if few_rows else rows.multiply(None))
    values, vectors = values[::-1], vectors[:, ::-1]
    if few_rows:
        vectors = rows.combine(vectors)
    return Eigenpairs(vectors, values)


def _decompose_few(rows: SparseRows, signs: Signs, n_power: int, n_directions: int) -> Eigenpairs:
    """Return the first eigenvectors of an approximation of C, for fewer sparse rows than columns.

    With Q an orthonormal basis of A R, the approximation is A^T Q Q^T A. This form needs only bases
    of vectors with one entry a row, and rows are few here; and the Gram matrix of A^T Q has as many
    columns as R.
    """
    basis = np.linalg.qr(rows.sketch(signs))[0]
    for _ in range(n_power):
        basis = np.linalg.qr(rows.sketch(rows.combine(basis)))[0]
    columns = rows.combine(basis)
    values, vectors = scipy.linalg.eigh(columns.T @ columns)
    return Eigenpairs(columns @ vectors[:, : -n_directions - 1 : -1], values[::-1])


def _tidy(found: Eigenpairs, n_directions: int, rows: CentredRows) -> Directions:
    """Return t directions of length one, with their largest entry positive.

    A direction is zero if rounding alone could explain the sum of squares along it: that of the
    rows, and that of their Gram matrix and its eigenvectors, which is in float64 and grows with
    the size. How much of the latter there is depends on the processor.
    """
    values = found.values[:n_directions]
    rounding = 4 * np.finfo(rows.dtype).eps + max(rows.array.shape) * np.finfo(np.float64).eps
    seen = np.flatnonzero(values > float(rounding) * max(values, default=0.0))
    part = found.columns[:, seen]
    largest = np.take_along_axis(part, np.argmax(np.abs(part), axis=0)[None], axis=0)
    columns, singular_values = np.zeros((len(part), n_directions)), np.zeros(n_directions)
    columns[:, seen] = part / (np.sign(largest) * np.linalg.norm(part, axis=0))
    singular_values[seen] = np.sqrt(values[seen]) / rows.unit
    return Directions(columns, singular_values)
