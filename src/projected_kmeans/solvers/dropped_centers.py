"""What it costs to drop a center, and which centers can be spared.

Used by breathing, and by the walk over numbers of clusters; it drops nothing itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats


def measure_drop_costs(problem: Problem, centers: Floats) -> Floats:
    """Return by how much the inertia rises for each center if that one alone is dropped.

    The rows of a dropped center go to their second nearest one.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    centers : ndarray of float64 (k, columns)
        Where rows may go.

    Returns
    -------
    ndarray of float64 (k,)
        0 for a center without rows.
    """
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    near = problem.assign(centers, labels, keep_ties=False)
    losses = near.second - near.nearest
    if problem.weights is not None:
        losses *= problem.weights
    costs = np.bincount(labels, weights=losses, minlength=len(centers))
    return np.asarray(costs, dtype=np.float64)


def find_spare_centers(problem: Problem, centers: Floats, n_spare: int) -> NDArray[np.int64]:
    """Return the centers that cost least to drop, no two of them neighbours.

    The center nearest to a spare one stays, because their rows would have gone to each other. There
    must be twice as many centers as are spare.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    centers : ndarray of float64 (k, columns)
        Where rows may go.
    n_spare : int
        How many to return.
    """
    stays = np.zeros(len(centers), dtype=bool)
    spare: list[int] = []
    for center in np.argsort(measure_drop_costs(problem, centers), kind="stable"):
        if len(spare) == n_spare:
            break
        if not stays[center]:
            gaps = np.sum((centers - centers[center]) ** 2, axis=1)
            gaps[[*spare, center]] = np.inf
            stays[int(np.argmin(gaps))] = True
            spare.append(int(center))
    return np.array(spare, dtype=np.int64)
