"""LIFT: a partition found on the sketch becomes centers and inertia in the original space.

One pass over the data; it does not change the partition.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.passes import Problem
from projected_kmeans.results import Clustering


def lift(problem: Problem, sketched: Clustering) -> Clustering:
    """Return the same partition with its means and its inertia on the original rows.

    Sums are taken about the first row of each cluster, so that one pass suffices and no digits
    are lost to a common offset. A cluster without rows gets the center of the cluster whose
    sketched center is nearest to its own.
    """
    clusters, first = np.unique(sketched.labels, return_index=True)
    rows = np.zeros(len(sketched.mass), dtype=np.int64)
    rows[clusters] = first
    lifted = problem.sum(sketched.labels, problem.source.take(rows)).describe(sketched.labels)
    centers = lifted.centers
    filled = np.flatnonzero(sketched.mass > 0)
    for cluster in np.flatnonzero(sketched.mass <= 0):
        gaps = np.sum((sketched.centers[filled] - sketched.centers[cluster]) ** 2, axis=1)
        centers[cluster] = centers[filled[np.argmin(gaps)]]
    return replace(lifted, centers=centers)
