"""CLUSTER: Lloyd's method, one pass at a time, on the sketch or on the original rows.

Starts from centers that it is given; it neither seeds nor projects. What finds the nearest centers
is a `Search`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import ChangedEntries
from projected_kmeans.documents import NotNegative, Shape
from projected_kmeans.passes.moments import TOLERANCE, Moments
from projected_kmeans.passes.nearest import NearestSearch, Remembered, Search
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.sums import ClusterSums
from projected_kmeans.results import Clustering, Floats, Labels, OnPass

# There are no centers ahead of the means.
NONE_AHEAD = np.empty(0)

# The first sums are about points whose entries are at most this many times the largest of the rows.
FAR = 2**10

# Numbers of centers that are subtracted at a time, 2 MB of float64.
SHIFT_SIZE = 2**18

# A cluster has no spread if its squared distances to its mean are below this share of those to its
# center: so small a rest is rounding.
SPREAD = 1e-13

# Rows that are listed for each empty cluster at first. Some of them may not leave their clusters.
MIN_LISTED = 16


@dataclass(frozen=True)
class LloydState:
    """Where Lloyd's method stands after a pass. From it, the method goes on to the same bits.

    Bounds of distances are not part of it, because no label depends on them, and the sums over the
    partition are not, because rows have the same sums when they are read once more.
    """

    labels: Annotated[Labels, Shape(("rows",), below="clusters")]
    references: Annotated[Floats, Shape(("clusters", "columns"))]  # points that the sums are about
    history: tuple[NotNegative, ...]  # inertia after each pass
    # That of the partition, which swaps may have raised above the last of the history. None if the
    # next pass begins at other centers than the means: at ``ahead``.
    inertia: NotNegative | None
    shift: float  # how far the last pass moved the centers, squared; NaN if that is not known
    remembered: Remembered  # by the search
    # The centers at which the next pass looks; (0,) if it looks at the means.
    ahead: Annotated[Floats, Shape(("clusters", "columns"), may_be_empty=True)]
    momentum: NotNegative  # how far ahead of the means later passes look


class Lloyd:
    """Repeat: every row to its nearest center, every center to the mean of its rows.

    A row moves only to a center that is strictly nearer, and a pass that does not lower the inertia
    is taken back, as in MatLab's kmeans, so that the method cannot cycle.

    With momentum, a pass looks at centers that lie ahead of the means by that share of their last
    step, because in late passes means move slowly and straight. If the extrapolated step does not
    help, the pass is repeated from the plain means, and later ones look half as far ahead. What is
    accepted is always a partition and its means.

    The method has converged when the centers' squared shift is at most ``tol``. ``centers`` are the
    means of the partition ``start``, if there is one. That is the result if no pass lowers its
    inertia, and its ties are kept. ``sums`` and ``moments`` are those over it; without sums the
    first pass sums all rows. By default ``search`` finds the nearest of all centers.

    With ``settles``, the first pass looks at the centers as a model stores them, and ties go to the
    lowest. Then its labels are those of ``predict``, and ``settled_at`` are these centers, until a
    further pass begins; the history tells the inertia about them.
    """

    def __init__(
        self,
        problem: Problem,
        centers: Floats,
        *,
        max_iter: int,
        tol: float = 0.0,
        start: Clustering | None = None,
        search: Search | None = None,
        momentum: float = 0.0,
        sums: ClusterSums | None = None,
        moments: Moments | None = None,
        settles: bool = False,
    ) -> None:
        self.centers = centers
        self.settled_at: Floats | None = None
        self.inertia = math.inf if start is None else start.inertia
        self.history: list[float] = []
        self.converged, self.made_pass = False, False
        self.search: Search = search or NearestSearch(problem, len(centers))
        self._problem, self._start, self._start_moments = problem, start, moments
        self._max_iter, self._tol = max_iter, tol
        self._momentum, self._ahead, self._settles = momentum, NONE_AHEAD, settles
        # The partition after the last pass, true until the next begins, and the labels that the
        # next pass overwrites.
        new_array = problem.source.new_row_array
        self.labels = new_array(np.dtype(np.int32), 0) if start is None else start.labels.copy()
        self._next_labels = self.labels.copy()
        self._sums, self._follows = sums, True
        self._moments: Moments | None = None
        self._settled, self._shift = False, math.nan  # the shift is unknown before the first pass
        self._n_refills = 0

    def step(self) -> bool:
        """Make a pass; return whether it lowered the inertia, else the method has ended."""
        if self._shift <= self._tol:
            self.converged = True
        self.made_pass = not (self.converged or len(self.history) >= self._max_iter)
        if not self.made_pass:
            return False
        before, self.settled_at = self.labels, None
        settles = self._settles and not self.history
        while True:
            is_ahead, has_partition = len(self._ahead) > 0, self.inertia < math.inf
            # Rows are summed as they are labelled, so that a pass reads them once. Sums that
            # follow the partition only need the rows that moved.
            if self._sums is None or are_far(self._sums, self._moments):
                self._sums = self._open_sums()
                adding = self._sums.adding(self._next_labels)
            else:
                adding = self._sums.adding(self._next_labels, before)
            changed = ChangedEntries(self._next_labels, self.labels)
            centers = self._ahead if is_ahead else self.centers
            if settles:
                centers = as_stored(self._problem, centers)
            self.search.assign(
                centers,
                self._next_labels,
                keep_ties=has_partition and not settles,
                then=[adding, changed.task],
            )
            if self._accept_lower(self._sums, changed, centers if settles else None):
                return True
            if not is_ahead:
                self.converged = True
                self.settled_at = centers if settles and not changed else None
                return False
            # It looked too far ahead, and its labels are in the sums now.
            self._ahead, self._momentum = NONE_AHEAD, self._momentum / 2
            before = self._next_labels.copy()

    def resume(self, state: LloydState) -> bool:
        """Go on after the last pass of a state of the same rows and parameters.

        Return False, and change nothing, if the partition does not have the inertia that the state
        says.
        """
        sums = self._problem.open_sums(state.references)
        moments = sums.update(state.labels)
        if not (len(state.ahead) if state.inertia is None else moments.inertia == state.inertia):
            return False
        self._sums, self._moments = sums, moments
        self.centers, self.inertia = self._moments.means, self._moments.inertia
        self.history, self._shift = list(state.history), state.shift
        self.labels, self._next_labels = state.labels.copy(), state.labels.copy()
        self._momentum, self._ahead = state.momentum, state.ahead
        if state.inertia is None:
            self.start_at(state.ahead)
        self.search.remembered = state.remembered
        return True

    def go_on(self) -> None:
        """Make further passes although the last one changed nothing, because the search changes."""
        self._shift, self.converged = math.nan, False
        self._ahead, self.settled_at = NONE_AHEAD, None
        if not self._follows:  # the last pass was taken back, and its labels are in the sums
            self._next_labels[...] = self.labels
            self._sums, self._follows = self._problem.open_sums(self.centers), True
            self._moments = self._sums.update(self.labels)

    def start_at(self, centers: Floats) -> None:
        """Go on from other centers; the next pass is accepted whatever its inertia is."""
        self.go_on()
        self.centers, self.inertia, self._settled = centers, math.inf, False
        self.search.restart()

    def relabel(self, labels: Labels) -> None:
        """Go on from another partition, which swaps have made; its inertia may be higher."""
        if self._sums is None or not self._follows:
            self._sums = self._problem.open_sums(self.centers)
            self._moments = self._sums.update(labels)
        else:
            self._next_labels[...] = labels
            self._moments = self._sums.update(self._next_labels, self.labels)
        self.labels[...] = labels
        self._next_labels[...] = labels
        self.centers, self.inertia = self._moments.means, self._moments.inertia
        self._shift, self.converged, self._settled = math.nan, False, False
        self._ahead, self._follows, self.settled_at = NONE_AHEAD, True, None
        self.search.restart()

    def describe(self) -> Moments:
        """Return the sums over the present partition."""
        if self._moments is None:  # no pass has lowered the inertia of the start
            self._moments = self._start_moments
        if self._moments is None:
            self._sums, self._follows = self._problem.open_sums(self.centers), True
            self._moments = self._sums.update(self.labels)
        return self._moments

    @property
    def sums(self) -> ClusterSums | None:
        """The sums over the partition after the last pass; None if they are over another one."""
        if self._sums is None or not self._follows or are_far(self._sums, self._moments):
            return None
        return self._sums

    def state(self) -> LloydState:
        """Return where the method stands after a pass. It is true until the next pass begins."""
        assert self._sums is not None
        is_moved = math.isinf(self.inertia)
        return LloydState(
            self.labels,
            self._sums.references[:],
            tuple(self.history),
            None if is_moved else self.inertia,
            self._shift,
            self.search.remembered,
            self.centers if is_moved else self._ahead,
            self._momentum,
        )

    def result(self) -> Clustering:
        """Return the partition after the last pass; its inertia never exceeds that of the start."""
        best, history = self._start, tuple(self.history)
        if (moments := self._moments) is not None:
            if moments.loses_bits:
                moments = self._problem.sum(self.labels, moments.means)
                history = (*history[:-1], moments.inertia)
            best = moments.describe(self.labels)
        if best is None:
            raise ValueError(f"max_iter={self._max_iter} allows no pass; use at least 1")
        return replace(
            best,
            n_iter=len(history),
            converged=self.converged,
            history=history,
            settled=self._settled,
        )

    def _accept_lower(
        self, sums: ClusterSums, changed: ChangedEntries, nearest: Floats | None
    ) -> bool:
        """Take over the partition of a pass if it lowers the inertia; return whether it does.

        If labels may be the final ones, ``nearest`` are the centers that rows were compared with.
        """
        has_partition, is_ahead = self.inertia < math.inf, len(self._ahead) > 0
        if has_partition and not changed:
            self._settled = self.search.sees_all and not is_ahead
            return False
        moments, n_refills = sums.moments(), self._n_refills
        if moments.mass.min() <= 0:
            moments = self._fill_empty_clusters(sums, moments)
        if not moments.inertia < self.inertia:
            if not is_ahead:
                self.search.rows_reassigned(*changed.find_rows())
                self._follows = False
            return False
        self.labels[...] = self._next_labels
        before, self._moments, self.inertia = self.inertia, moments, moments.inertia
        self.history.append(moments.inertia)
        if nearest is not None and self._n_refills == n_refills:
            about, error = moments.inertia_about(nearest)
            if error <= TOLERANCE * about and about <= before:
                self.settled_at, self.history[-1] = nearest, about
        step = max(1, SHIFT_SIZE // self.centers.shape[1])
        parts = [slice(first, first + step) for first in range(0, len(self.centers), step)]
        gaps = (moments.means[part] - self.centers[part] for part in parts)
        self._shift = float(sum(np.sum(gap**2) for gap in gaps))
        # First centers, and centers that got other rows, did not move straight to their means.
        straight = has_partition and self._n_refills == n_refills
        self._ahead = NONE_AHEAD
        if straight and self._momentum > 0 and len(self.history) < self._max_iter:
            self._ahead = (moments.means - self.centers) * self._momentum
            self._ahead += moments.means  # in place, because centers may take much memory
        self.centers = moments.means
        return True

    def _open_sums(self) -> ClusterSums:
        """Return sums about the means, or about points near the first centers."""
        about, ranges = self.centers, self._problem.ranges
        if math.isinf(self.inertia):
            # Means lie among the rows. First centers that the caller gave may be so far away that
            # sums about them would have no digits left for the rows.
            reach = FAR * max(-float(ranges.minimum.min()), float(ranges.maximum.max()))
            about = np.minimum(np.maximum(about, -reach), reach) if reach > 0 else about
        return self._problem.open_sums(about)

    def _fill_empty_clusters(self, sums: ClusterSums, moments: Moments) -> Moments:
        """Give rows to the clusters without weight; return the sums of the new partition."""
        labels = self._next_labels
        rows, targets = choose_refills(self._problem, moments, self.centers, labels)
        if not len(rows):
            return moments
        before = labels.copy()
        labels[rows] = targets
        self._n_refills += 1
        self.search.rows_reassigned(rows, targets)
        return sums.update(labels, before)


def run_lloyd(
    problem: Problem,
    centers: Floats,
    *,
    max_iter: int,
    tol: float = 0.0,
    start: Clustering | None = None,
    on_pass: OnPass | None = None,
    search: Search | None = None,
    momentum: float = 0.0,
) -> Clustering:
    """Run `Lloyd` to its end, or until ``on_pass`` (passes done, inertia) returns true."""
    lloyd = Lloyd(
        problem,
        centers,
        max_iter=max_iter,
        tol=tol,
        start=start,
        search=search,
        momentum=momentum,
    )
    while lloyd.step():
        if on_pass is not None and on_pass(len(lloyd.history), lloyd.inertia):
            break
    return lloyd.result()


def as_stored(problem: Problem, centers: Floats) -> Floats:
    """Return centers in the precision in which a model stores them."""
    return centers.astype(compute_type(problem.source.dtype)).astype(np.float64)


def are_far(sums: ClusterSums, moments: Moments | None) -> bool:
    """Return whether means have come so far from the references that sums lose digits.

    Moments have other references than the sums if the rows had to be summed again.
    """
    if moments is None:
        return False
    return moments.references is not sums.references or moments.loses_bits


def choose_refills(
    problem: Problem, moments: Moments, centers: Floats, labels: Labels
) -> tuple[NDArray[np.int64], Labels]:
    """Return a row for each cluster without weight, in ascending order, and these clusters.

    The rows farthest from their centers are taken first. A row may only leave a cluster that has
    some spread and keeps other rows, and no two of the rows are equal, so that the inertia falls.
    If there are too few distinct rows, some clusters stay empty.
    """
    empty = np.flatnonzero(moments.mass <= 0)
    weights = problem.weights
    mass = moments.mass.copy()
    spread = moments.cluster_inertia > SPREAD * moments.squares
    chosen: list[int] = []
    given: set[bytes] = set()
    for row, home in _list_farthest(problem, centers, labels, len(empty)):
        if len(given) == len(empty):
            break
        weight = 1.0 if weights is None else weights[row]
        if not spread[home] or mass[home] - weight <= 0:
            continue
        values = (problem.source.take(np.array([row]))[0] + 0.0).tobytes()  # -0.0 becomes 0.0
        if values in given:
            continue
        mass[home] -= weight
        chosen.append(row)
        given.add(values)
    rows = np.array(chosen, dtype=np.int64)
    order = np.argsort(rows)
    return rows[order], empty[: len(rows)][order].astype(np.int32)


def _list_farthest(
    problem: Problem, centers: Floats, labels: Labels, n_wanted: int
) -> Iterator[tuple[int, int]]:
    """Yield rows with weight and their labels, those farthest from their centers first.

    Rows equal to their centers are left out. Some rows are listed by one walk, and more only if
    these do not suffice.
    """
    n_rows, n_done = problem.source.shape[0], 0
    n_listed = MIN_LISTED * n_wanted
    while n_done < n_rows:
        listed = problem.list_farthest(centers, labels, min(n_listed, n_rows))[n_done:]
        rows = listed["row"][listed["key"] < 0]
        yield from zip(rows.tolist(), labels[rows].tolist(), strict=True)
        if len(rows) < len(listed):
            return
        n_done, n_listed = n_done + len(listed), 8 * n_listed
