"""Exact sums over the rows of each cluster, accurate for whatever rows there are.

One grid serves all clusters as long as it is fine enough, which is known after the sums. Where it
is not, because a few values are very far from all others, the rows are summed again on a grid for
each cluster (`careful_sums`). Wide sparse rows in memory are summed a few clusters at a time
(`clusterwise_sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.tasks import Block, Task
from projected_kmeans.passes.careful_sums import CarefulSums
from projected_kmeans.passes.cluster_totals import TOLERANCE
from projected_kmeans.passes.clusterwise_sums import (
    ClusterwiseSums,
    JoinedMoments,
    References,
    sums_are_wide,
)
from projected_kmeans.passes.grid_sums import GridSums
from projected_kmeans.passes.moment_grids import (
    ReferenceBounds,
    mark_columns_without_zeros,
    shared_grid,
)
from projected_kmeans.passes.moments import Moments
from projected_kmeans.results import Floats, Labels

# Sums of all clusters, or of clusters that were summed a few at a time.
SomeMoments: TypeAlias = Moments | JoinedMoments

# Sums of fewer numbers than this are kept from one step to the next, which takes up to 64 MB.
# Sparse rows are summed clusterwise from there on.
MAX_KEPT = 2**22


class ClusterSums:
    """Exact sums over the rows of every cluster, kept up to date while labels change.

    Parameters
    ----------
    source : BlockSource
        n rows.
    references : References
        A reference point for each cluster, in an array of float64 (k, columns) or as rows of the
        source. Sums are of x - reference, so that they lose no digits if the reference lies near
        the mean of the cluster.
    weights : ndarray of float64 (n,) or None
        The weights of the rows; None counts every row once.
    ranges : ColumnRanges
        The column ranges of the source, from which the spacings of the exact sums follow.
    n_threads : int, default=0
        The number of threads; 0 means as many as OpenMP allows.
    spherical : bool, default=False
        Whether centers have length one.

    Attributes
    ----------
    references : References
        The reference points.
    """

    def __init__(
        self,
        source: BlockSource,
        references: References,
        weights: Floats | None,
        ranges: ColumnRanges,
        n_threads: int = 0,
        *,
        spherical: bool = False,
    ) -> None:
        self.references = references
        self._source, self._weights, self._spherical = source, weights, spherical
        self._n_threads, self._ranges = n_threads, ranges
        # The partitions that were added last, for sums that are made at the end or again.
        self._partitions: tuple[Labels, ...] = ()
        self._sums: GridSums | ClusterwiseSums
        if source.resident and sums_are_wide(source, len(references)):
            self._sums = ClusterwiseSums(
                source, references, weights, ranges, n_threads, spherical=spherical
            )
        else:
            # The array itself, because Lloyd's method asks whether moments are about it.
            points = references if isinstance(references, np.ndarray) else references[:]
            self._sums = _open_grid_sums(source, points, weights, ranges, n_threads)

    @property
    def is_small(self) -> bool:
        """Whether the sums are kept from one step to the next."""
        return is_kept(len(self.references), self._source.shape[1])

    def update(self, labels: Labels, before: Labels | None = None) -> SomeMoments:
        """Walk over the rows and bring the sums up to date with labels.

        Parameters
        ----------
        labels : ndarray of int32 (n,)
            The cluster of every row.
        before : ndarray of int32 (n,), optional
            The labels that the sums were taken for. Then only rows whose label changed are moved
            from one cluster to another, which gives the same bits as adding all rows anew. None
            if nothing was added yet.
        """
        self._source.walk(self.adding(labels, before))
        return self.moments()

    def adding(self, labels: Labels, before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block, or moves rows whose label changed.

        The labels must stay as they are until `moments` was called.
        """
        return self.adding_repeated((labels,), before)

    def adding_repeated(self, partitions: Sequence[Labels], before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block once for each of several partitions.

        These have different clusters, so that a row is added at most once to the same sum.
        """
        self._partitions = tuple(partitions)
        if isinstance(self._sums, ClusterwiseSums):
            return Task(_do_nothing)  # the rows are summed when all of them have their labels
        return self._sums.adding(partitions, before)

    @property
    def parts(self) -> tuple[Floats, Floats]:
        """The sums on their grids: offsets (2, k, columns), and weights and squares (3, k, 2).

        They can be stored and given to `resume` later. They are empty for clusterwise sums, which
        are taken from the labels again.
        """
        if isinstance(self._sums, ClusterwiseSums):
            return np.empty((2, 0, 0)), np.empty((3, 0, 2))
        return self._sums.offsets, self._sums.totals

    def resume(self, offsets: Floats, totals: Floats, labels: Labels) -> None:
        """Continue from the `parts` of sums over these labels that had the same references."""
        if isinstance(self._sums, GridSums):
            self._sums.offsets, self._sums.totals = offsets, totals
        self._partitions = (labels,)

    def of_some(self, clusters: slice, labels: Labels) -> ClusterSums | None:
        """Return the sums of some clusters, as if they alone had been opened and added.

        None if they alone would have another grid, or if sums are clusterwise. The labels are those
        of the partition that these clusters are.
        """
        found = ClusterSums(
            self._source,
            self.references[clusters],
            self._weights,
            self._ranges,
            self._n_threads,
            spherical=self._spherical,
        )
        mine, other = self._sums, found._sums
        if not (isinstance(mine, GridSums) and isinstance(other, GridSums)):
            return None
        if not other.has_grid_of(mine):
            return None
        found.resume(mine.offsets[:, clusters].copy(), mine.totals[:, clusters].copy(), labels)
        return found

    def moments(self, *, last: bool = False) -> SomeMoments:
        """Return the sums of the rows added so far.

        They are about other references, near the means, if the rows had to be summed again. If
        they are the ``last``, no rows can be added afterwards, which saves memory.
        """
        found = self._find_moments(last)
        return found if found.accurate else self._careful.about_means(self.references[:])

    def about_references(self) -> SomeMoments:
        """Return the sums of the rows added so far, for the sum of w ||x - r||^2.

        They are about the given references in any case. Their inertia about means may have lost
        digits. No rows can be added afterwards.
        """
        found = self._find_moments(last=True)
        if found.error_about_references <= TOLERANCE * found.inertia_about_references:
            return found
        return self._careful.about(self.references[:])

    def _find_moments(self, last: bool = False) -> SomeMoments:
        if isinstance(self._sums, ClusterwiseSums):
            return self._sums.sum(*self._partitions)
        return self._sums.moments(self._spherical, last=last)

    @property
    def _careful(self) -> CarefulSums:
        return CarefulSums(
            self._source, self._partitions, self._weights, self._n_threads, self._spherical
        )


@dataclass
class KeptSums:
    """The sums over the last partition, which a step leaves for the next; None if there are none.

    The next step then only needs the rows that move. Large sums are not kept, because the next step
    needs their memory.
    """

    sums: ClusterSums | None = None

    def keep(self, sums: ClusterSums | None) -> None:
        """Leave sums for the next step, if they are small."""
        self.sums = sums if sums is not None and sums.is_small else None


def is_kept(n_clusters: int, n_columns: int) -> bool:
    """Return whether sums of this size are kept from one step to the next."""
    return n_clusters * n_columns < MAX_KEPT


def _open_grid_sums(
    source: BlockSource,
    references: Floats,
    weights: Floats | None,
    ranges: ColumnRanges,
    n_threads: int,
) -> GridSums:
    """Return sums on a grid that serves all clusters."""
    n_rows = source.shape[0]
    grid = shared_grid(ranges, ReferenceBounds.of(references), weights, n_rows)
    if source.sparse:
        mark_columns_without_zeros(grid, ranges)
    counts = None if weights is None else np.full(len(references), float(n_rows))
    return GridSums(source, references, weights, grid, counts, n_threads)


def _do_nothing(block: Block) -> None:
    pass
