"""CLUSTER, POLISH: Lloyd's method, on the sketch or on the original rows.

Starts from centers that it is given; it neither seeds nor projects.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.row_arrays import ChangedEntries, copy_entries, put_entries
from projected_kmeans.passes.assignment import Search, squared_shift
from projected_kmeans.passes.bounded_search import NearestSearch
from projected_kmeans.passes.cluster_sums import ClusterSums, SomeMoments
from projected_kmeans.passes.polish_search import PolishSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels, OnPass
from projected_kmeans.solvers.empty_clusters import choose_refills
from projected_kmeans.solvers.lloyd_state import LloydState
from projected_kmeans.solvers.sum_references import are_far, limit_references

# There are no centers ahead of the means.
NONE_AHEAD = np.empty(0)


class Lloyd:
    """Repeat: every row to its nearest center, every center to the mean of its rows.

    A row moves only to a center that is strictly nearer, and a pass that does not lower the inertia
    is taken back, as in MatLab's kmeans, so that the method cannot cycle.

    With momentum, a pass looks at centers that lie ahead of the means, in the direction in which
    these moved last. That takes fewer passes, because means move slowly and straight in late ones.
    If such a pass does not lower the inertia, a pass at the means follows, and later ones look half
    as far ahead. What is accepted is always a partition and its means.

    Parameters
    ----------
    problem : Problem
        The rows and what belongs to them.
    centers : ndarray of float64 (k, columns)
        The first centers.
    max_iter : int
        Passes at most.
    tol : float, default=0.0
        The method has converged when the centers' squared shift is at most this.
    start : Clustering, optional
        The partition that ``centers`` are the means of. It is the result if no pass lowers its
        inertia, and its ties are kept.
    search : Search, optional
        What finds the nearest centers; by default `NearestSearch`, which finds them exactly.
    momentum : float, default=0.0
        How far ahead of the means a pass looks, as a share of their last step.
    sums : ClusterSums, optional
        The sums over the partition ``start``; by default all rows are summed in the first pass.

    Attributes
    ----------
    centers : ndarray of float64 (k, columns)
        The means after the last pass.
    inertia : float
        The inertia after the last pass.
    history : list of float
        The inertia after each pass.
    converged : bool
        Whether a further pass would change nothing, or too little.

    Examples
    --------
    >>> from projected_kmeans.blocks.column_scan import scan_columns
    >>> from projected_kmeans.blocks.memory_blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.array([[0.0], [1.0], [5.0], [6.0]]))
    >>> lloyd = Lloyd(Problem(rows, scan_columns(rows)), np.array([[0.0], [1.0]]), max_iter=10)
    >>> while lloyd.step():
    ...     print(lloyd.inertia, lloyd.centers.ravel())
    14.0 [0. 4.]
    1.0 [0.5 5.5]
    >>> lloyd.converged, lloyd.result().labels
    (True, array([0, 0, 1, 1], dtype=int32))
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
    ) -> None:
        self.centers = centers
        self.inertia = math.inf if start is None else start.inertia
        self.history: list[float] = []
        self.converged = False
        self._problem, self._start = problem, start
        self._search = search or NearestSearch(problem, len(centers))
        self._max_iter, self._tol = max_iter, tol
        self._momentum, self._ahead = momentum, NONE_AHEAD
        # The partition after the last pass, and the labels that the next pass overwrites.
        new_array = problem.source.new_row_array
        self._labels = new_array(np.dtype(np.int32), 0) if start is None else start.labels.copy()
        self._next_labels = self._labels.copy()
        self._sums, self._follows = sums, True
        self._moments: SomeMoments | None = None
        self._sees_all_centers = isinstance(self._search, NearestSearch | PolishSearch)
        self._settled, self._shift = False, math.nan  # the shift is unknown before the first pass
        self._refilled, self._targets = np.empty(0, np.int64), np.empty(0, np.int32)

    def step(self) -> bool:
        """Make a pass; return whether it lowered the inertia, else the method has ended."""
        if self._shift <= self._tol:
            self.converged = True
        if self.converged or len(self.history) >= self._max_iter:
            return False
        before = self._labels
        while True:
            is_ahead, has_partition = len(self._ahead) > 0, self.inertia < math.inf
            # Rows are summed as they are labelled, so that a pass reads them once. Sums that
            # follow the partition only need the rows that moved.
            if self._sums is None or are_far(self._sums, self._moments):
                self._sums = self._open_sums()
                adding = self._sums.adding(self._next_labels)
            else:
                adding = self._sums.adding(self._next_labels, before)
            changed = ChangedEntries(self._next_labels, self._labels)
            self._search.assign(
                self._ahead if is_ahead else self.centers,
                self._next_labels,
                keep_ties=has_partition,
                then=[adding, changed.task],
            )
            if self._accept_lower(self._sums, changed):
                return True
            if not is_ahead:
                self.converged = True
                return False
            # It looked too far ahead, and its labels are in the sums now.
            self._ahead, self._momentum = NONE_AHEAD, self._momentum / 2
            before = self._next_labels.copy()

    def resume(self, state: LloydState) -> None:
        """Go on after the last pass of a state of the same rows and parameters."""
        self._sums = self._problem.open_sums(state.references)
        self._sums.resume(state.offsets.copy(), state.totals.copy(), state.labels)
        self._moments = self._sums.moments()
        self.centers, self.inertia = self._moments.means, self._moments.inertia
        self.history, self._shift = list(state.history), state.shift
        self._labels, self._next_labels = state.labels.copy(), state.labels.copy()
        self._momentum, self._ahead = state.momentum, state.ahead
        self._note_refills(state.refilled, state.targets)
        self._search.remembered = state.remembered

    def relabel(self, labels: Labels) -> None:
        """Go on from another partition, which a local search found; its inertia may be higher."""
        assert self._sums is not None
        copy_entries(self._next_labels, labels)
        self._moments = self._sums.update(self._next_labels, self._labels)
        copy_entries(self._labels, labels)
        self.centers, self.inertia = self._moments.means, self._moments.inertia
        self._shift, self.converged, self._settled = math.nan, False, False
        self._ahead = NONE_AHEAD

    @property
    def partition(self) -> tuple[Labels, SomeMoments]:
        """The labels and the sums after the last pass. They are true until the next pass begins."""
        assert self._moments is not None
        return self._labels, self._moments

    @property
    def sums(self) -> ClusterSums | None:
        """The sums over the partition after the last pass; None if they are over another one."""
        if self._sums is None or not self._follows or are_far(self._sums, self._moments):
            return None
        return self._sums

    def state(self) -> LloydState:
        """Return where the method stands after a pass. It is true until the next pass begins."""
        assert self._sums is not None
        assert self._moments is not None
        return LloydState(
            self._labels,
            self._sums.references[:],
            *self._sums.parts,
            tuple(self.history),
            self._shift,
            self._refilled,
            self._targets,
            self._search.remembered,
            self._ahead,
            self._momentum,
        )

    def result(self) -> Clustering:
        """Return the partition after the last pass; its inertia never exceeds that of the start."""
        best, history = self._start, tuple(self.history)
        if (moments := self._moments) is not None:
            if moments.loses_bits:
                moments = self._problem.sum(self._labels, moments.means)
                history = (*history[:-1], moments.inertia)
            best = moments.describe(self._labels)
        if best is None:
            raise ValueError(f"max_iter={self._max_iter} allows no pass; use at least 1")
        return replace(
            best,
            n_iter=len(history),
            converged=self.converged,
            history=history,
            settled=self._settled,
        )

    def _accept_lower(self, sums: ClusterSums, changed: ChangedEntries) -> bool:
        """Take over the partition of a pass if it lowers the inertia; return whether it does."""
        has_partition, is_ahead = self.inertia < math.inf, len(self._ahead) > 0
        if has_partition and not changed:
            self._settled = self._sees_all_centers and not is_ahead
            return False
        moments, n_refilled = sums.moments(), len(self._refilled)
        if moments.mass.min() <= 0:
            moments = self._fill_empty_clusters(sums, moments)
        if not moments.inertia < self.inertia:
            if not is_ahead:
                self._search.rows_reassigned(*changed.find_rows())
                self._follows = False
            return False
        copy_entries(self._labels, self._next_labels)
        self._moments, self.inertia = moments, moments.inertia
        self.history.append(moments.inertia)
        self._shift = squared_shift(moments.means, self.centers)
        # First centers, and centers that got other rows, did not move straight to their means.
        straight = has_partition and len(self._refilled) == n_refilled
        self._ahead = NONE_AHEAD
        if straight and self._momentum > 0 and len(self.history) < self._max_iter:
            self._ahead = (moments.means - self.centers) * self._momentum
            self._ahead += moments.means  # in place, because centers may take much memory
        self.centers = moments.means
        return True

    def _open_sums(self) -> ClusterSums:
        """Return sums about the means, or about points near the first centers."""
        means = self.inertia < math.inf
        about = self.centers if means else limit_references(self.centers, self._problem.ranges)
        return self._problem.open_sums(about)

    def _fill_empty_clusters(self, sums: ClusterSums, moments: SomeMoments) -> SomeMoments:
        """Give rows to the clusters without weight; return the sums of the new partition."""
        labels = self._next_labels
        rows, targets = choose_refills(self._problem, moments, self.centers, labels)
        if not len(rows):
            return moments
        before = labels.copy()
        put_entries(labels, rows, targets)
        self._note_refills(rows, targets)
        return sums.update(labels, before)

    def _note_refills(self, rows: NDArray[np.int64], targets: Labels) -> None:
        self._refilled = np.concatenate([self._refilled, rows])
        self._targets = np.concatenate([self._targets, targets])
        self._search.rows_reassigned(rows, targets)


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
    """Run `Lloyd` to its end, or until ``on_pass`` stops it.

    Parameters
    ----------
    problem, centers, max_iter, tol, start, search, momentum
        As in `Lloyd`.
    on_pass : callable, optional
        Called with (passes done, inertia) after each pass; True stops.
    """
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
