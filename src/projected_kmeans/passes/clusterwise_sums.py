"""Exact sums over the rows of each cluster, a few clusters at a time, for wide sparse rows.

The sums of k clusters in d columns, on two grids and with their reference points, take 24 k d
bytes: 720 MB for 30 clusters of rows with a million columns, which have 200 entries each. Here the
rows of a few clusters are summed at a time, and only their means are kept. The sums are exact, so
they have the bits of `ClusterSums`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.grid_sums import GridSums
from projected_kmeans.passes.moment_grids import (
    MomentGrid,
    ReferenceBounds,
    mark_columns_without_zeros,
    shared_grid,
)
from projected_kmeans.passes.moments import (
    TOLERANCE,
    Moments,
    add_errors,
    error_of_squares,
    most_have_spread,
    quick_error,
)
from projected_kmeans.passes.total_inertia import describe_partition
from projected_kmeans.results import Clustering, Floats, Labels

# Numbers in the sums of a group of clusters: 16 MB of float64.
GROUP_SIZE = 2**21

# From this many numbers in k centers on, 32 MB, sparse rows are summed a few clusters at a time.
MIN_WIDE_SIZE = 2**22


class References(Protocol):
    """The reference points of all clusters: an array (k, columns), or rows that are fetched."""

    def __len__(self) -> int:
        """Return the number of points."""

    def __getitem__(self, group: slice) -> Floats:
        """Return some points as a dense array."""


@dataclass(frozen=True)
class RowReferences:
    """Rows of a source as reference points, made dense only where they are needed.

    Attributes
    ----------
    source : BlockSource
        The rows.
    indices : ndarray of int64 (k,)
        Which rows.
    """

    source: BlockSource
    indices: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.indices)

    def __getitem__(self, group: slice) -> Floats:
        """Return some points as a dense array."""
        return self.source.take(self.indices[group])


@dataclass(frozen=True)
class JoinedMoments:
    """Means and inertia of clusters that were summed a few at a time.

    The attributes and properties are those of `Moments`, without the offsets.
    """

    references: References
    mass: Floats
    means: Floats
    squares: Floats
    spread: Floats
    cluster_inertia: Floats
    cluster_error: Floats
    squares_of_means: Floats
    lost_squares: Floats
    moved_means: NDArray[np.bool_]
    spherical: bool
    lost: tuple[float, float] | None

    @cached_property
    def inertia(self) -> float:
        """F, the sum of w ||x - center||^2."""
        return math.fsum(self.cluster_inertia.tolist())

    @cached_property
    def inertia_error(self) -> float:
        """The most that `inertia` can differ from its exact value; see `Moments`."""
        if not self.spherical:
            quick = quick_error(self.mass, self.squares, self.lost, self.means.shape[1])
            if quick <= TOLERANCE * self.inertia:
                return quick
        return add_errors(self.cluster_error)

    @property
    def accurate(self) -> bool:
        """Whether the grid of the sums was fine enough for the inertia and for most means."""
        if not self.inertia_error <= TOLERANCE * self.inertia:
            return False
        if most_have_spread(self.mass, self.squares, self.lost):
            return True
        moved = self.moved_means[self.mass > 0]
        return bool(2 * np.count_nonzero(moved) <= len(moved))

    @property
    def inertia_about_references(self) -> float:
        """The sum of w ||x - r||^2."""
        return math.fsum(self.squares.tolist())

    @property
    def error_about_references(self) -> float:
        """The most that `inertia_about_references` can differ from its exact value."""
        return error_of_squares(self.squares, self.lost_squares)

    @property
    def sum_of_squares(self) -> float:
        """The sum of w ||x||^2: inertia about the means, and the squares of the means."""
        return math.fsum(self.spread) + math.fsum(self.squares_of_means)

    def describe(self, labels: Labels) -> Clustering:
        """Return the partition with these labels, its centers and its inertia."""
        return describe_partition(self, labels)


def sums_are_wide(source: BlockSource, n_clusters: int) -> bool:
    """Return whether rows are sparse, and sums over their clusters large beside them."""
    return source.sparse and n_clusters * source.shape[1] >= MIN_WIDE_SIZE


@dataclass(frozen=True)
class ClusterwiseSums:
    """Takes the sums over the clusters of a partition, a few clusters at a time.

    Attributes
    ----------
    source : BlockSource
        n sparse rows in memory.
    references : References
        A reference point for each cluster.
    weights : ndarray of float64 (n,) or None
        The weights of the rows; None counts every row once.
    ranges : ColumnRanges
        The column ranges of the source.
    n_threads : int
        The number of threads; 0 means as many as OpenMP allows.
    spherical : bool
        Whether centers have length one.
    """

    source: BlockSource
    references: References
    weights: Floats | None
    ranges: ColumnRanges
    n_threads: int
    spherical: bool

    def sum(self, labels: Labels) -> JoinedMoments:
        """Return the sums over the rows of every cluster. They may not be accurate."""
        k, n_columns = len(self.references), self.source.shape[1]
        order = np.argsort(labels, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=k))])
        grid = self._grid()
        numbers, means = np.empty((7, k)), np.empty((k, n_columns))
        moved = np.empty(k, bool)
        lost: tuple[float, float] | None = None
        for group in self._groups():
            rows = np.sort(order[ends[group.start] : ends[group.stop]])
            part = self._sum_group(labels, rows, group, grid)
            means[group], moved[group], lost = part.means, part.moved_means, part.lost
            numbers[:, group] = (
                part.mass,
                part.squares,
                part.spread,
                part.cluster_inertia,
                part.cluster_error,
                part.squares_of_means,
                part.lost_squares,
            )
        mass, squares, spread, inertia, error, of_means, lost_squares = numbers
        return JoinedMoments(
            references=self.references,
            mass=mass,
            means=means,
            squares=squares,
            spread=spread,
            cluster_inertia=inertia,
            cluster_error=error,
            squares_of_means=of_means,
            lost_squares=lost_squares,
            moved_means=moved,
            spherical=self.spherical,
            lost=lost,
        )

    def _groups(self) -> Iterator[slice]:
        k, length = len(self.references), max(1, GROUP_SIZE // self.source.shape[1])
        for first in range(0, k, length):
            yield slice(first, min(first + length, k))

    def _grid(self) -> MomentGrid:
        bounds: ReferenceBounds | None = None
        for group in self._groups():
            some = ReferenceBounds.of(self.references[group])
            bounds = some if bounds is None else bounds.joined(some)
        assert bounds is not None
        grid = shared_grid(self.ranges, bounds, self.weights, 1, self.source.shape[0])
        mark_columns_without_zeros(grid, self.ranges)
        return grid

    def _sum_group(
        self, labels: Labels, rows: NDArray[np.int64], group: slice, grid: MomentGrid
    ) -> Moments:
        """Return the sums of a few clusters over their rows."""
        n_clusters, weights, counts = group.stop - group.start, None, None
        if self.weights is not None:
            weights = self.weights[rows]
            counts = np.full(n_clusters, float(self.source.shape[0]))
        source = open_blocks(self.source.select(rows))
        references = self.references[group]
        sums = GridSums(source, references, weights, grid, counts, self.n_threads)
        source.walk(sums.adding([labels[rows] - np.int32(group.start)]))
        return sums.moments(self.spherical)
