"""SCORE: how columns of clusters differ from those of all rows: means and correlations.

One walk labels the rows and adds them up, by the exact sums of `ClusterSums`, so that no number
depends on blocks or threads.
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
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, first, prepare, read
from projected_kmeans.passes.problem import Problem, own_distances
from projected_kmeans.passes.ranked_rows import no_rows, rank_rows
from projected_kmeans.results import Floats, Labels

# A column counts as constant if its variance is at most this share of its mean square: less than
# that is rounding.
CONSTANT = 1e-12


@dataclass(frozen=True)
class ClusterColumns:
    """What a walk over rows finds about k clusters and d columns; means are weighted."""

    rows: NDArray[np.int64]  # (k,): the number of rows
    mass: Floats  # (k,): the sum of the weights
    spread: Floats  # (k,): the root of the mean squared distance to the center
    means: Floats  # (k, d): the mean of every column in every cluster
    mean: Floats  # (d,): the mean of every column over all rows
    deviation: Floats  # (d,): the weighted standard deviation of every column over all rows
    nearest: NDArray[Any]  # RANKED (k, n): the rows nearest to the center, with their distances

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
        found = scale * np.divide(
            gaps, self.deviation, out=np.zeros(len(gaps)), where=self.deviation > 0
        )
        return np.asarray(np.clip(found, -1.0, 1.0))


def measure_columns(problem: Problem, centers: Floats, n_nearest: int) -> ClusterColumns:
    """Label rows by their nearest centers, and measure clusters and columns.

    Rows that are clustered by direction have length one. ``n_nearest`` rows are listed for each
    center.
    """
    plain = replace(problem, spherical=False)  # means of columns are not of length one
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    nearest = no_rows(len(centers), n_nearest)
    sums = plain.open_sums(centers)
    about = np.zeros(centers.shape[1]) if problem.source.sparse else centers.mean(axis=0)
    squares = SquaredRows(problem.source, about)
    squared = Problem(squares, squares.bound(problem.ranges), problem.weights, problem.n_threads)
    square_sums = squared.open_sums(np.zeros((1, len(about))))
    none = np.zeros(len(labels), dtype=np.int32)
    rank = partial(_rank, centers, problem.ranges, problem.n_threads)
    problem.assign(
        centers,
        labels,
        keep_ties=False,
        then=[
            sums.adding(labels),
            Task(rank, (read(labels), first(nearest))),
            prepare(squares.square, [square_sums.adding(none)]),
        ],
    )
    moments, about_centers = sums.moments(), sums.about_references()
    mass = moments.mass
    filled = np.where(mass > 0, mass, 1.0)
    mean = multiply(mass, moments.means) / mass.sum()
    mean_squares = square_sums.moments().means[0]
    variance = mean_squares - (mean - about) ** 2
    variance[variance <= CONSTANT * mean_squares] = 0.0
    return ClusterColumns(
        rows=np.bincount(labels, minlength=len(centers)),
        mass=mass,
        spread=np.sqrt(about_centers.squares / filled),
        means=moments.means,
        mean=mean,
        deviation=np.sqrt(variance),
        nearest=nearest,
    )


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
    lists: NDArray[Any],
) -> None:
    squared = own_distances(open_blocks(block.rows), centers, labels, ranges, n_threads)
    rank_rows(lists, labels, np.sqrt(squared), block.start)
