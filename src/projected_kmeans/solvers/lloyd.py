"""CLUSTER: Lloyd's method, in whatever space the blocks are in: the sketch or the original one.

Starts from centers that it is given; it neither seeds nor projects.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.assignment import Search
from projected_kmeans.passes.bounded_search import NearestSearch
from projected_kmeans.passes.cluster_sums import ClusterSums, Moments
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels, OnPass

# Below this share of the squared distances to a center, what is left to the mean is rounding.
SPREAD = 1e-13

# Sums about points from which this share of the squared distances is spread about the means lose
# four bits of an inertia; below it they are opened anew about the means.
NEAR = 1 / 16


@dataclass(frozen=True)
class LloydState:
    """What Lloyd's method goes on from after a pass, to the same bits as if it had not paused.

    Bounds of distances are not part of it, as no label depends on them.

    Attributes
    ----------
    labels : ndarray of int32 (n,)
        The partition.
    references, offsets, totals : ndarray of float64
        Its sums: the points that they are about, and their parts on both grids.
    history : tuple of float
        Inertia after each pass.
    shift : float
        How far the last pass moved the centers, squared.
    refilled, targets : ndarray of int64, of int32
        Rows that were sent to empty clusters, and to which, in the order of the passes.
    """

    labels: Labels
    references: Floats
    offsets: Floats
    totals: Floats
    history: tuple[float, ...]
    shift: float
    refilled: NDArray[np.int64]
    targets: Labels


# Told of the state after every pass. It is true until the next pass begins.
OnState = Callable[[LloydState], object]


def run_lloyd(
    problem: Problem,
    centers: Floats,
    *,
    max_iter: int,
    tol: float = 0.0,
    start: Clustering | None = None,
    on_pass: OnPass | None = None,
    search: Search | None = None,
    resume: LloydState | None = None,
    on_state: OnState | None = None,
) -> Clustering:
    """Repeat: every row to its nearest center, every center to the mean of its rows.

    Parameters
    ----------
    problem : Problem
        The rows and what belongs to them.
    centers : ndarray of float64 (k, columns)
        The first centers.
    max_iter : int
        Passes at most.
    tol : float, default=0.0
        Stops when the centers' squared shift is at most this.
    start : Clustering, optional
        The partition that ``centers`` are the means of. It is the answer if no pass lowers it,
        and its ties are kept.
    on_pass : callable, optional
        Called with (passes done, inertia) after each; True stops.
    search : Search, optional
        What finds the nearest centers; by default `NearestSearch`, which finds them exactly.
    resume : LloydState, optional
        Where to go on, for the rest of ``max_iter`` passes; all else must be as it was before.
    on_state : callable, optional
        Called with a `LloydState` before ``on_pass``.

    Returns
    -------
    Clustering
        Its inertia never exceeds that of ``start``. A row moves only to a center that is strictly
        nearer, and a pass that does not lower the inertia is taken back, as in MatLab's kmeans, so
        that the method cannot cycle.
    """
    labels = np.zeros(problem.source.shape[0], np.int32) if start is None else start.labels.copy()
    search = search or NearestSearch(problem, len(centers))
    sums: ClusterSums | None = None
    found: Moments | None = None
    before, lowest = labels.copy(), math.inf if start is None else start.inertia
    history: list[float] = []
    refilled = _Refilled(search)
    converged = False
    if resume is not None:
        sums = _restore_sums(problem, resume)
        found = sums.moments()
        refilled.add(resume.refilled, resume.targets)
        labels, before = resume.labels.copy(), resume.labels.copy()
        history, lowest, centers = list(resume.history), found.inertia, found.means
        sums = None if lowest < NEAR * found.inertia_about_references else sums
        if resume.shift <= tol:
            converged, max_iter = True, len(history)
    for iteration in range(len(history) + 1, max_iter + 1):
        # Rows are summed as they are labelled, so that a pass reads them once.
        moved, sums = None if sums is None else before, sums or problem.open_sums(centers)
        adding = sums.adding(labels, moved)
        search.assign(centers, labels, keep_ties=lowest < math.inf, then=[adding])
        if lowest < math.inf and np.array_equal(labels, before):
            converged = True
            break
        moments = sums.moments()
        if moments.mass.min() <= 0:
            moments = _fill_empty(problem, sums, moments, centers, labels, refilled)
        if not moments.inertia < lowest:
            converged = True
            break
        found, lowest = moments, moments.inertia
        np.copyto(before, labels)
        history.append(lowest)
        shift = float(np.sum((found.means - centers) ** 2))
        centers = found.means
        if on_state is not None:
            rows = refilled.rows, refilled.targets
            on_state(
                LloydState(before, found.references, *sums.parts, tuple(history), shift, *rows)
            )
        if lowest < NEAR * found.inertia_about_references:
            sums = None
        stopped = on_pass is not None and on_pass(iteration, lowest)
        if stopped or shift <= tol:
            converged = not stopped
            break
    if found is not None and lowest < NEAR * found.inertia_about_references:
        found = problem.sum(before, found.means)
        history[-1] = found.inertia
    best = start if found is None else found.describe(before)
    if best is None:
        raise ValueError(f"max_iter={max_iter} allows no pass; use at least 1")
    return replace(best, n_iter=len(history), converged=converged, history=tuple(history))


class _Refilled:
    """Rows that were sent to empty clusters, of which a search is told."""

    def __init__(self, search: Search) -> None:
        self.rows, self.targets = np.empty(0, np.int64), np.empty(0, np.int32)
        self._search = search

    def add(self, rows: NDArray[np.int64], targets: Labels) -> None:
        self.rows = np.concatenate([self.rows, rows])
        self.targets = np.concatenate([self.targets, targets])
        self._search.rows_reassigned(rows, targets)


def _restore_sums(problem: Problem, state: LloydState) -> ClusterSums:
    """Return the sums of a state; raise where they are not those that it was left with."""
    sums = problem.open_sums(state.references)
    sums.resume(state.offsets.copy(), state.totals.copy())
    if sums.moments().inertia != state.history[-1]:
        raise ValueError("the checkpoint does not agree with itself; use another folder")
    return sums


def _fill_empty(
    problem: Problem,
    sums: ClusterSums,
    moments: Moments,
    centers: Floats,
    labels: Labels,
    refilled: _Refilled,
) -> Moments:
    """Give every cluster without weight the row that lies farthest from its center.

    Only rows that leave others behind in a cluster with some spread may go, and no two equal ones,
    so that the inertia falls; where there are too few distinct rows, clusters stay empty.
    """
    empty = np.flatnonzero(moments.mass <= 0)
    weights = problem.weights
    nearness = problem.distances(centers, labels)
    np.negative(nearness, out=nearness)  # in place, as are all steps here: rows may be many
    if weights is not None:
        nearness[weights <= 0] = 0
    before = labels.copy()
    mass = moments.mass.copy()
    spread = moments.cluster_inertia > SPREAD * moments.squares
    given: list[Floats] = []
    for row in np.argsort(nearness, kind="stable"):
        home, weight = labels[row], 1.0 if weights is None else weights[row]
        if len(given) == len(empty) or nearness[row] >= 0:
            break
        if not spread[home] or mass[home] - weight <= 0:
            continue
        values = problem.source.take(np.array([row]))[0]
        if any(np.array_equal(values, other) for other in given):
            continue
        mass[home] -= weight
        labels[row] = empty[len(given)]
        given.append(values)
    rows = np.flatnonzero(labels != before)
    refilled.add(rows, labels[rows])
    return sums.update(labels, before) if given else moments
