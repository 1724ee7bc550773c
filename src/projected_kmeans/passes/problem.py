"""The rows that a solver works on, with all that its passes over them need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Task, fill, first, read, update
from projected_kmeans.passes.assignment import (
    CenterLists,
    Nearness,
    assign_block,
    assign_rows,
    list_farthest,
    own_distances,
)
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.ranked_rows import no_rows
from projected_kmeans.passes.sums import ClusterSums, References, SummedRows
from projected_kmeans.results import Floats, Labels


@dataclass(frozen=True)
class Problem(SummedRows):
    """What stays the same while a solver runs."""

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
        measured: bool = True,
    ) -> Nearness:
        """Overwrite labels by the nearest centers, and return the distances; see `assign_rows`."""
        return assign_rows(
            self.source,
            centers,
            labels,
            keep_ties=keep_ties,
            ranges=self.ranges,
            n_threads=self.n_threads,
            then=then,
            measured=measured,
        )

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
        lists = no_rows(1, n_listed)
        kernel = partial(list_farthest, centers, scale, self.n_threads)
        self.source.walk(Task(kernel, (read(labels), read(self.weights), first(lists))))
        return np.asarray(lists[0])

    def open_sums(self, references: References) -> ClusterSums:
        """Return sums over clusters that can be kept up to date over many passes."""
        return ClusterSums(self, references)

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
