"""Whether arrays that were read from a checkpoint can be a partition of the rows at hand.

A checkpoint has the types that were asked for; what kernels rely on is checked here: shapes, finite
numbers, and labels in range.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Clustering


def is_partition(found: Clustering, shape: tuple[int, int], n_clusters: int) -> bool:
    """Return whether a clustering can be one of rows of that shape into so many clusters."""
    numbers = (found.inertia, found.sum_of_squares, *found.history)
    return (
        are_labels(found.labels, (shape[0],), n_clusters)
        and are_centers(found.centers, (n_clusters, shape[1]))
        and are_centers(found.mass, (n_clusters,))
        and all(0 <= number < math.inf for number in numbers)
        and found.n_iter >= 0
    )


def are_labels(labels: NDArray[Any], shape: tuple[int, ...], stop: int) -> bool:
    """Return whether labels have that shape and lie in 0, ..., stop - 1."""
    in_range = labels.size == 0 or (labels.min() >= 0 and labels.max() < stop)
    return labels.ndim == 1 and labels.shape == shape and bool(in_range)


def are_lists(lists: NDArray[Any], n_clusters: int) -> bool:
    """Return whether there are no lists, or each cluster lists as many different clusters."""
    if lists.shape == (0, 0):
        return True
    if lists.ndim != 2 or len(lists) != n_clusters:
        return False
    ascending = np.sort(lists, axis=1)
    return are_labels(lists.ravel(), (lists.size,), n_clusters) and bool(
        np.all(ascending[:, 1:] > ascending[:, :-1])
    )


def are_centers(centers: NDArray[Any], shape: tuple[int, ...]) -> bool:
    """Return whether numbers have that shape and are finite."""
    return centers.shape == shape and bool(np.isfinite(centers).all())
