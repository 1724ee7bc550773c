"""The largest eigenpairs of a symmetric matrix that changes a little from step to step.

A block of vectors is kept from step to step. A step multiplies it by a polynomial of the matrix,
which is large above the block's lowest eigenvalue and small below (Chebyshev), and takes the
eigenpairs of the matrix within the block (Rayleigh, Ritz). Only products with the matrix are
needed. The pairs are rough in the first steps and improve as the matrix settles, which is all that
a search needs. If the block would be a large part of all vectors, all eigenpairs are computed.

Everything is computed in float32, and nothing here is part of a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blas_threads import strictly
from projected_kmeans.keys import CERTIFICATE, open_stream

Matrix = NDArray[np.float32]

# Polynomials in the first step, in which nothing is known yet.
FIRST_ROUNDS = 3
# Vectors in the block for each one that is wanted, and how many more.
BLOCK_SHARE = 1.25
BLOCK_EXTRA = 6
# All eigenpairs are computed if this many blocks have more vectors than there are rows.
ALL_BLOCKS = 2.2
# Steps of Lanczos' method that find the range of the eigenvalues.
RANGE_STEPS = 12
# The range in which the polynomial is small has at least this share of the range above it, or else
# float32 could not hold what it is above.
MIN_RANGE = 0.02
# Added where a number may be 0 and must not.
TINY = 1e-30

# From vectors (n, m) to their products with the matrix.
Product = Callable[[Matrix], Matrix]


class Eigenpairs(NamedTuple):
    """The largest eigenpairs that were found, in descending order.

    Attributes
    ----------
    values : ndarray of float32 (m,)
        The eigenvalues.
    vectors : ndarray of float32 (n, m)
        The eigenvectors, one a column.
    """

    values: Matrix
    vectors: Matrix


class TopEigenpairs:
    """Finds eigenpairs again and again, each time for a matrix close to the one before.

    Parameters
    ----------
    n_rows : int
        The size of the matrices.
    degree : int
        Of the polynomial. The eigenpairs lag behind the matrix less if it is higher.
    """

    def __init__(self, n_rows: int, degree: int) -> None:
        self._n_rows, self._degree = n_rows, degree
        self._block: Matrix | None = None
        self._lowest = self._cut = self._largest = 0.0

    def find(
        self, multiply: Product, make_dense: Callable[[], Matrix], n_wanted: int
    ) -> Eigenpairs:
        """Return the largest eigenpairs, at least as many as wanted if there are so many.

        Parameters
        ----------
        multiply : callable
            Multiplies vectors by the matrix.
        make_dense : callable
            Returns the matrix; called if all eigenpairs are computed.
        n_wanted : int
            How many are wanted.
        """
        size = int(BLOCK_SHARE * n_wanted) + BLOCK_EXTRA
        if ALL_BLOCKS * size > self._n_rows:
            found = strictly(lambda: _decompose(make_dense()))
            self._block = found.vectors[:, :size]
            self._lowest, self._largest = float(found.values[-1]), float(found.values[0])
            self._cut = float(found.values[min(size, self._n_rows) - 1])
            return found
        known = self._block is not None
        block = self._resize(size)
        if not known:
            self._lowest, self._largest = strictly(lambda: _find_range(multiply, block[:, 0]))
            self._cut = (self._lowest + self._largest) / 2
        for _ in range(1 if known else FIRST_ROUNDS):
            found = strictly(partial(self._improve, multiply, block))
            block = found.vectors
            self._cut, self._largest = float(found.values[-1]), float(found.values[0])
        self._block = block
        return found

    def _resize(self, size: int) -> Matrix:
        """Return the block with as many vectors as asked for; new ones are random."""
        known = self._block if self._block is not None else np.empty((self._n_rows, 0), np.float32)
        missing = size - known.shape[1]
        if missing <= 0:
            return known[:, :size]
        stream = open_stream(0, CERTIFICATE, self._n_rows, size)
        new = stream.normal(size=(self._n_rows, missing)) / np.sqrt(self._n_rows)
        return np.hstack([known, new.astype(np.float32)])

    def _improve(self, multiply: Product, block: Matrix) -> Eigenpairs:
        """Return the eigenpairs within the block, after multiplying it by the polynomial."""
        lowest = min(self._lowest, self._cut - MIN_RANGE * (self._largest - self._cut) - TINY)
        middle, reach = np.float32((self._cut + lowest) / 2), np.float32((self._cut - lowest) / 2)

        def stretch(vectors: Matrix) -> Matrix:
            return np.asarray((multiply(vectors) - middle * vectors) / reach, dtype=np.float32)

        before, now = block, stretch(block)
        for _ in range(self._degree - 1):
            before, now = now, 2 * stretch(now) - before
        basis = np.linalg.qr(now)[0]
        small = basis.T @ multiply(basis)
        values, vectors = _decompose((small + small.T) / 2)
        return Eigenpairs(values, basis @ vectors)


def _decompose(matrix: NDArray[Any]) -> Eigenpairs:
    values, vectors = np.linalg.eigh(matrix)
    return Eigenpairs(values[::-1], np.ascontiguousarray(vectors[:, ::-1]))


def _find_range(multiply: Product, start: Matrix) -> tuple[float, float]:
    """Return the lowest and the largest eigenvalue, roughly (Lanczos)."""
    vector = start[:, None] / np.linalg.norm(start)
    last, length = np.zeros_like(vector), np.float32(0.0)
    diagonal, sides = [], []
    for _ in range(min(RANGE_STEPS, len(start))):
        product = multiply(vector) - length * last
        diagonal.append(float((vector.T @ product)[0, 0]))
        product -= np.float32(diagonal[-1]) * vector
        length = np.linalg.norm(product).astype(np.float32)
        sides.append(float(length))
        last, vector = vector, product / max(length, np.float32(TINY))
    values = np.linalg.eigvalsh(
        np.diag(diagonal) + np.diag(sides[:-1], 1) + np.diag(sides[:-1], -1)
    )
    return float(values[0]) - 0.3 * sides[-1], float(values[-1])
