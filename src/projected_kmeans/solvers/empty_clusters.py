"""CLUSTER, POLISH: which rows go to clusters that a pass of Lloyd's method left empty.

Chooses rows; Lloyd's method moves them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.cluster_sums import SomeMoments
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# A cluster has no spread if its squared distances to its mean are below this share of those to its
# center: so small a rest is rounding.
SPREAD = 1e-13


def choose_refills(
    problem: Problem, moments: SomeMoments, centers: Floats, labels: Labels
) -> tuple[NDArray[np.int64], Labels]:
    """Return a row for each cluster without weight, in ascending order, and these clusters.

    The rows farthest from their centers are taken first. A row may only leave a cluster that has
    some spread and keeps other rows, and no two of the rows are equal, so that the inertia falls.
    If there are too few distinct rows, some clusters stay empty.
    """
    empty = np.flatnonzero(moments.mass <= 0)
    weights = problem.weights
    nearness = problem.distances(centers, labels)
    np.negative(nearness, out=nearness)  # in place, because there may be very many rows
    if weights is not None:
        nearness[weights <= 0] = 0
    mass = moments.mass.copy()
    spread = moments.cluster_inertia > SPREAD * moments.squares
    chosen: list[int] = []
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
        chosen.append(int(row))
        given.append(values)
    rows = np.array(chosen, dtype=np.int64)
    order = np.argsort(rows)
    return rows[order], empty[: len(rows)][order].astype(np.int32)
