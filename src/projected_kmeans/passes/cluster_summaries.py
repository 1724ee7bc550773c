"""SCORE: what clusters are: sizes, spreads, means, columns that stand out, rows near and far.

One walk adds up rows, squares of columns and lists of rows, by exact sums, so that no number
depends on blocks or threads. Descriptions, reports and commands all take their numbers from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.block_source import BlockSource, WrappedBlocks
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import (
    RANKED,
    Block,
    OnBlock,
    Role,
    Task,
    first,
    merge_ranked,
    prepare,
    read,
)
from projected_kmeans.passes.problem import Problem, own_distances
from projected_kmeans.results import Floats, Labels

# A column counts as constant if its variance is at most this share of its mean square: less than
# that is rounding.
CONSTANT = 1e-12


@dataclass(frozen=True)
class ClusterSummaries:
    """What a walk over rows finds about k clusters and d columns; means are weighted.

    Only rows that are in a cluster count: rows with holes and trimmed rows have no share in
    anything here.
    """

    rows: NDArray[np.int64]  # (k,): the number of rows
    mass: Floats  # (k,): the sum of the weights
    inertia: Floats  # (k,): the weighted sum of squared distances to the center
    means: Floats  # (k, d): the mean of every column in every cluster; of unit rows with "cosine"
    mean: Floats  # (d,): the mean of every column over all rows
    deviation: Floats  # (d,): the weighted standard deviation of every column over all rows
    nearest: NDArray[Any]  # RANKED (k, n): the rows nearest to the center, by their distances
    farthest: NDArray[Any]  # RANKED (k, m): the rows farthest from it, by minus their distances

    @property
    def share(self) -> Floats:
        """(k,): the share of each cluster in the weight of all rows that are in a cluster."""
        return np.asarray(self.mass / self.mass.sum())

    @property
    def spread(self) -> Floats:
        """(k,): the root of the weighted mean squared distance to the center."""
        return np.asarray(np.sqrt(self.inertia / np.where(self.mass > 0, self.mass, 1.0)))

    def correlate(self, cluster: int) -> Floats:
        """Return the correlation of every column with membership in a cluster.

        With the share p of the cluster it is (cluster's mean - mean) / deviation, times
        sqrt(p / (1 - p)). It is between -1 and 1 whatever the unit of a column is; its square is
        the share of the column's variance that membership in the cluster explains. A column that
        is constant, and a cluster without rows or with all of them, has the correlation 0. A word
        that occurs in one text only has a small one, however rare it is.
        """
        share = self.mass[cluster] / self.mass.sum()
        if not 0 < share < 1:
            return np.zeros(len(self.mean))
        gaps = self.means[cluster] - self.mean
        scale = np.sqrt(share / (1 - share))
        scores = scale * np.divide(
            gaps, self.deviation, out=np.zeros(len(gaps)), where=self.deviation > 0
        )
        return np.asarray(np.clip(scores, -1.0, 1.0))


def summarize_clusters(
    problem: Problem,
    centers: Floats,
    labels: Labels | None = None,
    *,
    n_nearest: int = 0,
    n_farthest: int = 0,
) -> ClusterSummaries:
    """Measure clusters and columns in one walk; without labels rows go to their nearest centers.

    Rows that are clustered by direction have length one. So many of the nearest and farthest rows
    are listed for each center.
    """
    plain = replace(problem, spherical=False)  # means of columns are not of length one
    own = np.zeros(problem.source.shape[0], dtype=np.int32) if labels is None else labels
    nearest, farthest = (no_rows(len(centers), size) for size in (n_nearest, n_farthest))
    sums = plain.open_sums(centers)
    about = np.zeros(centers.shape[1]) if problem.source.sparse else centers.mean(axis=0)
    squares = SquaredRows(problem.source, about)
    squared = Problem(squares, squares.bound(problem.ranges), problem.weights, problem.n_threads)
    square_sums = squared.open_sums(np.zeros((1, len(about))))
    rank = partial(_rank, centers, problem.ranges, problem.n_threads)
    tasks = [
        sums.adding(own),
        Task(rank, (read(own), first(nearest), first(farthest))),
        prepare(squares.square, [square_sums.adding(np.zeros_like(own))]),
    ]
    if labels is None:
        problem.assign(centers, own, keep_ties=False, then=tasks, measured=False)
    else:
        problem.source.walk(*tasks)
    moments, about_centers = sums.moments(), sums.about_references()
    mean = multiply(moments.mass, moments.means) / moments.mass.sum()
    mean_squares = square_sums.moments().means[0]
    variance = mean_squares - (mean - about) ** 2
    variance[variance <= CONSTANT * mean_squares] = 0.0
    return ClusterSummaries(
        rows=np.bincount(own, minlength=len(centers)),
        mass=moments.mass,
        inertia=about_centers.squares,
        means=moments.means,
        mean=mean,
        deviation=np.sqrt(variance),
        nearest=nearest,
        farthest=farthest,
    )


def no_rows(n_clusters: int, n_listed: int) -> NDArray[Any]:
    """Return lists without rows (k, n_listed): every key is infinity, every row -1."""
    return Role.FIRST.empty((n_clusters, n_listed), RANKED)


def rank_rows(lists: NDArray[Any], labels: Labels, keys: Floats, start: int) -> None:
    """Merge the rows of a block, of which the first has the index ``start``, into their lists.

    Lists (k, n_listed) hold the rows of each cluster with the smallest keys, ascending; of rows
    with equal keys the one with the lowest index comes first. They are overwritten. Rows with a
    negative label are in no cluster.
    """
    n_clusters, n_listed = lists.shape
    order = np.lexsort((keys, labels))
    begins = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    places = begins[:-1, None] + np.arange(n_listed)
    there = places < begins[1:, None]
    picked = order[np.minimum(places, len(order) - 1)]
    ranked = no_rows(n_clusters, n_listed)
    ranked["key"][there] = keys[picked][there]
    ranked["row"][there] = picked[there] + start
    merge_ranked(lists, ranked, out=lists)


class SquaredRows(WrappedBlocks):
    """The squares of the entries of another source about a point, which is zero for sparse rows."""

    def __init__(self, source: BlockSource, about: Floats) -> None:
        super().__init__(source)
        self.dtype = np.dtype(np.float64)
        self.square = partial(_square, about)
        self._about = about

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row to the last."""
        for block in self.source:
            yield Block(block.start, self.square(block.rows))

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, after its entries were squared."""
        self.source.walk(prepare(self.square, tasks), first=first, on_block=on_block)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default."""
        return self.square(self.source.select(indices))

    def bound(self, ranges: ColumnRanges) -> ColumnRanges:
        """Return ranges that hold all squares, given the ranges of the rows."""
        low, high = ranges.minimum - self._about, ranges.maximum - self._about
        largest = np.maximum(low**2, high**2)
        smallest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2))
        return ColumnRanges(smallest, largest)


def _square(about: Floats, rows: Any) -> Any:
    is_sparse: bool = scipy.sparse.issparse(rows)
    if not is_sparse:
        return (rows - about) ** 2
    found = rows.astype(np.float64)
    found.data **= 2
    return found


def _rank(
    centers: Floats,
    ranges: ColumnRanges,
    n_threads: int,
    block: Block,
    labels: Labels,
    nearest: NDArray[Any],
    farthest: NDArray[Any],
) -> None:
    squared = own_distances(open_blocks(block.rows), centers, labels, ranges, n_threads)
    distances = np.sqrt(squared)
    for lists, keys in ((nearest, distances), (farthest, -distances)):
        if lists.shape[1]:
            rank_rows(lists, labels, keys, block.start)
