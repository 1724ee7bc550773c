"""CLUSTER: nearest centers over many passes: of all centers, or of those around a row's cluster.

What a search remembers of one pass saves distances in the next. It never changes a label: among all
centers labels are those of `Problem.assign`, which measures every distance, and among near centers
those of `assign_listed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import walk_entries
from projected_kmeans.blocks.tasks import Block, Task, add, update
from projected_kmeans.documents import Shape
from projected_kmeans.passes.center_graph import (
    MAX_UNGROUPED,
    find_middles,
    find_neighbours,
    group_centers,
    list_near_groups,
)
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import (
    CenterLists,
    Nearness,
    Problem,
    assign_block,
)
from projected_kmeans.passes.pruned_search import PrunedCenters, is_moderate, is_worthwhile
from projected_kmeans.results import Floats, Labels

# Each row keeps 16 lower bounds of two bytes, one for each group of centers (Yinyang k-means). The
# kernel compares a row with four centers at once, so that the size of a group is a multiple of it.
BOUNDS_PER_ROW, CENTERS_TOGETHER = _native.BOUNDS_PER_ROW, _native.CENTERS_TOGETHER

# With fewer clusters, or fewer multiplications in a pass, measuring all distances is as fast.
MIN_CLUSTERS, MIN_WORK = 12, 1e7

# Bounds are whole numbers (quanta) up to 65,535. The typical distance of a row to its center is
# 8,192 quanta: small enough a unit to see what centers move in a late pass, and distances up to
# eight times the typical one still fit.
TYPICAL_QUANTA, MAX_QUANTA = 8192.0, _native.MAX_QUANTA

# Bounds begin when centers move by less than this share of the typical distance for each cluster:
# by 10 % of it with 64 clusters, in the root of the mean of squares. Before that measuring all
# distances is faster. On digits passes take 1 to 12 % less time so.
MAX_DRIFT = 1.6e-3

# Bounds are dropped if, from the fourth pass with them on, they save less than 40 % of distances.
MIN_SAVING, PATIENCE = 0.4, 4

# In the first pass among near centers, the k centers are in 2 sqrt(k) groups, and a row meets those
# of the nearest groups: at least 128 centers.
GROUPS_OF_FIRST_PASS, FIRST_CENTERS = 2, 128

# Bounds of distances to listed centers are loosened by this share of themselves, for the rounding
# of additions.
SLACK = 1e-5


@dataclass(frozen=True)
class Remembered:
    """What labels of the next pass may depend on beside the centers; a checkpoint stores it."""

    # (k, m): the near centers of each, if rows meet the same ones in all further passes.
    lists: Annotated[
        Labels, Shape(("clusters", "any"), below="clusters", distinct=True, may_be_empty=True)
    ] = field(default_factory=lambda: np.empty((0, 0), np.int32))
    # (k,): the prices of clusters, if these have limits of their sizes.
    prices: Annotated[Floats, Shape(("clusters",), may_be_empty=True)] = field(
        default_factory=lambda: np.empty(0)
    )


# What a search remembers whose labels depend on the centers alone.
NOTHING = Remembered()


class Search(Protocol):
    """Finds the nearest center of every row, pass after pass."""

    near: Nearness | None  # the distances of all rows in the last pass, if that measured them
    neighbours: Labels | None  # (k, m): near centers in the last pass, each center itself first
    remembered: Remembered
    # Whether the next pass compares rows with all centers, whatever later ones do.
    looks_at_all: bool
    sees_all: bool  # whether every pass compares rows with all centers
    follows_centers: bool  # whether labels follow centers alone, and not limits of sizes as well

    def assign(
        self, centers: Floats, labels: Labels, *, keep_ties: bool, then: Sequence[Task] = ()
    ) -> None:
        """Overwrite labels by the nearest centers, and do the tasks ``then`` with every block.

        With ``keep_ties`` labels hold a partition, that of the last pass except for rows named in
        `rows_reassigned`, and a row keeps its label unless another center is strictly nearer.
        """

    def measure(self, labels: Labels, centers: Floats | None) -> tuple[Nearness, Labels]:
        """Return the distances of rows to the nearest two centers that the last pass compared.

        If there was no pass, ``centers`` are those to compare with. Also returns the nearest
        centers: ``labels``, unless these do not follow centers alone.
        """

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Forget what is known of rows that the caller gave other labels."""

    def restart(self) -> None:
        """Forget what is known of all rows and centers, because the caller has moved some."""

    def keep_lists(self) -> None:
        """Compare rows of a cluster with the same near centers from the next pass on."""

    def look_at_all(self) -> None:
        """Compare rows with all centers in the next pass."""


class NearestSearch:
    """Finds the nearest of all centers, or of those around a row's cluster; a `Search`.

    The first passes measure distances, because centers still move far. Later ones keep bounds of
    distances. Among all centers of dense rows these are 34 bytes a row; bounds that save too little
    are dropped. Sparse rows have none; the package's docstring says why.

    A row meets the ``n_near`` centers around its present one, or all centers if that is 0. The
    first pass, in which rows have no labels, meets all centers or those of near groups. With
    ``rules_out`` a sketch of the centers rules out most of them, where that saves work. Labels are
    then taken as guesses, and of equally near centers the lowest wins. ``n_distances`` counts the
    distances between rows and centers computed so far.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        n_near: int = 0,
        *,
        rules_out: bool = False,
        min_clusters: int = MIN_CLUSTERS,
        min_work: float = MIN_WORK,
        max_drift: float = MAX_DRIFT,
    ) -> None:
        source = problem.source
        self.n_distances, self._n_near = 0, n_near if n_near < n_clusters else 0
        self.sees_all = self._n_near == 0
        self.near: Nearness | None = None
        self.neighbours: Labels | None = None
        self._keeps_lists, self.looks_at_all, self.follows_centers = False, False, True
        self._last: Floats = np.empty((0, 0))  # the centers of the last pass
        self._problem, self._max_drift = problem, max_drift
        self._neighbours: Labels | None = None
        self._bounds: _BoundedLists | None = None
        self._rules_out = (
            rules_out
            and not source.sparse
            and is_worthwhile(source.shape[0], n_clusters, source.shape[1])
            and is_moderate(problem.ranges)
        )
        enough = n_clusters >= min_clusters and math.prod(source.shape) * n_clusters >= min_work
        beside_rows = source.keeps_new_rows or not source.distant
        self._may_bound = enough and beside_rows and not source.sparse and not self._rules_out
        self.restart()

    @property
    def remembered(self) -> Remembered:
        """The lists of near centers, if they stay."""
        return NOTHING if self._neighbours is None else Remembered(lists=self._neighbours)

    @remembered.setter
    def remembered(self, stored: Remembered) -> None:
        self._neighbours, self._bounds = None, None
        if stored.lists.size:
            self._keep(stored.lists)

    def restart(self) -> None:
        """Forget bounds and lists."""
        self.near, self._neighbours, self._bounds = None, None, None
        self._groups: NDArray[np.int32] | None = None
        self._bounded, self._n_bounded = self._may_bound, 0
        self._upper = self._lower = np.empty(0, dtype=np.uint16)
        self._centers: Floats = np.empty((0, 0))
        self._quantum, self.keeps_bounds = 0.0, False

    def keep_lists(self) -> None:
        """Let lists of near centers stay from the next pass on, with bounds."""
        self._keeps_lists = True

    def look_at_all(self) -> None:
        """Compare rows with all centers in the next pass; lists are made anew after it."""
        self._neighbours, self._bounds, self.looks_at_all = None, None, True

    def assign(
        self, centers: Floats, labels: Labels, *, keep_ties: bool, then: Sequence[Task] = ()
    ) -> None:
        """Overwrite labels by the nearest centers; see `Search`."""
        self.near, self.neighbours, self._last = None, None, centers
        is_full, self.looks_at_all = self.looks_at_all, False
        if not is_full and not self.sees_all and keep_ties:
            return self._assign_near(centers, labels, then)
        if not is_full and not self.sees_all and len(centers) > MAX_UNGROUPED:
            return self._assign_by_groups(centers, labels, then)
        if self._rules_out and self.sees_all:
            return self._assign_pruned(centers, labels, then)
        takes_bounds = self.sees_all and self.keeps_bounds
        if takes_bounds and self._groups is None and len(self._centers):
            # Bounds begin when centers move little.
            moved = math.sqrt(float(np.sum((centers - self._centers) ** 2)) / len(centers))
            little = self._max_drift * len(centers) * TYPICAL_QUANTA
            takes_bounds = moved * self._quantum <= little
        if takes_bounds:
            return self._assign_bounded(centers, labels, keep_ties, then)
        self.near = self._problem.assign(centers, labels, keep_ties=keep_ties, then=then)
        self.n_distances += len(labels) * len(centers)
        if self._bounded:
            total = np.zeros(1)
            add_up = partial(_add_up, self.near.frame)
            walk_entries(self.near.inside[0], Task(add_up, (add(total),)))
            self._choose_quantum(math.sqrt(total[0] / len(labels)))
            self._centers = centers
        return None

    def measure(self, labels: Labels, centers: Floats | None) -> tuple[Nearness, Labels]:
        """Return distances; they are measured now if bounds have saved them."""
        near, problem = self.near, self._problem
        if centers is not None:
            near, self.neighbours, self._last = None, None, centers
        if near is None and self.neighbours is not None and not problem.source.sparse:
            lists = CenterLists.of_rows(self.neighbours)
            near = problem.assign_listed(self._last, lists, labels.copy())
        return near or problem.assign(self._last, labels.copy(), keep_ties=True), labels

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Forget the bounds of rows that the caller gave other labels."""
        if self._groups is not None:
            self._lower[rows] = 0
        if self._bounds is not None:
            self._bounds.forget(rows)

    def _frame(self, centers: Floats) -> Frame:
        dtype = compute_type(self._problem.source.dtype)
        return Frame.around(centers, dtype, self._problem.ranges)

    def _assign_near(self, centers: Floats, labels: Labels, then: Sequence[Task]) -> None:
        problem, frame, neighbours = self._problem, self._frame(centers), self._neighbours
        if neighbours is None:
            neighbours = find_neighbours(frame, self._n_near, problem.n_threads)
            if self._keeps_lists:
                self._keep(neighbours)
        self.neighbours = neighbours
        self.n_distances += len(labels) * self._n_near
        if problem.source.sparse:
            kernel = partial(_assign_candidates, frame, centers, neighbours, problem.n_threads)
            problem.source.walk(Task(kernel, (update(labels),)), *then)
        elif self._bounds is not None:
            self._bounds.assign(frame, centers, labels, then)
        else:
            lists = CenterLists.of_rows(neighbours)
            self.near = problem.assign_listed(centers, lists, labels, None, then, frame)

    def _keep(self, neighbours: Labels) -> None:
        """Let lists stay, with bounds for dense rows."""
        self._neighbours = neighbours
        if not self._problem.source.sparse:
            self._bounds = _BoundedLists(self._problem, neighbours)

    def _assign_by_groups(self, centers: Floats, labels: Labels, then: Sequence[Task]) -> None:
        """Give every row the nearest of the centers of its nearest groups."""
        problem, frame, k = self._problem, self._frame(centers), len(centers)
        n_groups = GROUPS_OF_FIRST_PASS * math.isqrt(k)
        groups = group_centers(frame.centers, n_groups, problem.n_threads)
        homes: Labels = problem.source.new_row_array(np.dtype(np.int32), 0)
        problem.label(find_middles(frame, groups), homes)
        lists = list_near_groups(frame, groups, FIRST_CENTERS, problem.n_threads, FIRST_CENTERS)
        self.near = problem.assign_listed(centers, lists, labels, homes, then, frame)
        self.n_distances += len(labels) * (n_groups + FIRST_CENTERS)

    def _assign_pruned(self, centers: Floats, labels: Labels, then: Sequence[Task]) -> None:
        problem, frame = self._problem, self._frame(centers)
        pruned = PrunedCenters(centers, frame.centers.dtype, problem.n_threads)
        n_compared = np.zeros(1)
        task = Task(partial(_label_pruned, pruned, frame), (update(labels), add(n_compared)))
        problem.source.walk(task, *then)
        self.n_distances += int(n_compared[0])

    def _choose_quantum(self, typical: float) -> None:
        """Choose the unit of bounds for a typical distance; there is none for 0."""
        self._quantum = TYPICAL_QUANTA / typical if typical > 0 else 0.0
        self._bounded = self._bounded and math.isfinite(self._quantum)
        self.keeps_bounds = self._bounded and self._quantum > 0

    def _assign_bounded(
        self, centers: Floats, labels: Labels, keep_ties: bool, then: Sequence[Task]
    ) -> None:
        source = self._problem.source
        if self._groups is None:
            self._groups = divide_centers(centers)
            no_group = np.arange(BOUNDS_PER_ROW) >= len(self._groups)
            new_array, dtype = source.new_row_array, np.dtype(np.uint16)
            self._upper = new_array(dtype, MAX_QUANTA)
            self._lower = new_array(dtype, MAX_QUANTA * no_group, (BOUNDS_PER_ROW,))
            self._centers = centers
        # How far centers moved since the last pass, in quanta: each center, and each group.
        moved = np.sqrt(np.sum((centers - self._centers) ** 2, axis=1)) * (1 + 1e-12)
        drifts = np.minimum(np.ceil(moved * self._quantum), MAX_QUANTA).astype(np.uint16)
        group_drifts = np.zeros(BOUNDS_PER_ROW, dtype=np.uint16)
        padded = np.append(drifts, np.uint16(0))
        group_drifts[: len(self._groups)] = padded[self._groups].max(axis=1)
        counted = np.zeros(1, dtype=np.int64)
        limits = self._groups, drifts, group_drifts, self._quantum, keep_ties
        frame = self._frame(centers)
        kernel = partial(_assign_bounded, frame, centers, limits, self._problem.n_threads)
        uses = (update(labels), update(self._upper), update(self._lower), add(counted))
        source.walk(Task(kernel, uses), *then)
        n_distances = int(counted[0])
        self._centers = centers
        self.n_distances += n_distances
        self._n_bounded += 1
        saved = 1 - n_distances / (len(labels) * len(centers))
        if saved < MIN_SAVING and self._n_bounded >= PATIENCE:
            self._bounded, self.keeps_bounds, self._groups = False, False, None
            self._upper = self._lower = np.empty(0, dtype=np.uint16)


def _add_up(frame: Frame, block: Block, total: Floats) -> None:
    total[0] += float(np.sum(frame.undo(block.rows)))


def _assign_bounded(
    frame: Frame,
    centers: Floats,
    limits: tuple[NDArray[Any], NDArray[Any], NDArray[Any], float, bool],
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


def _label_pruned(
    pruned: PrunedCenters, frame: Frame, block: Block, labels: Labels, n_compared: Floats
) -> None:
    n_compared += pruned.label(block.rows, frame, labels, guessed=True)


def _assign_candidates(
    frame: Frame,
    centers: Floats,
    neighbours: Labels,
    n_threads: int,
    block: Block,
    labels: Labels,
) -> None:
    """Give every sparse row the nearest center around its present one."""
    candidates = np.ascontiguousarray(neighbours[labels])
    _native.nearest_candidate(
        block.rows,
        frame.origin,
        frame.scale,
        frame.centers,
        centers,
        candidates,
        labels,
        n_threads,
    )


def divide_centers(centers: Floats) -> NDArray[np.int32]:
    """Return groups of neighbouring centers for bounds: one in each row, padded with -1.

    The centers are halved along the direction in which they spread most, then each half again,
    until at most 16 groups of equal size are left.
    """
    n_clusters = len(centers)
    min_size = -(-n_clusters // BOUNDS_PER_ROW)
    size = -(-min_size // CENTERS_TOGETHER) * CENTERS_TOGETHER
    n_groups = -(-n_clusters // size)
    groups = np.full((n_groups, size), -1, dtype=np.int32)
    waiting = [(np.arange(n_clusters), 0, n_groups)]  # centers, and the groups that they fill
    while waiting:
        members, first, last = waiting.pop()
        if last - first == 1:
            groups[first, : len(members)] = members
            continue
        middle = (first + last) // 2
        order = members[np.argsort(_spread(centers[members]), kind="stable")]
        cut = (middle - first) * size
        waiting += [(order[:cut], first, middle), (order[cut:], middle, last)]
    return groups


def _spread(points: Floats) -> Floats:
    """Return coordinates of points along the direction in which they spread most.

    Three steps of power iteration find it, which is accurate enough for groups.
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


class _BoundedLists:
    """Lists of near centers that stay, and bounds that tell which rows keep their centers.

    ``upper`` bounds the distance of a row to its center, ``lower`` that to the other centers of the
    list. When centers move, ``upper`` grows by the movement of the row's center, and ``lower``
    falls by the largest movement in the list. A row is looked at only if the two meet.
    """

    def __init__(self, problem: Problem, neighbours: Labels) -> None:
        self._problem, self.neighbours = problem, neighbours
        self._table = CenterLists.of_rows(neighbours)
        dtype = compute_type(problem.source.dtype)
        self._upper = problem.source.new_row_array(dtype, 0)
        self._lower = problem.source.new_row_array(dtype, 0)
        self._centers: Floats | None = None

    def assign(
        self, frame: Frame, centers: Floats, labels: Labels, then: Sequence[Task] = ()
    ) -> None:
        problem, moved, reach = self._problem, None, None
        if self._centers is not None:
            gaps = centers - self._centers
            moved = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
            reach = moved[self.neighbours].max(axis=1)
        wrong = _bound_rounding(problem, frame)
        known = frame, centers, self._table, problem.n_threads, moved, reach, wrong
        uses = (update(labels), update(self._upper), update(self._lower))
        problem.source.walk(Task(partial(_assign_near, *known), uses), *then)
        self._centers = centers.copy()

    def forget(self, rows: NDArray[np.int64]) -> None:
        """Look at some rows in the next pass, whatever their bounds are."""
        self._lower[rows] = 0


def _bound_rounding(problem: Problem, frame: Frame) -> float:
    """Return by how much a squared distance in the frame may be wrong: `score_margin` in C++."""
    ranges, origin = problem.ranges, frame.origin.astype(np.float64)
    far = np.maximum(ranges.maximum - origin, origin - ranges.minimum) * frame.scale
    inside = frame.centers.astype(np.float64)
    largest = math.sqrt(float(np.max(np.einsum("ij,ij->i", inside, inside))))
    reach = math.sqrt(float(np.sum(far * far))) + largest
    unit = float(np.finfo(frame.centers.dtype).eps) / 2
    return 4 * unit * (len(origin) + 8) * reach * reach


def _assign_near(
    frame: Frame,
    centers: Floats,
    lists: CenterLists,
    n_threads: int,
    moved: Floats | None,
    reach: Floats | None,
    wrong: float,
    block: Block,
    labels: Labels,
    upper: NDArray[Any],
    lower: NDArray[Any],
) -> None:
    before, groups = labels.copy(), labels.copy()
    if moved is not None and reach is not None:
        upper += moved.astype(upper.dtype)[labels]
        lower -= reach.astype(lower.dtype)[labels]
        groups[upper * (1 + SLACK) < lower * (1 - SLACK)] = -1
    nearest, second = np.empty((2, len(labels)), frame.centers.dtype)
    assign_block(frame, centers, lists, n_threads, block, groups, labels, nearest, second)
    met = np.flatnonzero(groups >= 0)
    upper[met] = np.sqrt(nearest[met].astype(np.float64) + wrong) / frame.scale
    lower[met] = np.sqrt(np.maximum(second[met].astype(np.float64) - wrong, 0)) / frame.scale
    # Another cluster has another list, whose centers the row has not met.
    lower[met[labels[met] != before[met]]] = 0
