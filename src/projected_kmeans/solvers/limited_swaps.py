"""CLUSTER: swaps of centers between passes that keep limits of cluster sizes.

Limits divide large groups and join small ones. Where passes end, some center is shared by two
groups while two others share one. Which center that is can be told without the limits: what a
second center would gain in a cluster, and what the rows of a center would lose without it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from projected_kmeans.blocks.row_arrays import apply_to_entries
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.solvers.swaps import MIN_RATIO, measure_removals, split_clusters


def swap_one_center(problem: Problem, found: Clustering, path: tuple[int, ...]) -> Floats | None:
    """Return the centers of a partition, of which one has moved to another cluster.

    The center that is missed least becomes the second one of the cluster that gains most by it.
    None is returned if no such move promises to lower the inertia.

    Parameters
    ----------
    problem : Problem
        Dense rows.
    found : Clustering
        Their partition within limits.
    path : tuple of int
        The key and the purpose of the draws, as `open_stream` takes them.
    """
    centers, n_clusters = found.centers, len(found.mass)
    nearest = found.labels.copy()
    near = problem.assign(centers, nearest, keep_ties=True)
    moments = problem.sum(found.labels, centers)
    costs = measure_removals(problem, moments, nearest, near)
    splits = split_clusters(problem, moments, found.labels, path)
    split = int(np.argmax(splits.gains))
    costs[split] = np.inf
    removed = int(np.argmin(costs))
    if not splits.gains[split] > MIN_RATIO * costs[removed]:
        return None
    targets = np.repeat(np.arange(n_clusters, dtype=np.int32), 2)
    targets[2 * split + 1] = n_clusters
    halved = apply_to_entries(partial(np.take, targets), splits.halves)
    means = problem.sum(halved, np.concatenate([centers, centers[[split]]])).means
    means[removed] = means[n_clusters]
    return np.ascontiguousarray(means[:n_clusters])
