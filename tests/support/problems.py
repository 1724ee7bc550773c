"""Problems for tests: rows in an array with all that passes over them need."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem


def make_problem(
    X: NDArray[Any],
    weights: NDArray[Any] | None = None,
    *,
    block_rows: int | None = None,
    n_threads: int = 1,
) -> Problem:
    """Return the problem of the rows of an array, with the ranges of its columns."""
    source = ArrayBlocks(X, block_rows)
    return Problem(source, scan_columns(source), weights, n_threads)
