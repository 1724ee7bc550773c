"""The step of a search: the nearest matrix X that a clustering could have.

X stands for the matrix Z of a clustering (`multipliers`), and keeps only some of what is true of Z:
X = q q^T + P with P q = 0, eigenvalues of P from 0 to 1, and trace k - 1. The P of the nearest such
X to a symmetric matrix has the matrix's eigenvectors, and its eigenvalues less a number, clipped to
[0, 1].

Only the largest eigenpairs are needed, of a matrix that changes a little from step to step. So a
block of vectors is kept. A step multiplies it by a polynomial of the matrix, which is large above
the block's lowest eigenvalue and small below (Chebyshev), and takes the eigenpairs of the matrix
within the block (Rayleigh, Ritz). The pairs are rough in the first steps and improve as the matrix
settles, which is all that a search needs. If the block would be a large part of all vectors, all
eigenpairs are computed.

Everything is computed in float32, and nothing here is part of a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blas_threads import strictly
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.keys import CERTIFICATE, open_stream
from projected_kmeans.results import Floats

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


class Diverged(Exception):
    """Raised if the numbers of a search have become too large for float32."""


class Eigenpairs(NamedTuple):
    """Eigenvalues in descending order (m,), and their eigenvectors, one a column (n, m).

    X without q q^T is vectors times diag(values) times their transpose.
    """

    values: Matrix
    vectors: Matrix


class PrimalStep:
    """Finds the nearest X, again and again.

    ``gram`` is G divided by the penalty, in float32. The penalty is at first the mean of the k - 1
    largest eigenvalues of G.
    """

    def __init__(self, bound: MatrixBound, degree: int) -> None:
        roots = bound.roots
        self._direction = (roots / np.sqrt(np.sum(roots * roots))).astype(np.float32)[:, None]
        self._rank = self._trace = bound.n_clusters - 1
        self._search = TopEigenpairs(len(roots), degree)
        self.gram = bound.gram.astype(np.float32)
        largest = self._decompose(self.gram).values[: self._trace]
        self.penalty = float(np.mean(np.maximum(largest, 0.0), dtype=np.float64))
        self._search = TopEigenpairs(len(roots), degree)  # other matrices have other eigenvalues
        if self.penalty > 0:
            self.gram /= np.float32(self.penalty)

    def project(self, matrix: Matrix) -> Eigenpairs:
        """Return the nearest X to a symmetric matrix; raise `Diverged` if it is not finite."""
        values, vectors = self._decompose(matrix)
        clipped = clip_to_sum(values.astype(np.float64), self._trace)
        self._rank = max(1, int(np.count_nonzero(clipped)))
        kept = slice(0, self._rank)
        return Eigenpairs(clipped[kept].astype(np.float32), vectors[:, kept])

    def write(self, pairs: Eigenpairs, out: Matrix) -> None:
        """Write X into an array (n, n)."""
        right = np.hstack([self._direction, pairs.vectors])
        left = np.hstack([self._direction, pairs.vectors * pairs.values])
        strictly(lambda: np.matmul(left, right.T, out=out))

    def rescale(self, factor: float) -> None:
        """Multiply the penalty by a factor."""
        self.penalty *= factor
        self.gram /= np.float32(factor)

    def _decompose(self, matrix: Matrix) -> Eigenpairs:
        """Return the largest eigenpairs of J times a matrix times J."""
        direction = self._direction

        def centre(vectors: Matrix) -> Matrix:
            return np.asarray(vectors - direction * (direction.T @ vectors))

        def multiply(vectors: Matrix) -> Matrix:
            return centre(matrix @ centre(vectors))

        def make_dense() -> Matrix:
            # q gets the lowest eigenvalue of all, because it is no eigenvector that X may use.
            side = matrix @ direction
            lowest = 1 + np.linalg.norm(matrix)
            side -= direction * ((direction.T @ side) - lowest) / 2
            return np.asarray(matrix - side * direction.T - direction * side.T)

        try:
            pairs = self._search.find(multiply, make_dense, self._rank)
        except np.linalg.LinAlgError:
            raise Diverged from None
        if not np.isfinite(pairs.values).all():
            raise Diverged
        return pairs


def clip_to_sum(values: Floats, total: float) -> Floats:
    """Return values less a number, clipped to [0, 1], so that they add up to a total.

    If there are fewer values than the total, all become 1.
    """
    points = np.sort(np.concatenate([values, values - 1]))[::-1]
    sums = np.clip(values - points[:, None], 0.0, 1.0).sum(axis=1)
    clipped: Floats = np.clip(values - np.interp(total, sums, points), 0.0, 1.0)
    return clipped


class TopEigenpairs:
    """Finds eigenpairs again and again, each time for a matrix close to the one before.

    The eigenpairs lag behind the matrix less if the degree of the polynomial is higher.
    """

    def __init__(self, n_rows: int, degree: int) -> None:
        self._n_rows, self._degree = n_rows, degree
        self._block: Matrix | None = None
        self._lowest = self._cut = self._largest = 0.0

    def find(
        self, multiply: Product, make_dense: Callable[[], Matrix], n_wanted: int
    ) -> Eigenpairs:
        """Return the largest eigenpairs, at least as many as wanted if there are so many.

        The matrix is given by its products with vectors. It is made as a whole only if all
        eigenpairs are computed.
        """
        size = int(BLOCK_SHARE * n_wanted) + BLOCK_EXTRA
        if ALL_BLOCKS * size > self._n_rows:
            pairs = strictly(lambda: _decompose(make_dense()))
            self._block = pairs.vectors[:, :size]
            self._lowest, self._largest = float(pairs.values[-1]), float(pairs.values[0])
            self._cut = float(pairs.values[min(size, self._n_rows) - 1])
            return pairs
        known = self._block is not None
        block = self._resize(size)
        if not known:
            self._lowest, self._largest = strictly(lambda: _find_range(multiply, block[:, 0]))
            self._cut = (self._lowest + self._largest) / 2
        for _ in range(1 if known else FIRST_ROUNDS):
            pairs = strictly(partial(self._improve, multiply, block))
            block = pairs.vectors
            self._cut, self._largest = float(pairs.values[-1]), float(pairs.values[0])
        self._block = block
        return pairs

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
