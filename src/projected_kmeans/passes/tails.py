"""CLUSTER: whether a few far rows make up much of the sum of squares (heavy tails)."""

from __future__ import annotations

import numpy as np

from projected_kmeans.passes.problem import Problem

# What is measured is the share of the sum of squares that the farthest 1 / 256 of the rows hold.
# A restart on a subsample of a few thousand rows sees only some of them.
FAR_PART = 256

# From this share on, tails are heavy. A multivariate t distribution has about 0.35 with 2 degrees
# of freedom and 0.1 with 3; normal rows, digits and mixtures have at most 0.02.
MIN_TAIL_SHARE = 0.1

# Of more rows than that, so many are measured. The farthest 1 / 256 are then 1,024 rows.
TAIL_ROWS = 2**18


def measure_tail(problem: Problem) -> float:
    """Return the share of the (weighted) sum of squares that the farthest rows hold.

    Squares are those of distances to the mean, so that it takes two passes over the rows. It is 0
    if all rows are equal.

    Examples
    --------
    >>> from projected_kmeans.blocks.column_scan import scan_columns
    >>> from projected_kmeans.blocks.memory_blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.concatenate([np.zeros(510), [3.0, -3.0]])[:, None])
    >>> measure_tail(Problem(rows, scan_columns(rows)))
    1.0
    """
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    squares = problem.distances(problem.mean, labels)
    if problem.weights is not None:
        squares *= problem.weights
    squares.sort()
    total = float(squares.sum())
    n_far = max(1, len(squares) // FAR_PART)
    return float(squares[-n_far:].sum()) / total if total > 0 else 0.0
