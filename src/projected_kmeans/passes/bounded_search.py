"""Nearest centers over many passes, skipping centers that bounds show to be too far (Yinyang).

`NearestSearch` remembers bounds on distances between passes. Its labels are always those of
`assign_rows`, which measures every distance.
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
from projected_kmeans.blocks.row_arrays import put_entries, walk_entries
from projected_kmeans.blocks.tasks import Block, Task, add, update
from projected_kmeans.passes.assignment import NOTHING, assign_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Each row keeps 16 lower bounds of two bytes, one for each group of centers. The kernel compares a
# row with four centers at once, so that the size of a group is a multiple of four.
BOUNDS_PER_ROW = _native.BOUNDS_PER_ROW
CENTERS_TOGETHER = _native.CENTERS_TOGETHER

# With fewer clusters, or fewer multiplications in a pass, measuring all distances is as fast.
MIN_CLUSTERS = 12
MIN_WORK = 1e7

# Bounds are whole numbers (quanta) up to 65,535. The typical distance of a row to its center is
# 8,192 quanta: small enough a unit to see what centers move in a late pass, and distances up to
# eight times the typical one still fit.
TYPICAL_QUANTA = 8192.0
MAX_QUANTA = _native.MAX_QUANTA

# Bounds begin when centers move by less than this share of the typical distance for each cluster:
# by 10 % of it with 64 clusters, in the root of the mean of squares. Before that bounds save so
# little that measuring all distances is faster. On digits passes take 1 to 12 % less time so.
MAX_DRIFT = 1.6e-3

# Bounds are dropped if, from the fourth pass with them on, they save less than 40 % of the
# distances.
MIN_SAVING = 0.4
PATIENCE = 4


class NearestSearch:
    """Finds the nearest of all centers, over many passes; a `Search` for Lloyd's method.

    The first passes measure all distances, because centers still move far. Later centers form
    groups, and every row keeps an upper bound on the distance to its own center and a lower bound
    on the distance to each group (Yinyang k-means). If a typical distance is given, bounds are
    kept from the first pass on. Bounds that save too little are dropped. Sparse
    rows have no bounds; the package's docstring says why. Bounds of rows on the workers of a
    cluster stay there; rows of Dask's own schedulers have none.

    Parameters
    ----------
    problem : Problem
        The rows.
    n_clusters : int
        k.
    typical : float, default=0.0
        A typical distance of a row to its center, if centers are means of clusters already. 0 if
        it is not known.
    min_clusters : int, default=12
        With fewer clusters no bounds are kept.
    min_work : float, default=1e7
        With fewer multiplications in a pass no bounds are kept.
    max_drift : float, default=1.6e-3
        Bounds begin when centers move by less than this share of the typical distance, times k.

    Attributes
    ----------
    n_distances : int
        The number of distances between rows and centers computed so far.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        typical: float = 0.0,
        *,
        min_clusters: int = MIN_CLUSTERS,
        min_work: float = MIN_WORK,
        max_drift: float = MAX_DRIFT,
    ) -> None:
        self.n_distances, self.remembered = 0, NOTHING
        self._problem, self._max_drift = problem, max_drift
        source = problem.source
        work = math.prod(source.shape) * n_clusters
        enough = n_clusters >= min_clusters and work >= min_work
        beside_rows = source.keeps_new_rows or not source.distant
        self._bounded = enough and beside_rows and not source.sparse
        self._choose_quantum(typical)
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
        """Overwrite labels by the nearest centers.

        Parameters
        ----------
        centers : ndarray of float64 (k, columns)
            The centers.
        labels : ndarray of int32 (n,)
            From the second pass on, they must be the labels that the pass before left, except for
            the rows named in `rows_reassigned`.
        keep_ties : bool
            As in `assign_rows`.
        then : sequence of Task, optional
            As in `assign_rows`.
        """
        if self.keeps_bounds and self._moved_little(centers):
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
            total = np.zeros(1)
            task = Task(partial(_add_up, near.frame), (add(total),))
            walk_entries(near.inside[0], task)
            self._choose_quantum(math.sqrt(total[0] / len(labels)))
            self._centers = centers

    @property
    def keeps_bounds(self) -> bool:
        """Whether passes keep bounds as soon as centers move little."""
        return self._bounded and self._quantum > 0

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Forget the bounds of rows that the caller gave other labels."""
        if self._groups is not None:
            put_entries(self._lower, rows, np.zeros((len(rows), BOUNDS_PER_ROW), np.uint16))

    def _moved_little(self, centers: Floats) -> bool:
        """Return whether bounds are kept already, or centers move so little that they begin."""
        if self._groups is not None or not len(self._centers):
            return True
        moved = math.sqrt(float(np.sum((centers - self._centers) ** 2)) / len(centers))
        return moved * self._quantum <= self._max_drift * len(centers) * TYPICAL_QUANTA

    def _choose_quantum(self, typical: float) -> None:
        """Choose the unit of bounds for a typical distance; there is none for 0."""
        self._quantum = TYPICAL_QUANTA / typical if typical > 0 else 0.0
        self._bounded = self._bounded and bool(np.isfinite(self._quantum))

    def _assign_bounded(
        self, centers: Floats, labels: Labels, keep_ties: bool, then: Sequence[Task]
    ) -> None:
        source = self._problem.source
        if self._groups is None:
            self._groups = group_centers(centers)
            no_group = np.arange(BOUNDS_PER_ROW) >= len(self._groups)
            new_array, dtype = source.new_row_array, np.dtype(np.uint16)
            self._upper = new_array(dtype, MAX_QUANTA)
            self._lower = new_array(dtype, MAX_QUANTA * no_group, (BOUNDS_PER_ROW,))
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
        if saved < MIN_SAVING and self._n_bounded >= PATIENCE:
            self._bounded, self._groups = False, None
            self._upper = self._lower = np.empty(0, dtype=np.uint16)

    def _drifts(self, centers: Floats) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Return how far centers moved since the last pass, in quanta: each center, each group."""
        assert self._groups is not None
        moved = np.sqrt(np.sum((centers - self._centers) ** 2, axis=1)) * (1 + 1e-12)
        quanta = np.minimum(np.ceil(moved * self._quantum), MAX_QUANTA).astype(np.uint16)
        of_groups = np.zeros(BOUNDS_PER_ROW, dtype=np.uint16)
        padded = np.append(quanta, np.uint16(0))
        of_groups[: len(self._groups)] = padded[self._groups].max(axis=1)
        return quanta, of_groups


def _add_up(frame: Frame, block: Block, total: Floats) -> None:
    total[0] += float(np.sum(frame.undo(block.rows)))


class _Limits(NamedTuple):
    """What the kernel needs to see which centers are too far, and which center wins a tie.

    The fields are arguments of the kernel, in their order.
    """

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
    """Return groups of neighbouring centers: one group in each row, padded with -1.

    The centers are halved along the direction in which they spread most, then each half again,
    until at most 16 groups of equal size are left.
    """
    n_clusters = len(centers)
    min_size = -(-n_clusters // BOUNDS_PER_ROW)
    size = -(-min_size // CENTERS_TOGETHER) * CENTERS_TOGETHER
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
    """Return coordinates of points along the direction in which they spread most.

    The direction is found by three steps of power iteration, which is accurate enough for groups.
    """
    offsets = points - points.mean(axis=0)
    along = offsets @ offsets[np.argmax(np.sum(offsets * offsets, axis=1))]
    for _ in range(3):
        axis = along @ offsets
        norm = float(np.linalg.norm(axis))
        if not 0 < norm < np.inf:
            return np.zeros(len(points))
        along = offsets @ (axis / norm)
    return np.asarray(along)
