"""Rows to their nearest centers, pass after pass, without measuring what is known to be far.

Remembers bounds between passes; the labels are those of `assign_rows`, always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Block, Task, add, update
from projected_kmeans.passes.assignment import assign_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Lower bounds that a row keeps, two bytes each, and centers that a kernel meets at once.
BOUNDS_A_ROW = 16
CENTERS_TOGETHER = 4

# Below so many clusters, and below so many multiplications, a pass that measures all is as fast.
FEWEST_CLUSTERS = 12
LEAST_WORK = 1e7

# The distance that is typical for a row and its center takes this many of the 65,535 quanta: fine
# beside what centers move in a late pass, and eight times as far is still told apart.
TYPICAL_QUANTA = 8192.0
MOST_QUANTA = 65535

# From the fourth pass with bounds on, they must save this share of all distances.
LEAST_SAVING = 0.4
PATIENCE = 4


class NearestSearch:
    """The assignment half of Lloyd's method, over many passes.

    The first pass measures all distances: centers move far after it. From the second on, centers
    stand in groups, and every row keeps an upper bound on the distance to its own center and a
    lower bound for each group (Yinyang k-means). Where bounds do not save enough, they are dropped;
    sparse rows, of which a nonzero meets all centers at once, have none, nor have rows that lie
    elsewhere, where bounds would have to travel.

    Parameters
    ----------
    problem : Problem
        The rows.
    n_clusters : int
        k.

    Attributes
    ----------
    n_distances : int
        Distances between rows and centers that were computed so far.
    """

    def __init__(self, problem: Problem, n_clusters: int) -> None:
        self.n_distances = 0
        self._problem = problem
        source = problem.source
        work = math.prod(source.shape) * n_clusters
        enough = n_clusters >= FEWEST_CLUSTERS and work >= LEAST_WORK
        self._bounded = enough and not (source.sparse or source.distant)
        self._quantum = 0.0
        self._n_bounded = 0
        self._groups: NDArray[np.int32] | None = None
        self._upper = self._lower = np.empty(0, dtype=np.uint16)
        self._centers: Floats = np.empty((0, 0))

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest centers'.

        Parameters
        ----------
        centers : ndarray of float64 (k, columns)
            Where rows may go.
        labels : ndarray of int32 (n,)
            After the first pass they must be those of the pass before.
        keep_ties : bool
            As in `assign_rows`.
        then : sequence of Task, optional
            As in `assign_rows`.
        """
        if self._bounded and self._quantum > 0:
            self._assign_bounded(centers, labels, keep_ties, then)
            return
        problem = self._problem
        near = assign_rows(
            problem.source,
            centers,
            labels,
            keep_ties=keep_ties,
            ranges=problem.ranges,
            n_threads=problem.n_threads,
            then=then,
            measured=self._bounded,
        )
        self.n_distances += len(labels) * len(centers)
        if self._bounded:
            typical = float(np.sqrt(np.mean(near.nearest)))
            self._quantum = TYPICAL_QUANTA / typical if typical > 0 else 0.0
            self._bounded = bool(np.isfinite(self._quantum))

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Drop what is known of rows that were sent to other centers from outside."""
        if self._groups is not None:
            self._lower[rows] = 0

    def _assign_bounded(
        self, centers: Floats, labels: Labels, keep_ties: bool, then: Sequence[Task]
    ) -> None:
        source = self._problem.source
        if self._groups is None:
            self._groups = group_centers(centers)
            self._upper = np.full(len(labels), MOST_QUANTA, dtype=np.uint16)
            self._lower = np.zeros((len(labels), BOUNDS_A_ROW), dtype=np.uint16)
            self._lower[:, len(self._groups) :] = MOST_QUANTA
            self._centers = centers
        drifts, group_drifts = self._drifts(centers)
        frame = Frame.around(centers, compute_type(source.dtype), self._problem.ranges)
        counted = np.zeros(1, dtype=np.int64)
        kernel = partial(
            _assign_bounded,
            frame,
            centers,
            _Limits(self._groups, drifts, group_drifts, self._quantum, keep_ties),
            self._problem.n_threads,
        )
        uses = (update(labels), update(self._upper), update(self._lower), add(counted))
        source.walk(Task(kernel, uses), *then)
        n_distances = int(counted[0])
        self._centers = centers
        self.n_distances += n_distances
        self._n_bounded += 1
        saved = 1 - n_distances / (len(labels) * len(centers))
        if saved < LEAST_SAVING and self._n_bounded >= PATIENCE:
            self._bounded, self._groups = False, None
            self._upper = self._lower = np.empty(0, dtype=np.uint16)

    def _drifts(self, centers: Floats) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Return how far centers moved since the last pass, in quanta, each and by group."""
        assert self._groups is not None
        moved = np.sqrt(np.sum((centers - self._centers) ** 2, axis=1)) * (1 + 1e-12)
        quanta = np.minimum(np.ceil(moved * self._quantum), MOST_QUANTA).astype(np.uint16)
        of_groups = np.zeros(BOUNDS_A_ROW, dtype=np.uint16)
        padded = np.append(quanta, np.uint16(0))
        of_groups[: len(self._groups)] = padded[self._groups].max(axis=1)
        return quanta, of_groups


class _Limits(NamedTuple):
    """What tells a kernel which centers are too far, and who wins a tie."""

    groups: NDArray[np.int32]
    drifts: NDArray[np.uint16]
    group_drifts: NDArray[np.uint16]
    quantum: float
    keep_ties: bool


def _assign_bounded(
    frame: Frame,
    centers: Floats,
    limits: _Limits,
    n_threads: int,
    block: Block,
    labels: Labels,
    upper: NDArray[np.uint16],
    lower: NDArray[np.uint16],
    counted: NDArray[np.int64],
) -> None:
    counted[0] += _native.bounded_assignment(
        block.rows,
        frame.origin,
        frame.scale,
        frame.centers,
        centers,
        *limits,
        labels,
        upper,
        lower,
        n_threads,
    )


def group_centers(centers: Floats) -> NDArray[np.int32]:
    """Return groups of centers that lie together, of equal size, one a row, padded with -1.

    Halves the centers again and again across the direction in which they spread most.
    """
    n_clusters = len(centers)
    least = -(-n_clusters // BOUNDS_A_ROW)
    size = -(-least // CENTERS_TOGETHER) * CENTERS_TOGETHER
    n_groups = -(-n_clusters // size)
    groups = np.full((n_groups, size), -1, dtype=np.int32)

    def fill(members: NDArray[np.int64], first: int, last: int) -> None:
        if last - first == 1:
            groups[first, : len(members)] = members
            return
        middle = (first + last) // 2
        order = members[np.argsort(_spread(centers[members]), kind="stable")]
        cut = (middle - first) * size
        fill(order[:cut], first, middle)
        fill(order[cut:], middle, last)

    fill(np.arange(n_clusters), 0, n_groups)
    return groups


def _spread(points: Floats) -> Floats:
    """Return where points stand along the direction in which they spread most, roughly."""
    offsets = points - points.mean(axis=0)
    along = offsets @ offsets[np.argmax(np.sum(offsets * offsets, axis=1))]
    for _ in range(3):
        axis = along @ offsets
        norm = float(np.linalg.norm(axis))
        if not 0 < norm < np.inf:
            return np.zeros(len(points))
        along = offsets @ (axis / norm)
    return np.asarray(along)
