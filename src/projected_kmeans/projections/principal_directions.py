"""Find the directions along which rows vary most, by a sign sketch or an exact decomposition.

The callers choose how many directions they want, and from which rows.

With C = (A - c)^T diag(w) (A - c) and a sign matrix R, one walk over the rows gives C R, stretch by
stretch as S^T (S R), and C is about (C R) (R^T C R)^-1 (C R)^T (Nystrom; Tropp, Yurtsever, Udell,
Cevher 2017), whose eigenvectors are the directions. A power pass replaces R by an orthonormal basis
of C R and walks over the rows once more. If there is one, the first walk may take fewer rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from projected_kmeans.blas_threads import strictly
from projected_kmeans.keys import draw_signs
from projected_kmeans.projections.centred_rows import CentredRows, Signs, SparseRows
from projected_kmeans.results import Floats

# Decompose the Gram matrix exactly if min(n, d) is at most this, because it then costs little.
EXACT_SIZE = 400

# R has as many columns beyond t as t itself, and at least 10.
MIN_OVERSAMPLES = 10

# Matrices of many rows are decomposed by their Gram matrix, in which ratios of lengths are squared,
# if no length is below this share of the largest.
MIN_RATIO = 1e-4


class Directions(NamedTuple):
    """Orthonormal columns (d, t) and the singular values along them; both 0 beyond the rank."""

    columns: Floats
    singular_values: Floats


class Eigenpairs(NamedTuple):
    """Eigenvectors of C as columns, not normalized, and their eigenvalues in descending order."""

    columns: Floats
    values: Floats


def sketch_width(n_directions: int, n_columns: int, n_oversamples: int | None = None) -> int:
    """Return the number of columns of R: t and the oversamples, at most d.

    Examples
    --------
    >>> sketch_width(64, 784), sketch_width(3, 784), sketch_width(64, 100)
    (128, 13, 100)
    """
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

    def find() -> Directions:
        if exact or (exact is None and min(n_rows, n_columns) <= EXACT_SIZE):
            return _tidy(_decompose(rows), n_directions, rows)
        width = sketch_width(n_directions, n_columns, n_oversamples)
        signs = Signs(key, (n_columns, width))
        if isinstance(rows, SparseRows) and n_rows < n_columns:
            found = _decompose_few(rows, signs, n_power, n_directions)
        else:
            found = _decompose_many(rows, signs, n_power, start or rows)
        return _tidy(found, n_directions, rows)

    return strictly(find)


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

    A direction is zero if rounding alone could explain the sum of squares along it.
    """
    values, precision = found.values[:n_directions], float(np.finfo(rows.dtype).eps)
    some = np.flatnonzero(values > 4 * precision * max(values, default=0.0))
    part = found.columns[:, some]
    largest = np.take_along_axis(part, np.argmax(np.abs(part), axis=0)[None], axis=0)
    columns, singular_values = np.zeros((len(part), n_directions)), np.zeros(n_directions)
    columns[:, some] = part / (np.sign(largest) * np.linalg.norm(part, axis=0))
    singular_values[some] = np.sqrt(values[some]) / rows.unit
    return Directions(columns, singular_values)
