"""CLUSTER: the method of Ostrovsky, Rabani, Schulman and Swamy (2006).

Seeding, ball step and one step of Lloyd's method. *The Effectiveness of Lloyd-Type Methods for the
k-Means Problem*, FOCS 2006, proves that this is near the optimum if k clusters fit the rows much
better than k - 1 do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.seeding import seed_centers


def solve_orss06(problem: Problem, n_clusters: int, stream: np.random.Generator) -> Clustering:
    """Return the partition after one step of Lloyd's method from the centers of ORSS06.

    Parameters
    ----------
    problem : Problem
        The rows.
    n_clusters : int
        k.
    stream : numpy.random.Generator
        Where the draws come from.
    """
    centers = seed_centers("orss06", problem, n_clusters, stream)
    # One step is all that the method makes, so it has ended and was not cut short.
    return replace(run_lloyd(problem, centers, max_iter=1), converged=True)
