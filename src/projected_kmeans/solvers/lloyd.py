"""CLUSTER, POLISH: Lloyd's method, on the sketch or on the original rows.

Starts from centers that it is given; it neither seeds nor projects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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

# The first sums are about points whose entries are at most this many times the largest of the rows.
FAR = 2**10


@dataclass(frozen=True)
class LloydState:
    """Where Lloyd's method stands after a pass. From it, the method goes on to the same bits.

    Bounds of distances are not part of it, because no label depends on them.

    Attributes
    ----------
    labels : ndarray of int32 (n,)
        The partition.
    references, offsets, totals : ndarray of float64
        Its sums: the points that they are about, and their parts on the grids.
    history : tuple of float
        Inertia after each pass.
    shift : float
        How far the last pass moved the centers, squared.
    refilled, targets : ndarray of int64, of int32
        Rows that were sent to empty clusters, and to which, in the order of the passes.
    remembered : ndarray of float64
        What the search remembers, see `Search`.
    """

    labels: Labels
    references: Floats
    offsets: Floats
    totals: Floats
    history: tuple[float, ...]
    shift: float
    refilled: NDArray[np.int64]
    targets: Labels
    remembered: Floats


class Lloyd:
    """Repeat: every row to its nearest center, every center to the mean of its rows.

    A row moves only to a center that is strictly nearer, and a pass that does not lower the inertia
    is taken back, as in MatLab's kmeans, so that the method cannot cycle.

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
        sums: ClusterSums | None = None,
    ) -> None:
        self.centers = centers
        self.inertia = math.inf if start is None else start.inertia
        self.history: list[float] = []
        self.converged = False
        self._problem, self._start = problem, start
        self._search = search or NearestSearch(problem, len(centers))
        self._max_iter, self._tol = max_iter, tol
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
        """Make one pass; return whether it lowered the inertia, else the method has ended."""
        if self._shift <= self._tol:
            self.converged = True
        if self.converged or len(self.history) >= self._max_iter:
            return False
        has_partition = self.inertia < math.inf
        # Rows are summed as they are labelled, so that a pass reads them once. Sums that follow
        # the partition only need the rows that moved.
        if self._sums is None or self._sums_are_far():
            before, self._sums = None, self._problem.open_sums(self._choose_references())
        else:
            before = self._labels
        changed = ChangedEntries(self._next_labels, self._labels)
        then = [self._sums.adding(self._next_labels, before), changed.task]
        self._search.assign(self.centers, self._next_labels, keep_ties=has_partition, then=then)
        if has_partition and not changed:
            self.converged, self._settled = True, self._sees_all_centers
            return False
        moments = self._sums.moments()
        if moments.mass.min() <= 0:
            moments = self._fill_empty_clusters(self._sums, moments)
        if not moments.inertia < self.inertia:
            self._search.rows_reassigned(*changed.find_rows())
            self.converged, self._follows = True, False
            return False
        self._accept(moments)
        return True

    def resume(self, state: LloydState) -> None:
        """Go on after the last pass of a state of the same rows and parameters."""
        self._sums = self._problem.open_sums(state.references)
        self._sums.resume(state.offsets.copy(), state.totals.copy(), state.labels)
        self._moments = self._sums.moments()
        self.centers, self.inertia = self._moments.means, self._moments.inertia
        self.history, self._shift = list(state.history), state.shift
        self._labels, self._next_labels = state.labels.copy(), state.labels.copy()
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

    @property
    def partition(self) -> tuple[Labels, SomeMoments]:
        """The labels and the sums after the last pass. They are true until the next pass begins."""
        assert self._moments is not None
        return self._labels, self._moments

    @property
    def sums(self) -> ClusterSums | None:
        """The sums over the partition after the last pass; None if they are over another one."""
        return self._sums if self._follows and not self._sums_are_far() else None

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

    def _accept(self, moments: SomeMoments) -> None:
        """Take over the partition of a pass that lowered the inertia."""
        copy_entries(self._labels, self._next_labels)
        self._moments, self.inertia = moments, moments.inertia
        self.history.append(moments.inertia)
        self._shift = squared_shift(moments.means, self.centers)
        self.centers = moments.means

    def _choose_references(self) -> Floats:
        """Return the points that sums are about: the centers, or points nearer to the rows.

        Means lie among the rows. First centers that the caller gave may be so far away that sums
        about them would have no digits left for the rows.
        """
        if self.inertia < math.inf:
            return self.centers
        ranges, centers = self._problem.ranges, self.centers
        reach = FAR * max(-float(ranges.minimum.min()), float(ranges.maximum.max()))
        return np.minimum(np.maximum(centers, -reach), reach) if reach > 0 else centers

    def _sums_are_far(self) -> bool:
        """Tell whether means have come so far from the references that sums lose digits.

        Moments have other references than the sums if the rows had to be summed again.
        """
        moments = self._moments
        if moments is None or self._sums is None:
            return False
        return moments.references is not self._sums.references or moments.loses_bits

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
) -> Clustering:
    """Run `Lloyd` to its end, or until ``on_pass`` stops it.

    Parameters
    ----------
    problem, centers, max_iter, tol, start, search
        As in `Lloyd`.
    on_pass : callable, optional
        Called with (passes done, inertia) after each pass; True stops.
    """
    lloyd = Lloyd(problem, centers, max_iter=max_iter, tol=tol, start=start, search=search)
    while lloyd.step():
        if on_pass is not None and on_pass(len(lloyd.history), lloyd.inertia):
            break
    return lloyd.result()
