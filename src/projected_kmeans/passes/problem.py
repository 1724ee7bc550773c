"""The rows that a solver works on, and one pass over them: nearest centers, distances, sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges, scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import (
    RANKED,
    Block,
    Role,
    Task,
    fill,
    first,
    merge_ranked,
    read,
    update,
)
from projected_kmeans.documents import Sizes
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.sums import References, SummedRows
from projected_kmeans.results import Floats, Labels


@dataclass(frozen=True)
class Nearness:
    """Squared distances of rows to their nearest and second nearest centers.

    They are rounded in the precision of the kernel, because they come from products of rows and
    centers. `own_distances` computes in float64, and `ClusterSums` gives exact sums.
    """

    frame: Frame  # the coordinates in which the distances were measured
    # Two arrays (n,), in the frame: distances to the nearest center and to the second nearest. They
    # lie where the rows lie, see `BlockSource.new_row_array`. Empty if they were not wanted.
    inside: tuple[Any, ...]

    @property
    def nearest(self) -> Floats:
        """Squared distances to the nearest center, in the units of the rows."""
        return self.frame.undo(np.asarray(self.inside[0]))

    @property
    def second(self) -> Floats:
        """Squared distances to the second nearest center; infinity if there is only one center."""
        return self.frame.undo(np.asarray(self.inside[1]))


def _assign(
    frame: Frame,
    centers: Floats,
    keep_ties: bool,
    n_threads: int,
    block: Block,
    labels: Labels,
    nearest: NDArray[Any] | None = None,
    second: NDArray[Any] | None = None,
) -> None:
    if nearest is None or second is None:
        nearest, second = np.empty((2, len(labels)), frame.centers.dtype)
    inside = frame.origin, frame.scale, frame.centers, centers
    _native.nearest_center(block.rows, *inside, keep_ties, labels, nearest, second, n_threads)


def own_distances(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    ranges: ColumnRanges | None = None,
    n_threads: int = 0,
) -> Floats:
    """Return the squared distance of every row to the center of its label, computed in float64."""
    scale = Frame.around(centers, np.dtype(np.float64), ranges, moved=False).scale
    distances = np.empty(source.shape[0])
    kernel = partial(_measure_own, centers, scale, n_threads)
    source.walk(Task(kernel, (read(labels), fill(distances))))
    return distances


def _measure_own(
    centers: Floats, scale: float, n_threads: int, block: Block, labels: Labels, out: Floats
) -> None:
    out[...] = own_distances_of_block(centers, scale, n_threads, block, labels)


def own_distances_of_block(
    centers: Floats, scale: float, n_threads: int, block: Block, labels: Labels
) -> Floats:
    """Return what `own_distances` does for one block; ``scale`` is that of a frame."""
    distances = np.empty(len(labels))
    _native.own_distances(block.rows, labels, centers, scale, distances, n_threads)
    distances /= scale
    distances /= scale
    return distances


def _list_farthest(
    centers: Floats,
    scale: float,
    n_threads: int,
    block: Block,
    labels: Labels,
    weights: Floats | None,
    lists: NDArray[Any],
) -> None:
    keys = -own_distances_of_block(centers, scale, n_threads, block, labels)
    if weights is not None:
        keys[weights <= 0] = 0
    n_listed = lists.shape[1]
    if len(keys) > n_listed:  # leave out what cannot be listed, equal keys stay
        some = np.flatnonzero(keys <= np.partition(keys, n_listed - 1)[n_listed - 1])
    else:
        some = np.arange(len(keys))
    found = Role.FIRST.empty((1, n_listed), RANKED)
    order = some[np.argsort(keys[some], kind="stable")][:n_listed]
    found["key"][0, : len(order)] = keys[order]
    found["row"][0, : len(order)] = order + block.start
    merge_ranked(lists, found, out=lists)


def measure_rows(
    source: BlockSource, centers: Floats, frame: Frame | None = None, n_threads: int = 0
) -> NDArray[Any]:
    """Return the squared distances (k, n) of all rows to all centers, in a frame.

    They are sums of squared differences, so that the distance between equal points is exactly 0.
    The frame is by default the one around the centers. `Frame.undo` converts to units of the rows.
    """
    dtype = compute_type(source.dtype)
    frame = frame or Frame.around(centers, dtype)
    inside = ((centers.astype(dtype) - frame.origin) * dtype.type(frame.scale)).astype(dtype)
    distances = np.empty((len(centers), source.shape[0]), dtype=dtype)
    source.walk(Task(partial(_measure, frame, inside, n_threads), (fill(distances.T),)))
    return distances


def _measure(
    frame: Frame, centers: NDArray[Any], n_threads: int, block: Block, distances: NDArray[Any]
) -> None:
    out = np.empty((len(centers), block.rows.shape[0]), dtype=centers.dtype)
    _native.squared_distances(block.rows, frame.origin, frame.scale, centers, out, n_threads)
    distances[...] = out.T


@dataclass(frozen=True)
class CenterLists:
    """Indices of centers, list after list: that of group i is members[starts[i]:starts[i + 1]]."""

    starts: NDArray[np.int64]
    members: Labels

    @classmethod
    def join(cls, lists: Sequence[NDArray[Any]]) -> CenterLists:
        """Return several lists, none of them empty, as one value."""
        starts = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
        return cls(starts, np.concatenate(lists).astype(np.int32))

    @classmethod
    def of_rows(cls, table: NDArray[Any]) -> CenterLists:
        """Return lists of the same length, one in each row of a table."""
        starts = np.arange(0, table.size + 1, table.shape[1], dtype=np.int64)
        return cls(starts, np.ascontiguousarray(table.ravel(), dtype=np.int32))


def assign_block(
    frame: Frame,
    centers: Floats,
    lists: CenterLists,
    n_threads: int,
    block: Block,
    groups: Labels | None,
    labels: Labels,
    nearest: NDArray[Any],
    second: NDArray[Any],
) -> None:
    """Assign the rows of one block; see `Problem.assign_listed`."""
    inside = frame.origin, frame.scale, frame.centers, centers
    listed = groups, lists.starts, lists.members
    _native.nearest_listed(block.rows, *inside, *listed, labels, nearest, second, n_threads)


@dataclass(frozen=True)
class Problem(SummedRows):
    """What stays the same while a solver runs."""

    def sizes(self, n_clusters: int) -> Sizes:
        """Return the sizes that arrays of a stored partition of these rows must have."""
        n_rows, n_columns = self.source.shape
        return {"rows": n_rows, "columns": n_columns, "clusters": n_clusters}

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
        measured: bool = True,
    ) -> Nearness:
        """Overwrite labels by the nearest centers; return distances, or none if not ``measured``.

        Which center is nearer is decided in float64 wherever rounding could matter, so no label
        depends on the machine. With ``keep_ties`` labels hold a partition already, and a row keeps
        its label unless another center is strictly nearer. Otherwise, of equally near centers the
        one with the lowest index wins. The tasks ``then`` are done with every block after its rows
        got their labels.
        """
        source, dtype = self.source, compute_type(self.source.dtype)
        frame = Frame.around(centers, dtype, self.ranges, moved=not source.sparse)
        inside = tuple(source.new_row_array(dtype) for _ in range(2 if measured else 0))
        kernel = partial(_assign, frame, centers, keep_ties, self.n_threads)
        source.walk(Task(kernel, (update(labels), *map(fill, inside))), *then)
        return Nearness(frame, inside)

    def label(self, centers: Floats, labels: Labels) -> None:
        """Overwrite labels by the nearest centers, of equally near ones the lowest."""
        self.assign(centers, labels, keep_ties=False, measured=False)

    def assign_listed(
        self,
        centers: Floats,
        lists: CenterLists,
        labels: Labels,
        groups: Labels | None = None,
        then: Sequence[Task] = (),
        frame: Frame | None = None,
    ) -> Nearness:
        """Overwrite labels by the nearest center that the group of each (dense) row lists.

        A row's group is its present label, unless ``groups`` says another one; rows of the group -1
        stay as they are. Of equally near centers the present label wins, or else the lowest.
        Returns the distances to the nearest two listed centers. All rows of a group share one list,
        so that a pass is a dense product, whose work does not grow with the number of clusters.
        """
        dtype = compute_type(self.source.dtype)
        frame = frame or Frame.around(centers, dtype, self.ranges)
        inside = self.source.new_row_array(dtype), self.source.new_row_array(dtype)
        kernel = partial(assign_block, frame, centers, lists, self.n_threads)
        uses = (read(groups), update(labels), *map(fill, inside))
        self.source.walk(Task(kernel, uses), *then)
        return Nearness(frame, inside)

    def distances(self, centers: Floats, labels: Labels) -> Floats:
        """Return the squared distance of every row to the center of its label."""
        return own_distances(self.source, centers, labels, self.ranges, self.n_threads)

    def list_farthest(self, centers: Floats, labels: Labels, n_listed: int) -> NDArray[Any]:
        """Return the rows farthest from the centers of their labels, as RANKED, farthest first.

        Keys are minus the squared distances. Of equally far rows the one with the lowest index
        comes first. Rows without weight count as equal to their centers.
        """
        scale = Frame.around(centers, np.dtype(np.float64), self.ranges, moved=False).scale
        lists = Role.FIRST.empty((1, n_listed), RANKED)
        kernel = partial(_list_farthest, centers, scale, self.n_threads)
        self.source.walk(Task(kernel, (read(labels), read(self.weights), first(lists))))
        return np.asarray(lists[0])

    def sum(self, labels: Labels, references: References) -> Moments:
        """Return the sums over the rows of every cluster; see `ClusterSums`."""
        return self.open_sums(references).update(labels)

    def sum_all(self) -> Moments:
        """Return the sums of all rows as one cluster, about the middle of the columns' ranges."""
        middle = self.ranges.minimum / 2 + self.ranges.maximum / 2
        labels = self.source.new_row_array(np.dtype(np.int32), 0)
        return self.open_sums(middle[None]).update(labels)

    @property
    def mean_variance(self) -> float:
        """The mean over columns of their (weighted) variance, by one pass."""
        moments = replace(self, spherical=False).sum_all()
        return moments.inertia / float(moments.mass[0]) / self.source.shape[1]


def assign_rows(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    *,
    keep_ties: bool,
    ranges: ColumnRanges | None = None,
    n_threads: int = 0,
) -> Nearness:
    """Do what `Problem.assign` does for rows that are used once."""
    problem = Problem(source, ranges or scan_columns(source, n_threads), None, n_threads)
    return problem.assign(centers, labels, keep_ties=keep_ties)
