"""CLUSTER: the optimum of k-means for at most 15 rows, by dynamic programming over sets of rows.

Approximations are compared with it. Its time grows as 3^n, so it takes at most `MAX_ROWS` rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.search.settling import describe_labels

MAX_ROWS = 15

# A set of rows is an integer: bit i stands for row i.
Sets = NDArray[np.int32]


class SetSplits(NamedTuple):
    """Every way to split a set of rows into a part that holds its last row, and the rest."""

    parts: Sets
    rests: Sets
    starts: NDArray[np.int64]  # set s has the splits from starts[s - 1] to starts[s]


def find_optimum(problem: Problem, n_clusters: int) -> Clustering:
    """Return a partition of at most 15 rows into at most k clusters with the minimum inertia.

    Clusters are empty if fewer than k reach the same inertia.
    """
    n_rows = problem.source.shape[0]
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"n_samples={n_rows} is too many for the exact solver; use at most {MAX_ROWS} rows"
        )
    labels = _find_labels(_measure_sets(problem), n_clusters, n_rows)
    return describe_labels(problem, labels, n_clusters)


def _measure_sets(problem: Problem) -> Floats:
    """Return the inertia of every set of rows: its summed squared distances over its size.

    Weights count a distance by the product of the weights of its two rows, and a size by their
    sum. The sets of the first i rows are those of the first i - 1 rows, without and with row i.
    """
    rows = problem.source.take(np.arange(problem.source.shape[0]))  # in float64
    corners = np.stack([problem.ranges.minimum, problem.ranges.maximum])
    squared = measure_rows(ArrayBlocks(rows), rows, Frame.around(corners, rows.dtype), 1)
    weights = np.ones(len(rows))
    if problem.weights is not None:
        weights = problem.weights / problem.weights.max()
        squared = weights[:, None] * squared * weights
    pairs, sizes = np.zeros(1), np.zeros(1)
    for row in range(len(squared)):
        added = np.zeros(1)
        for other in range(row):
            added = np.concatenate([added, added + squared[row, other]])
        pairs = np.concatenate([pairs, pairs + added])
        sizes = np.concatenate([sizes, sizes + weights[row]])
    return pairs / np.where(sizes > 0, sizes, 1.0)


@lru_cache(maxsize=2)
def _list_splits(n_rows: int) -> SetSplits:
    """Return the splits of all sets of n rows, (3^n - 1) / 2 in number."""
    wholes, parts = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    listed: list[tuple[Sets, Sets]] = []
    for row in range(n_rows):
        bit = np.int32(1 << row)
        order = np.argsort(wholes, kind="stable")
        listed.append((wholes[order] | bit, parts[order] | bit))
        wholes = np.concatenate([wholes, wholes | bit, wholes | bit])
        parts = np.concatenate([parts, parts, parts | bit])
    sets = np.concatenate([pair[0] for pair in listed])
    taken = np.concatenate([pair[1] for pair in listed])
    starts = np.searchsorted(sets, np.arange(1, 2**n_rows + 1))
    return SetSplits(taken, sets ^ taken, starts)


def _find_labels(inertia_of: Floats, n_clusters: int, n_rows: int) -> NDArray[np.int32]:
    """Return the labels of an optimal partition; cluster 0 holds the last row."""
    splits = _list_splits(n_rows)
    layers = [np.where(np.arange(2**n_rows) == 0, 0.0, np.inf), inertia_of]
    for _ in range(2, n_clusters):
        totals = inertia_of[splits.parts] + layers[-1][splits.rests]
        layers.append(np.concatenate([[0.0], np.minimum.reduceat(totals, splits.starts[:-1])]))
    labels = np.zeros(n_rows, dtype=np.int32)
    left = 2**n_rows - 1
    for cluster in range(n_clusters):
        if left == 0:
            break
        span = slice(splits.starts[left - 1], splits.starts[left])
        remaining = layers[n_clusters - cluster - 1]
        totals = inertia_of[splits.parts[span]] + remaining[splits.rests[span]]
        part = int(splits.parts[span][np.argmin(totals)])
        labels[(part >> np.arange(n_rows)) & 1 == 1] = cluster
        left ^= part
    return labels
