"""LIFT: labels of the nearest centers, for a partition whose last pass has moved its centers.

A pass of Lloyd's method labels rows and then moves the centers to the means. If the method ends
before nothing changes any more, because of ``max_iter``, a tolerance or a limit of time, some rows
are nearer to another of the moved centers. One more assignment gives every row its nearest center,
as scikit-learn's KMeans does. The centers stay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering


def settle_labels(problem: Problem, found: Clustering) -> Clustering:
    """Return a partition in which every row has the label of a nearest center.

    Its inertia is that about the same centers, in the precision in which a model stores them, so
    that ``predict`` and ``score`` of these rows agree with it. It is never above the inertia that
    was found. A row that is equally near to several centers keeps its label.

    Parameters
    ----------
    problem : Problem
        The rows.
    found : Clustering
        A partition of these rows and its centers.
    """
    dtype = compute_type(problem.source.dtype)
    if found.settled and dtype == np.float64:
        return found
    centers = found.centers.astype(dtype).astype(np.float64)
    labels = found.labels.copy()
    sums = problem.open_sums(centers)
    problem.assign(centers, labels, keep_ties=True, then=[sums.adding(labels)])
    if np.array_equal(labels, found.labels):
        return replace(found, settled=True)
    moments = sums.about_references()
    if moments.inertia_about_references > found.inertia:  # only rounding tells the centers apart
        return found
    return replace(
        found,
        labels=labels,
        centers=centers,
        mass=moments.mass,
        inertia=moments.inertia_about_references,
        inertia_error=moments.error_about_references,
        settled=True,
    )
