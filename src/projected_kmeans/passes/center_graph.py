"""Which centers are near each other, found among the centers of near cells.

A cell is a set of centers that lie close together. With cells, the work for one center depends on
the number of centers near it and not on the number of all centers.
"""

from __future__ import annotations

import numpy as np

from projected_kmeans import _native
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.listed_search import CenterLists
from projected_kmeans.results import Labels

# The nearest cells of a cell are searched until they have this many centers for each neighbour
# that is wanted, and this many at least. With these the inertia of trees and digits is that of a
# search among all centers.
SEARCHED_PER_NEIGHBOUR, MIN_SEARCHED = 8, 1024


def find_neighbours(frame: Frame, cells: Labels, n_neighbours: int, n_threads: int = 0) -> Labels:
    """Return the nearest centers of every center, itself first, then by distance.

    Parameters
    ----------
    frame : Frame
        The centers.
    cells : ndarray of int32 (k,)
        The cell of every center.
    n_neighbours : int
        How many centers to return for each, itself included; k if that is smaller.
    n_threads : int, default=0
        The number of threads; 0 means as many as OpenMP allows.

    Returns
    -------
    ndarray of int32 (k, n_neighbours)
        Indices of centers.
    """
    n_neighbours = min(n_neighbours, len(cells))
    names, places = np.unique(cells, return_inverse=True)
    groups: Labels = places.astype(np.int32)
    out = np.empty((len(cells), n_neighbours), np.int32)
    lists = _list_near_cells(frame, groups, len(names), n_neighbours, n_threads)
    _native.center_neighbours(frame.centers, groups, lists.starts, lists.members, out, n_threads)
    return out


def _list_near_cells(
    frame: Frame, groups: Labels, n_cells: int, n_neighbours: int, n_threads: int
) -> CenterLists:
    """Return for every cell the centers of its nearest cells, its own included."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    sums = np.add.reduceat(frame.centers[order].astype(np.float64), starts[:-1])
    means = (sums / sizes[:, None]).astype(frame.centers.dtype)
    gaps = np.empty((n_cells, n_cells), means.dtype)
    _native.squared_distances(means, np.zeros_like(means[0]), 1.0, means, gaps, n_threads)
    np.fill_diagonal(gaps, -1)
    nearest = np.argsort(gaps, axis=1, kind="stable")
    wanted = max(SEARCHED_PER_NEIGHBOUR * n_neighbours, MIN_SEARCHED)
    n_searched = 1 + np.sum(np.cumsum(sizes[nearest], axis=1) < wanted, axis=1)
    members = np.split(order, starts[1:-1])
    return CenterLists.join(
        [
            np.concatenate([members[cell] for cell in near[:count]])
            for near, count in zip(nearest, n_searched, strict=True)
        ]
    )
