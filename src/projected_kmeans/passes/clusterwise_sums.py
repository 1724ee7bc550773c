"""Exact sums over the rows of each cluster, a few clusters at a time, for wide sparse rows.

The sums of k clusters in d columns, on two grids and with their reference points, take 24 k d
bytes: 720 MB for 30 clusters of rows with a million columns, which have 200 entries each. Here the
rows of a few clusters are summed at a time, in the columns in which they or their reference points
have entries. In all other columns sums and means are 0. The sums are exact, so they have the bits
of `ClusterSums`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.cluster_totals import ClusterTotals
from projected_kmeans.passes.dot_products import SomeColumns, dot_rows
from projected_kmeans.passes.grid_sums import ColumnPart, GridSums
from projected_kmeans.passes.moment_grids import (
    MomentGrid,
    ReferenceBounds,
    mark_columns_without_zeros,
    shared_grid,
)
from projected_kmeans.passes.moments import Moments
from projected_kmeans.results import Floats, Labels

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

    def find(self, group: slice) -> Any:
        """Return some points as CSR rows of float64."""
        return self.source.select(self.indices[group]).astype(np.float64)

    def bound(self, ranges: ColumnRanges) -> ReferenceBounds:
        """Return the bounds of all points, which lie in the column ranges of the source."""
        points, squares = self.find(slice(None)), [0.0]
        indices = points.indices.astype(np.int64)
        for start, stop in itertools.pairwise(points.indptr):
            columns = SomeColumns(indices[start:stop], points.shape[1])
            values = points.data[None, start:stop]
            squares.extend(dot_rows(values, values, columns).tolist())
        return ReferenceBounds(ranges.minimum, ranges.maximum, max(squares))


@dataclass(frozen=True)
class JoinedMoments(ClusterTotals):
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

    @property
    def n_columns(self) -> int:
        """The number of all columns."""
        return int(self.means.shape[1])


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
        lost = grid.lose(weighted=self.weights is not None)
        numbers, means = np.empty((7, k)), np.zeros((k, n_columns))
        moved = np.empty(k, bool)
        lost_of_rows: tuple[float, float] | None = None
        for group in self._groups(ends):
            rows = np.sort(order[ends[group.start] : ends[group.stop]])
            part = self._sum_group(labels, rows, group, grid, lost)
            assert part.some_columns is not None
            for cluster, mean in enumerate(part.means, group.start):
                means[cluster, part.some_columns.indices] = mean
            moved[group], lost_of_rows = part.moved_means, part.lost
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
            lost=lost_of_rows,
        )

    def _groups(self, ends: NDArray[np.int64]) -> Iterator[slice]:
        """Yield groups of clusters whose sums, in the columns of their rows, are small enough."""
        (n_rows, n_columns), first = self.source.shape, 0
        per_row = (self.source.nnz or 0) / max(1, n_rows)
        for stop in range(1, len(ends)):
            width = min(n_columns, 1 + per_row * (ends[min(stop + 1, len(ends) - 1)] - ends[first]))
            if stop == len(ends) - 1 or (stop + 1 - first) * width > GROUP_SIZE:
                yield slice(first, stop)
                first = stop

    def _grid(self) -> MomentGrid:
        n_rows, n_columns = self.source.shape
        if isinstance(self.references, RowReferences):
            bounds = self.references.bound(self.ranges)
        else:
            k, length = len(self.references), max(1, GROUP_SIZE // n_columns)
            parts = (self.references[first : first + length] for first in range(0, k, length))
            bounds = reduce(ReferenceBounds.joined, map(ReferenceBounds.of, parts))
        grid = shared_grid(self.ranges, bounds, self.weights, n_rows)
        mark_columns_without_zeros(grid, self.ranges)
        return grid

    def _sum_group(
        self,
        labels: Labels,
        rows: NDArray[np.int64],
        group: slice,
        grid: MomentGrid,
        lost: Floats,
    ) -> Moments:
        """Return the sums of a few clusters over their rows, in the columns that these have."""
        n_clusters, weights, counts = group.stop - group.start, None, None
        if self.weights is not None:
            weights = self.weights[rows]
            counts = np.full(n_clusters, float(self.source.shape[0]))
        selected, points = self.source.select(rows), self._find_points(group)
        columns = _find_columns(selected, points)
        source = open_blocks(_keep_columns(selected, columns))
        references = _keep_columns(points, columns).toarray()
        sums = GridSums(
            source,
            references,
            weights,
            grid.of_columns(columns.indices),
            counts,
            self.n_threads,
            part=ColumnPart(columns, lost),
        )
        source.walk(sums.adding([labels[rows] - np.int32(group.start)]))
        return sums.moments(self.spherical)

    def _find_points(self, group: slice) -> Any:
        """Return some reference points as CSR rows of float64."""
        if isinstance(self.references, RowReferences):
            return self.references.find(group)
        points = self.references[group]
        columns = [np.flatnonzero(point) for point in points]
        values = np.concatenate([point[some] for point, some in zip(points, columns, strict=True)])
        starts = np.cumsum([0, *map(len, columns)])
        return scipy.sparse.csr_array((values, np.concatenate(columns), starts), points.shape)


def _find_columns(*parts: Any) -> SomeColumns:
    """Return the columns in which CSR rows have entries."""
    n_columns = parts[0].shape[1]
    found = np.zeros(n_columns, bool)
    for rows in parts:
        found[rows.indices] = True
    return SomeColumns(np.flatnonzero(found), n_columns)


def _keep_columns(rows: Any, columns: SomeColumns) -> Any:
    """Return CSR rows without the other columns, in which they have no entries."""
    places = np.empty(columns.n_columns, rows.indices.dtype)
    places[columns.indices] = np.arange(len(columns.indices), dtype=places.dtype)
    # The arrays are set one by one, because the constructor of SciPy may convert the indices.
    kept = scipy.sparse.csr_array((rows.shape[0], len(columns.indices)), dtype=rows.dtype)
    kept.data, kept.indices, kept.indptr = rows.data, places[rows.indices], rows.indptr
    return kept
