"""Small parts of rows, hard for rounding, whose optimum can be found by trying everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.certificates.proof_rows import prepare_rows
from projected_kmeans.certificates.semidefinite.proof import MatrixBound

KINDS = ("plain", "weights", "duplicates", "offset", "scale", "float32", "cosine")


@dataclass(frozen=True)
class Part:
    """A few rows, for which the optimum can be found by trying everything.

    Attributes
    ----------
    rows : ndarray (n, d)
        The rows, dense.
    weights : ndarray of float64 (n,) or None
        Their weights.
    n_clusters : int
        k.
    is_sparse : bool
        Whether the rows are given as CSR.
    """

    rows: NDArray[Any]
    weights: NDArray[np.float64] | None
    n_clusters: int
    is_sparse: bool

    @property
    def given(self) -> Any:
        """The rows in the form in which they are given."""
        return scipy.sparse.csr_array(self.rows) if self.is_sparse else self.rows

    def open(self) -> MatrixBound:
        """Return what checks multipliers."""
        return MatrixBound(prepare_rows(self.given, self.weights), self.n_clusters)


def draw_part(seed: int, max_rows: int = 9) -> Part:
    """Return rows that are hard for rounding in one way or another."""
    stream = np.random.default_rng(seed)
    n, d, k = stream.integers(2, max_rows + 1), stream.integers(1, 4), stream.integers(1, 5)
    kind = KINDS[seed % len(KINDS)]
    rows = stream.normal(size=(n, d))
    if stream.random() < 0.5:
        rows += 5 * np.eye(d)[stream.integers(d, size=n)] * stream.integers(3, size=(n, 1))
    if kind == "duplicates":
        rows = np.round(rows)[stream.integers(n, size=n)]
    if kind == "offset":
        rows += 10.0 ** stream.integers(2, 13)
    if kind == "scale":
        rows *= 10.0 ** stream.integers(-100, 101)
    if kind == "float32":
        rows = rows.astype(np.float32)
    if kind == "cosine":
        rows = np.asarray(to_unit_rows(rows))
    is_sparse = bool(stream.random() < 0.3)
    if is_sparse:
        rows[stream.random((n, d)) < 0.3] = 0
    weights = None
    if kind == "weights":
        weights = np.exp(stream.normal(scale=stream.choice([0.5, 3, 8]), size=n))
        weights *= 10.0 ** stream.choice([0, -200, 120])
    return Part(rows, weights, int(min(k, n)), is_sparse)
