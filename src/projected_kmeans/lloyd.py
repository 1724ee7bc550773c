"""CLUSTER: Lloyd's method, in whatever space the blocks are in: the sketch or the original one.

Starts from centers that it is given; it neither seeds nor projects.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from projected_kmeans.bounds import NearestSearch
from projected_kmeans.moments import ClusterSums, Moments
from projected_kmeans.passes import Problem, Search
from projected_kmeans.results import Clustering, Floats, Labels, OnPass

# Below this share of the squared distances to a center, what is left to the mean is rounding.
SPREAD = 1e-13

# Sums about points from which this share of the squared distances is spread about the means lose
# four bits of an inertia; below it they are opened anew about the means.
NEAR = 1 / 16


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
    converged = False
    for iteration in range(1, max_iter + 1):
        # Rows are summed as they are labelled, so that a pass reads them once.
        moved, sums = None if sums is None else before, sums or problem.open_sums(centers)
        adding = sums.adding(labels, moved)
        search.assign(centers, labels, keep_ties=lowest < math.inf, then=[adding])
        if lowest < math.inf and np.array_equal(labels, before):
            converged = True
            break
        moments = sums.moments()
        if moments.mass.min() <= 0:
            moments = _fill_empty(problem, sums, moments, centers, labels, search)
        if not moments.inertia < lowest:
            converged = True
            break
        found, lowest = moments, moments.inertia
        np.copyto(before, labels)
        history.append(lowest)
        shift = float(np.sum((found.means - centers) ** 2))
        centers = found.means
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


def _fill_empty(
    problem: Problem,
    sums: ClusterSums,
    moments: Moments,
    centers: Floats,
    labels: Labels,
    search: Search,
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
    search.forget(np.flatnonzero(labels != before), labels)
    return sums.update(labels, before) if given else moments
