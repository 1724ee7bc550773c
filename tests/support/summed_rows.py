"""Rows to sum over clusters, and their moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import Problem
from tests.support.layouts import draw_rows


def sum_rows(
    X: Any,
    labels: NDArray[Any],
    references: NDArray[Any] | None = None,
    weights: NDArray[Any] | None = None,
    *,
    block_rows: int | None = None,
    n_threads: int = 1,
) -> Moments:
    """Return the moments of rows in either form, by default about the first row of a cluster."""
    source = (SparseBlocks if scipy.sparse.issparse(X) else ArrayBlocks)(X, block_rows)
    if references is None:
        references = source.take(np.array([np.argmax(labels == j) for j in range(max(labels) + 1)]))
    problem = Problem(source, scan_columns(source), weights, n_threads)
    return problem.sum(labels.astype(np.int32), references)


def draw_problem(seed: int, n: int, d: int, k: int, dtype: str) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, references near the rows and weights of many magnitudes."""
    stream = np.random.default_rng(seed)
    X = draw_rows(seed, n, d, dtype)
    labels = stream.integers(k, size=n)
    references = X[stream.integers(n, size=k)].astype(np.float64) + stream.normal(size=(k, d))
    return X, labels, references, np.exp(stream.normal(scale=3, size=n))
