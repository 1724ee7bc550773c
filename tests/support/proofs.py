"""Rows and checks for tests of lower bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from projected_kmeans.certificates.proof_rows import ProofRows, prepare_rows
from projected_kmeans.running.deadlines import OutOfTime


class Patience:
    """A check that raises `OutOfTime` after it has been called a number of times."""

    def __init__(self, n_checks: float) -> None:
        self.left = n_checks

    def __call__(self) -> None:
        """Count a call; raise if there were too many."""
        self.left -= 1
        if self.left < 0:
            raise OutOfTime


def draw_instance(seed: int, n: int, d: int, kind: str) -> NDArray[np.float64]:
    """Return normal rows, or rows that are hard for rounding, as `kind` says."""
    stream = np.random.default_rng(seed)
    X = stream.normal(size=(n, d))
    if kind == "duplicates":
        return stream.integers(0, 2, size=(n, d)).astype(np.float64)
    if kind == "offset":
        return X + 1e6
    if kind == "far offset":
        return 1e-3 * X + 1e12
    if kind == "outlier":
        X[0] *= 1e7
    return X * {"tiny": 1e-150, "huge": 1e140}.get(kind, 1.0)


def draw_sparse(seed: int, n: int, d: int, share: float = 0.5) -> NDArray[np.float64]:
    """Return an array with many zeros; `share` is the expected share of other numbers."""
    stream = np.random.default_rng(seed)
    return stream.normal(size=(n, d)) * (stream.random((n, d)) < share)


def open_proof_rows(kind: str, X: Any, n_checks: float) -> ProofRows:
    """Return rows that were prepared without a limit, and whose walks stop after some checks."""
    patience = Patience(np.inf)
    rows = prepare_rows(X if kind == "dense" else csr_array(X), None, patience)
    patience.left = n_checks
    return rows
