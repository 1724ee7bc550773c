"""CLUSTER: how many centers around its cluster a row has to meet, found by trying some rows.

Where clusters are clear, the nearest center of a row is one of very few around its present one.
Where they are not, as in noise, it may be any of hundreds. Lists of centers are as long as needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.row_arrays import take_entries
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Rows that are tried, evenly spaced.
TRIED_ROWS = 2048

# Lengths of lists that may be enough, and the share of the rows that may miss their nearest center.
LENGTHS, MAX_MISSED = (16, 32, 64), 1 / 512


def count_enough(problem: Problem, centers: Floats, labels: Labels, neighbours: Labels) -> int:
    """Return how many centers around its present one a row has to meet, or 0 if it is unknown.

    It is unknown if the lists that are given miss the nearest centers of too many rows.

    Parameters
    ----------
    problem : Problem
        n rows.
    centers : ndarray of float64 (k, columns)
        The centers.
    labels : ndarray of int32 (n,)
        The present center of every row.
    neighbours : ndarray of int32 (k, m)
        The nearest centers of every center, itself first.
    """
    n_rows = problem.source.shape[0]
    rows = np.arange(0, n_rows, max(1, n_rows // TRIED_ROWS))
    sample = replace(problem, source=ArrayBlocks(problem.source.select(rows)), weights=None)
    nearest: Labels = np.zeros(len(rows), np.int32)
    sample.label(centers, nearest)
    found = neighbours[take_entries(labels, rows)] == nearest[:, None]
    for length in LENGTHS:
        if 1 - found[:, :length].any(axis=1).mean() <= MAX_MISSED:
            return int(min(length, neighbours.shape[1]))
    return 0
