"""CLUSTER, POLISH: passes that compare each row with the centers around its cluster only.

All rows of a cluster share one list of centers, so that a pass is a dense product of the rows of a
cluster with the centers of its list. Its work does not grow with the number of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import walk_entries
from projected_kmeans.blocks.tasks import Block, Task, add, fill, read, update
from projected_kmeans.passes.assignment import NOTHING, Nearness, new_distances
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels


@dataclass(frozen=True)
class CenterLists:
    """Some centers for each of several groups of rows.

    Attributes
    ----------
    starts : ndarray of int64 (n_groups + 1,)
        Where the list of each group begins in ``members``, and the end of the last.
    members : ndarray of int32
        Indices of centers, list after list; no list is empty.
    """

    starts: NDArray[np.int64]
    members: Labels

    @classmethod
    def join(cls, lists: Sequence[NDArray[Any]]) -> CenterLists:
        """Return some lists as one value."""
        sizes = [len(one) for one in lists]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(starts, np.concatenate(lists).astype(np.int32))

    @classmethod
    def of_rows(cls, table: NDArray[Any]) -> CenterLists:
        """Return lists of the same length, one in each row of a table.

        Examples
        --------
        >>> lists = CenterLists.of_rows(np.array([[0, 1], [1, 2]]))
        >>> lists.starts, lists.members
        (array([0, 2, 4]), array([0, 1, 1, 2], dtype=int32))
        """
        starts = np.arange(0, table.size + 1, table.shape[1], dtype=np.int64)
        return cls(starts, np.ascontiguousarray(table.ravel(), dtype=np.int32))


def assign_listed(
    problem: Problem,
    centers: Floats,
    lists: CenterLists,
    labels: Labels,
    groups: Labels | None = None,
    then: Sequence[Task] = (),
    frame: Frame | None = None,
    measured: bool = True,
) -> Nearness:
    """Give every row the label of the nearest center that its group lists.

    Parameters
    ----------
    problem : Problem
        n dense rows.
    centers : ndarray of float64 (k, columns)
        The centers.
    lists : CenterLists
        The centers of each group.
    labels : ndarray of int32 (n,)
        Overwritten. Of equally near centers the present label wins, or else the lowest.
    groups : ndarray of int32 (n,), optional
        The group of every row; by default its present label.
    then : sequence of Task, optional
        What to do with every block after its rows got their labels.
    frame : Frame, optional
        The coordinates around the centers, if they are known already.
    measured : bool, default=True
        Whether to return the distances.

    Returns
    -------
    Nearness
        The distances of all rows to the nearest and the second nearest of the listed centers, or
        of no rows if not ``measured``.
    """
    source = problem.source
    dtype = compute_type(source.dtype)
    frame = frame or Frame.around(centers, dtype, problem.ranges)
    inside = new_distances(source) if measured else ()
    kernel = partial(assign_block, frame, centers, lists, problem.n_threads)
    source.walk(Task(kernel, (read(groups), update(labels), *map(fill, inside))), *then)
    return Nearness(frame, inside)


def assign_block(
    frame: Frame,
    centers: Floats,
    lists: CenterLists,
    n_threads: int,
    block: Block,
    groups: Labels | None,
    labels: Labels,
    nearest: NDArray[Any] | None = None,
    second: NDArray[Any] | None = None,
) -> None:
    """Assign the rows of one block; see `assign_listed`. Rows of the group -1 stay as they are."""
    if nearest is None or second is None:
        nearest, second = np.empty((2, len(labels)), frame.centers.dtype)
    _native.nearest_listed(
        block.rows,
        frame.origin,
        frame.scale,
        frame.centers,
        centers,
        groups,
        lists.starts,
        lists.members,
        labels,
        nearest,
        second,
        n_threads,
    )


def _count(sizes: NDArray[np.int64], block: Block, counted: NDArray[np.int64]) -> None:
    counted[0] += sizes[block.rows].sum()


class ListedSearch:
    """Finds the nearest of the centers that a row's cluster lists; a `Search` for Lloyd's method.

    Parameters
    ----------
    problem : Problem
        The rows, dense.
    lists : CenterLists
        For every cluster the centers that its rows may go to, its own among them.

    Attributes
    ----------
    n_distances : int
        The number of distances between rows and centers computed so far.
    """

    def __init__(self, problem: Problem, lists: CenterLists) -> None:
        self.n_distances, self.remembered = 0, NOTHING
        self._problem, self._lists = problem, lists

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest listed centers; ties are kept in any case."""
        counted = np.zeros(1, dtype=np.int64)
        count = partial(_count, np.diff(self._lists.starts))
        walk_entries(labels, Task(count, (add(counted),)))
        self.n_distances += int(counted[0])
        assign_listed(self._problem, centers, self._lists, labels, then=then, measured=False)

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Do nothing, because a row of another cluster meets the centers of that cluster's list."""
