"""The optimum of k-means for at most 15 rows, by dynamic programming over sets of rows.

Approximations are compared with it. Its time grows as 3^n, so it takes at most `MAX_ROWS` rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_count
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats

MAX_ROWS = 15

# A set of rows is an integer: bit i stands for row i.
Sets = NDArray[np.int32]


class Splits(NamedTuple):
    """Every way to split a set of rows into a part that holds its last row, and the rest.

    The splits of set s are ``parts`` and ``rests`` from ``starts[s - 1]`` to ``starts[s]``.
    """

    parts: Sets
    rests: Sets
    starts: NDArray[np.int64]


def solve_exactly(X: ArrayLike, n_clusters: int) -> Clustering:
    """Return a partition into at most k clusters with the minimum inertia.

    Parameters
    ----------
    X : array-like (n, d)
        At most 15 rows.
    n_clusters : int
        k, at most n.

    Returns
    -------
    Clustering
        The optimum. Clusters are empty if fewer than k reach the same inertia.

    Examples
    --------
    >>> from projected_kmeans.paper import solve_exactly
    >>> best = solve_exactly([[0.0], [1.0], [5.0], [6.0], [20.0]], 3)
    >>> best.labels, best.inertia
    (array([2, 2, 1, 1, 0], dtype=int32), 1.0)
    """
    check_count("n_clusters", n_clusters)
    rows = check_array(X, dtype=np.float64, order="C")
    if len(rows) > MAX_ROWS:
        raise ValueError(
            f"n_samples={len(rows)} is too many for the exact solver; use at most {MAX_ROWS} rows"
        )
    if n_clusters > len(rows):
        raise ValueError(
            f"n_clusters={n_clusters} exceeds n_samples={len(rows)}; use at most {len(rows)}"
        )
    source = ArrayBlocks(rows)
    problem = Problem(source, scan_columns(source), n_threads=1)
    labels = _find_labels(_measure_sets(problem), n_clusters, len(rows))
    first = np.zeros(n_clusters, dtype=np.int64)
    clusters, where = np.unique(labels, return_index=True)
    first[clusters] = where
    return problem.sum(labels, source.take(first)).describe(labels)


def _measure_sets(problem: Problem) -> Floats:
    """Return the inertia of every set of rows: its summed squared distances over its size.

    The sets of the first i rows are those of the first i - 1 rows, without and with row i.
    """
    source = problem.source
    corners = np.stack([problem.ranges.minimum, problem.ranges.maximum])
    frame = Frame.around(corners, source.dtype)
    squared = measure_rows(source, source.select(), frame, problem.n_threads)
    pairs = np.zeros(1)
    sizes = np.zeros(1)
    for row in range(len(squared)):
        added = np.zeros(1)
        for other in range(row):
            added = np.concatenate([added, added + squared[row, other]])
        pairs = np.concatenate([pairs, pairs + added])
        sizes = np.concatenate([sizes, sizes + 1])
    return pairs / np.maximum(sizes, 1)


@lru_cache(maxsize=2)
def _list_splits(n_rows: int) -> Splits:
    """Return the splits of all sets of n rows, (3^n - 1) / 2 in number."""
    wholes = np.zeros(1, dtype=np.int32)
    parts = np.zeros(1, dtype=np.int32)
    found: list[tuple[Sets, Sets]] = []
    for row in range(n_rows):
        bit = np.int32(1 << row)
        order = np.argsort(wholes, kind="stable")
        found.append((wholes[order] | bit, parts[order] | bit))
        wholes = np.concatenate([wholes, wholes | bit, wholes | bit])
        parts = np.concatenate([parts, parts, parts | bit])
    sets = np.concatenate([pair[0] for pair in found])
    taken = np.concatenate([pair[1] for pair in found])
    starts = np.searchsorted(sets, np.arange(1, 2**n_rows + 1))
    return Splits(taken, sets ^ taken, starts)


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
