"""Prepare rows for bounds, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse

from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.proof_rows import ProofRows, never_stop
from projected_kmeans.certificates.sparse_proof_rows import SparseProofRows
from projected_kmeans.results import Floats


def prepare_rows(
    rows: Any, weights: Floats | None = None, check: Callable[[], None] = never_stop
) -> ProofRows:
    """Return rows as bounds see them.

    Parameters
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept.
    weights : ndarray of float64 (n,) or None
        None counts every row once.
    check : callable, optional
        Called before every block of every walk over the rows; may raise to stop it.
    """
    if scipy.sparse.issparse(rows):
        return SparseProofRows(rows, weights, check)
    return DenseProofRows(rows, weights, check)
