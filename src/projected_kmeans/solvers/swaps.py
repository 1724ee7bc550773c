"""CLUSTER: centers that are missed least move to clusters that gain most from a second center.

Measures what splitting a cluster gains and what removing a center costs, and chooses which centers
move. It moves no row itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.assignment import Nearness
from projected_kmeans.passes.cluster_sums import SomeMoments
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Passes of 2-means inside every cluster. More passes gained less than 0.02 % of the inertia.
SPLIT_PASSES = 3

# A center moves if the split gains at least this many times what its removal costs, because both
# are estimates.
MIN_RATIO = 1.2

# Neighbours of a removed center that neither move nor split in the same round: they take its rows.
N_LOCKED = 3


@dataclass(frozen=True)
class Splits:
    """Every cluster divided into two.

    Attributes
    ----------
    gains : ndarray of float64 (k,)
        By how much the inertia falls if that cluster alone gets a second center.
    halves : ndarray of int32 (n,)
        2 j or 2 j + 1 for a row of cluster j: which half it belongs to.
    """

    gains: Floats
    halves: Labels


def split_clusters(
    problem: Problem,
    moments: SomeMoments,
    labels: Labels,
    near: Nearness,
    stream: np.random.Generator,
) -> Splits:
    """Divide every cluster into two by a few passes of 2-means inside it.

    The first two centers of a cluster are a row, drawn by its squared distance, and its mirror
    image at the mean.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    moments : SomeMoments
        The sums of the clusters.
    labels : ndarray of int32 (n,)
        The cluster of every row.
    near : Nearness
        The distances of rows to centers, by which rows are drawn.
    stream : numpy.random.Generator
        Where the draws come from.
    """
    means = moments.means
    drawn, clusters = _draw_members(problem, labels, near, stream, len(means))
    centers = np.repeat(means, 2, axis=0)
    offsets = problem.source.take(drawn) - means[clusters]
    centers[2 * clusters] += offsets
    centers[2 * clusters + 1] -= offsets
    lists = CenterLists.of_rows(np.arange(len(centers)).reshape(-1, 2))
    sums = problem.open_sums(np.repeat(means, 2, axis=0))
    halves, before = 2 * labels, None
    for _ in range(SPLIT_PASSES):
        latest = halves.copy()
        then = [sums.adding(latest, before)]
        assign_listed(problem, centers, lists, latest, labels, then)
        halves = before = latest
        parts = sums.moments()
        centers = parts.means
    divided = parts.cluster_inertia.reshape(-1, 2).sum(axis=1)
    return Splits(moments.cluster_inertia - divided, halves)


def _draw_members(
    problem: Problem, labels: Labels, near: Nearness, stream: np.random.Generator, n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a row of every cluster by weighted squared distance; return rows and their clusters.

    Each row waits for a random time at a rate proportional to its chance, and the first wins.
    """
    rate = near.nearest if problem.weights is None else near.nearest * problem.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = stream.standard_exponential(len(labels)) / rate
    wait[~(rate > 0)] = np.inf
    first = np.full(n_clusters, np.inf)
    np.minimum.at(first, labels, wait)
    rows = np.flatnonzero((wait == first[labels]) & (wait < np.inf))
    clusters, places = np.unique(labels[rows], return_index=True)
    return rows[places], clusters.astype(np.int64)


def measure_removals(problem: Problem, labels: Labels, near: Nearness, n_clusters: int) -> Floats:
    """Return by how much the inertia rises for each center if that one alone is removed.

    Its rows go to the second nearest center that the pass has met.
    """
    losses = near.second - near.nearest
    if problem.weights is not None:
        losses *= problem.weights
    return np.bincount(labels, weights=losses, minlength=n_clusters).astype(np.float64)


def choose_swaps(
    gains: Floats, costs: Floats, neighbours: Labels
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return centers to remove, and the cluster that each of them helps to split.

    The highest gains are paired with the lowest costs, as long as the gain is at least 1.2 times
    the cost. Centers next to a removed one take its rows, so they stay as they are.

    Parameters
    ----------
    gains, costs : ndarray of float64 (k,)
        What splitting a cluster gains, and what removing its center costs.
    neighbours : ndarray of int32 (k, m)
        The nearest centers of every center, itself first.

    Examples
    --------
    >>> gains, costs = np.array([9.0, 0.1, 0.2]), np.array([5.0, 1.0, 7.0])
    >>> choose_swaps(gains, costs, np.array([[0, 1], [1, 2], [2, 1]]))
    (array([1]), array([0]))
    """
    removed: list[int] = []
    split: list[int] = []
    stays = np.zeros(len(gains), dtype=bool)
    moves = np.zeros(len(gains), dtype=bool)
    by_gain = np.argsort(-gains, kind="stable").tolist()
    best = 0
    for center in np.argsort(costs, kind="stable").tolist():
        while best < len(by_gain) and (moves[by_gain[best]] or stays[by_gain[best]]):
            best += 1
        if best == len(by_gain) or not gains[by_gain[best]] > MIN_RATIO * costs[center]:
            break
        source, beside = by_gain[best], neighbours[center, 1 : 1 + N_LOCKED]
        if moves[center] or stays[center] or source == center or source in beside:
            continue
        if moves[beside].any():
            continue
        stays[beside] = moves[center] = moves[source] = True
        removed.append(center)
        split.append(source)
    return np.array(removed, dtype=np.int64), np.array(split, dtype=np.int64)


def swap_labels(
    halves: Labels,
    removed: NDArray[np.int64],
    split: NDArray[np.int64],
    neighbours: Labels,
) -> Labels:
    """Return the partition after swaps.

    Rows of a removed center go to the center nearest to it, and one half of a split cluster gets
    the index of the removed center.
    """
    targets = np.repeat(np.arange(len(neighbours), dtype=np.int32), 2)
    targets[2 * removed] = targets[2 * removed + 1] = neighbours[removed, 1]
    targets[2 * split + 1] = removed
    return targets[halves]
