"""REDUCE: the directions along which rows vary most, by a sign sketch or an exact decomposition.

Finds directions; it does not choose how many, nor which rows to look at.

With C = (A - c)^T diag(w) (A - c) and a sign matrix R, one walk over the rows gives C R, stretch by
stretch as S^T (S R), and C is about (C R) (R^T C R)^-1 (C R)^T (Nystrom; Tropp, Yurtsever, Udell,
Cevher 2017), whose eigenvectors are the directions. A power pass puts an orthonormal basis of C R
in the place of R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.keys import draw_signs
from projected_kmeans.projections.centred_rows import CentredRows, Signs, SparseRows
from projected_kmeans.results import Floats

# Up to here min(n, d) is small: the Gram matrix and its eigenvectors cost less than they save.
EXACT_SIZE = 256


class Directions(NamedTuple):
    """Orthonormal columns (d, t), zero beyond the rank, and the singular values along them."""

    columns: Floats
    singular_values: Floats


class Eigenpairs(NamedTuple):
    """Eigenvectors of C, as columns of any length, and their eigenvalues in descending order."""

    columns: Floats
    values: Floats


def find_directions(
    rows: CentredRows,
    n_directions: int,
    *,
    key: int,
    n_oversamples: int,
    n_power: int,
    exact: bool | None = None,
) -> Directions:
    """Return the directions of most variance, as a sign sketch shows them or exactly.

    Parameters
    ----------
    rows : CentredRows
        n rows of d columns.
    n_directions : int
        t; at most d.
    key : int
        What fixes the sign matrix.
    n_oversamples, n_power : int
        Columns of R beyond t, and passes over the rows after the first.
    exact : bool, optional
        Whether to decompose the smaller Gram matrix, in O(n d min(n, d)); by default where it is
        small.
    """
    n_columns = rows.shape[1]
    exact = min(rows.shape) <= EXACT_SIZE if exact is None else exact
    with one_blas_thread():
        if exact:
            return _tidy(_decompose(rows), n_directions, rows)
        signs = Signs(key, min(n_directions + n_oversamples, n_columns))
        if isinstance(rows, SparseRows) and rows.shape[0] < n_columns:
            return _tidy(_decompose_few(rows, signs, n_power, n_directions), n_directions, rows)
        product, omega = rows.multiply(signs), None
        for _ in range(n_power):
            omega = _orthonormal(product)
            del product  # as large as the next one
            product = rows.multiply(omega)
        if omega is None:
            omega = draw_signs(key, (n_columns, signs.width)).astype(np.float64)
        return _tidy(_decompose_sketch(omega, product, rows.precision), n_directions, rows)


def _orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of the columns, which are overwritten."""
    basis = scipy.linalg.qr(columns, mode="economic", overwrite_a=True)[0]
    return np.ascontiguousarray(basis)


def _decompose(rows: CentredRows) -> Eigenpairs:
    """Return all eigenvectors of C, by the Gram matrix of columns or of rows, the smaller one."""
    n_rows, n_columns = rows.shape
    few_rows = n_rows < n_columns
    values, vectors = scipy.linalg.eigh(rows.row_gram() if few_rows else rows.column_gram())
    values, vectors = values[::-1], vectors[:, ::-1]
    if few_rows:
        vectors = rows.combine(vectors)
    return Eigenpairs(vectors, values)


def _decompose_few(rows: SparseRows, signs: Signs, n_power: int, n_directions: int) -> Eigenpairs:
    """Return the first eigenvectors of the same approximation of C, for fewer rows than columns.

    With Q an orthonormal basis of A R it is A^T Q Q^T A: bases are of rows, which are few, and the
    Gram matrix of A^T Q is as small as R is narrow. Products with sparse rows cost little beside.
    """
    basis = np.linalg.qr(rows.sketch(signs))[0]
    for _ in range(n_power):
        basis = np.linalg.qr(rows.sketch(rows.combine(basis)))[0]
    columns = rows.combine(basis)
    values, vectors = scipy.linalg.eigh(columns.T @ columns)
    return Eigenpairs(columns @ vectors[:, : -n_directions - 1 : -1], values[::-1])


def _decompose_sketch(omega: Floats, product: Floats, precision: float) -> Eigenpairs:
    """Return the eigenvectors of the Nystrom approximation that C omega gives of C."""
    core = omega.T @ product
    values, vectors = scipy.linalg.eigh((core + core.T) / 2)
    seen = values > values[-1] * precision * len(values)
    root = product @ (vectors[:, seen] / np.sqrt(values[seen]))
    left, singular, _ = scipy.linalg.svd(root, full_matrices=False)
    return Eigenpairs(left, singular**2)


def _tidy(found: Eigenpairs, n_directions: int, rows: CentredRows) -> Directions:
    """Return t directions of length one, their largest entry positive.

    They are zero where the sum of squares along them is not told from zero by rounding.
    """
    values = found.values[:n_directions]
    some = np.flatnonzero(values > 4 * rows.precision * max(values, default=0.0))
    part = found.columns[:, some]
    largest = np.take_along_axis(part, np.argmax(np.abs(part), axis=0)[None], axis=0)
    columns, singular_values = np.zeros((rows.shape[1], n_directions)), np.zeros(n_directions)
    columns[:, some] = part / (np.sign(largest) * np.linalg.norm(part, axis=0))
    singular_values[some] = np.sqrt(values[some]) / rows.unit
    return Directions(columns, singular_values)
