"""Which centers are near each other, found among the centers of near groups.

With groups, the work for one center depends on the number of centers near it and not on the number
of all centers.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import CenterLists
from projected_kmeans.results import Labels

# Up to this many centers are one group: all of them are compared with all.
MAX_UNGROUPED = 1024

# Groups are found by this many passes of Lloyd's method over the centers.
GROUP_PASSES = 3

# The nearest groups of a group are searched until they have this many centers for each neighbour
# that is wanted, and this many at least. With these the inertia of trees and digits is that of a
# search among all centers.
SEARCHED_PER_NEIGHBOUR, MIN_SEARCHED = 8, 1024


def group_centers(points: NDArray[np.floating], n_groups: int, n_threads: int = 0) -> Labels:
    """Return the group of every point, numbered from 0; no group is empty."""
    middles = points[:: max(1, len(points) // n_groups)][:n_groups]
    for _ in range(GROUP_PASSES):
        labels = label_points(points, middles, n_threads)
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int32).ravel()
        middles = average_groups(points, labels)
    return labels


def label_points(
    points: NDArray[np.floating], middles: NDArray[np.floating], n_threads: int = 0
) -> Labels:
    """Return the nearest middle of every point; both have moderate entries around zero."""
    labels, origin = np.zeros(len(points), np.int32), np.zeros(points.shape[1], points.dtype)
    nearest, second = np.empty((2, len(points)), points.dtype)
    middles = np.ascontiguousarray(middles, dtype=points.dtype)
    inside = origin, 1.0, middles, middles.astype(np.float64)
    _native.nearest_center(points, *inside, False, labels, nearest, second, n_threads)
    return labels


def average_groups(points: NDArray[np.floating], groups: Labels) -> NDArray[np.floating]:
    """Return the mean of the points of every group."""
    k, sizes = len(points), np.bincount(groups)
    ones = np.ones(k, points.dtype)
    members = scipy.sparse.csc_array((ones, groups, np.arange(k + 1)), (len(sizes), k))
    return np.asarray(members @ points) / sizes[:, None].astype(points.dtype)


def find_neighbours(frame: Frame, n_neighbours: int, n_threads: int = 0) -> Labels:
    """Return (k, n_neighbours) indices: of every center itself, and then the nearest others."""
    k = len(frame.centers)
    n_neighbours = min(n_neighbours, k)
    if k > MAX_UNGROUPED:
        groups = group_centers(frame.centers, math.isqrt(k), n_threads)
        lists = list_near_groups(frame, groups, n_neighbours, n_threads)
    else:  # one group, which lists all centers
        groups = np.zeros(k, np.int32)
        lists = CenterLists(np.array([0, k], np.int64), np.arange(k, dtype=np.int32))
    out = np.empty((k, n_neighbours), np.int32)
    _native.center_neighbours(frame.centers, groups, lists.starts, lists.members, out, n_threads)
    return out


def list_near_groups(
    frame: Frame,
    groups: Labels,
    n_neighbours: int,
    n_threads: int = 0,
    n_searched_centers: int | None = None,
) -> CenterLists:
    """Return for every group the centers of its nearest groups, its own included."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    means = average_groups(frame.centers, groups)
    gaps = np.empty((len(sizes), len(sizes)), means.dtype)
    _native.squared_distances(means, np.zeros_like(means[0]), 1.0, means, gaps, n_threads)
    np.fill_diagonal(gaps, -1)
    nearest = np.argsort(gaps, axis=1, kind="stable")
    wanted = n_searched_centers or max(SEARCHED_PER_NEIGHBOUR * n_neighbours, MIN_SEARCHED)
    n_searched = 1 + np.sum(np.cumsum(sizes[nearest], axis=1) < wanted, axis=1)
    members = np.split(order, starts[1:-1])
    return CenterLists.join(
        [
            np.concatenate([members[group] for group in near[:count]])
            for near, count in zip(nearest, n_searched, strict=True)
        ]
    )


def find_middles(frame: Frame, groups: Labels) -> NDArray[np.float64]:
    """Return the mean of the centers of every group, in the units of the rows."""
    middles = average_groups(frame.centers, groups).astype(np.float64)
    return middles / frame.scale + frame.origin.astype(np.float64)
