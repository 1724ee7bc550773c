"""CLUSTER: Lloyd's method, in whatever space the blocks are in: the sketch or the original one.

Starts from centers that it is given; it neither seeds nor projects.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.moments import Moments
from projected_kmeans.passes import Problem
from projected_kmeans.results import Clustering, Floats, Labels, OnPass

# Below this share of the squared distances to a center, what is left to the mean is rounding.
SPREAD = 1e-13


def run_lloyd(
    problem: Problem,
    centers: Floats,
    *,
    max_iter: int,
    tol: float = 0.0,
    start: Clustering | None = None,
    on_pass: OnPass | None = None,
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

    Returns
    -------
    Clustering
        Its inertia never exceeds that of ``start``. A row moves only to a center that is strictly
        nearer, and a pass that does not lower the inertia is taken back, as in MatLab's kmeans, so
        that the method cannot cycle.
    """
    labels = np.zeros(problem.source.shape[0], np.int32) if start is None else start.labels.copy()
    best = start
    history: list[float] = []
    converged = False
    for iteration in range(1, max_iter + 1):
        distances = problem.assign(centers, labels, keep_ties=best is not None)
        moments = _fill_empty(problem, problem.sum(labels, centers), labels, distances)
        if best is not None and not moments.inertia < best.inertia:
            converged = True
            break
        best = moments.describe(labels.copy())
        history.append(best.inertia)
        shift = float(np.sum((best.centers - centers) ** 2))
        centers = best.centers
        stopped = on_pass is not None and on_pass(iteration, best.inertia)
        if stopped or shift <= tol:
            converged = not stopped
            break
    if best is None:
        raise ValueError(f"max_iter={max_iter} allows no pass; use at least 1")
    return replace(best, n_iter=len(history), converged=converged, history=tuple(history))


def _fill_empty(problem: Problem, moments: Moments, labels: Labels, distances: Floats) -> Moments:
    """Give every cluster without weight the row that lies farthest from its center.

    Only rows that leave others behind in a cluster with some spread may go, and no two equal ones,
    so that the inertia falls; where there are too few distinct rows, clusters stay empty.
    """
    empty = np.flatnonzero(moments.mass <= 0)
    if not len(empty):
        return moments
    weights = np.ones(len(labels)) if problem.weights is None else problem.weights
    mass = moments.mass.copy()
    spread = moments.cluster_inertia > SPREAD * moments.squares
    given: list[Floats] = []
    for row in np.argsort(-distances * (weights > 0), kind="stable"):
        home = labels[row]
        if len(given) == len(empty) or distances[row] <= 0:
            break
        if weights[row] <= 0 or not spread[home] or mass[home] - weights[row] <= 0:
            continue
        values = problem.source.take(np.array([row]))[0]
        if any(np.array_equal(values, other) for other in given):
            continue
        mass[home] -= weights[row]
        labels[row] = empty[len(given)]
        given.append(values)
    return problem.sum(labels, moments.references) if given else moments
