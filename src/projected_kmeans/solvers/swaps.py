"""CLUSTER: centers that are missed least move to clusters that gain most from a second center.

Measures what splitting a cluster gains and what removing a center costs, and chooses which centers
move. It moves no row itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import apply_to_entries, take_entries, walk_entries
from projected_kmeans.blocks.tasks import Block, Task, add, read
from projected_kmeans.keys import open_stream
from projected_kmeans.passes.assignment import Nearness
from projected_kmeans.passes.cluster_sums import SomeMoments
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Passes of 2-means inside every cluster. More passes gained less than 0.02 % of the inertia. They
# look at all rows, or at this many evenly spaced rows a cluster and at most at 2^20 in all, if
# there are twice as many.
SPLIT_PASSES = 3
SPLIT_ROWS, MAX_SPLIT_ROWS = 512, 2**20

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
    problem: Problem, moments: SomeMoments, labels: Labels, path: tuple[int, ...]
) -> Splits:
    """Divide every cluster into two by a few passes of 2-means inside it.

    The first two centers of a cluster are a row, drawn by its squared distance, and its mirror
    image at the mean. If rows abound, the centers are found on evenly spaced rows, and all rows
    then choose the nearer one of their cluster.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    moments : SomeMoments
        The sums of the clusters.
    labels : ndarray of int32 (n,)
        The cluster of every row.
    path : tuple of int
        The key and the purpose of the draws, as `open_stream` takes them.
    """
    n_rows = problem.source.shape[0]
    step = _choose_step(n_rows, len(moments.mass))
    if step == 1:
        halves, _, gains = _halve(problem, moments.means, labels, None, SPLIT_PASSES, path)
        return Splits(gains, halves)
    rows = np.arange(0, n_rows, step)
    _, centers, _ = _halve(problem, moments.means, labels, rows, SPLIT_PASSES, path)
    return _choose_halves(problem, moments, labels, centers)


def count_split_rows(n_rows: int, n_clusters: int) -> int:
    """Return how many rows are in memory at once while clusters are divided.

    Examples
    --------
    >>> count_split_rows(500_000, 1000), count_split_rows(10**8, 1000)
    (500000, 512821)
    """
    return -(-n_rows // _choose_step(n_rows, n_clusters))


def _choose_step(n_rows: int, n_clusters: int) -> int:
    return max(1, n_rows // min(SPLIT_ROWS * n_clusters, MAX_SPLIT_ROWS))


def _halve(
    problem: Problem,
    means: Floats,
    labels: Labels,
    rows: NDArray[np.int64] | None,
    n_passes: int,
    path: tuple[int, ...],
) -> tuple[Labels, Floats, Floats]:
    """Return halves of some rows or of all, the centers of the halves, and what these gain."""
    source, weights, dtype = problem.source, problem.weights, compute_type(problem.source.dtype)
    some = np.ascontiguousarray(source.select(rows), dtype=dtype)
    if rows is not None and weights is not None:
        weights = weights[rows]
    its_labels = np.asarray(labels) if rows is None else take_entries(labels, rows)
    halves, gains = np.empty(len(some), np.int32), np.empty(len(means))
    centers = np.empty((2 * len(means), some.shape[1]))
    scale = Frame.around(np.zeros((1, some.shape[1])), dtype, problem.ranges).scale / 2
    seed = int(open_stream(*path).integers(0, 2**64, dtype=np.uint64))
    known = some, weights, scale, its_labels, means, seed, n_passes
    _native.halve_clusters(*known, halves, centers, gains, problem.n_threads)
    return halves, centers, gains


def _choose_halves(
    problem: Problem, moments: SomeMoments, labels: Labels, centers: Floats
) -> Splits:
    """Give every row the nearer of the two centers of its cluster.

    Gains are about these centers. Squared distances are rounded as in `measure_removals`.
    """
    halves: Labels = apply_to_entries(partial(np.multiply, np.int32(2)), labels)
    lists = CenterLists.of_rows(np.arange(len(centers)).reshape(-1, 2))
    near = assign_listed(problem, centers, lists, halves, labels)
    left = _sum_by_cluster(problem, moments, labels, near.frame, near.inside[:1])
    return Splits(moments.cluster_inertia - left, halves)


def measure_removals(
    problem: Problem, moments: SomeMoments, labels: Labels, near: Nearness
) -> Floats:
    """Return by how much the inertia rises for each center if that one alone is removed.

    Its rows go to the second nearest center that the pass has met. What a row adds is rounded to a
    multiple of 2 ** -20 of the mean inertia of a row, so that sums are exact in any order.
    """
    return _sum_by_cluster(problem, moments, labels, near.frame, near.inside)


def _sum_by_cluster(
    problem: Problem,
    moments: SomeMoments,
    labels: Labels,
    frame: Frame,
    inside: tuple[Any, ...],
) -> Floats:
    """Return weighted sums of squared distances in a frame, or of what others exceed them by."""
    n_rows = problem.source.shape[0]
    unit = moments.inertia / n_rows / 2**20
    sums = np.zeros(len(moments.mass), np.int64)
    if unit > 0:
        kernel = partial(_add_squares, frame, unit, float(2**62 // n_rows))
        uses = (add(sums), read(problem.weights), *map(read, inside))
        walk_entries(labels, Task(kernel, uses))
    return np.asarray(sums * unit, dtype=np.float64)


def _add_squares(
    frame: Frame,
    unit: float,
    largest: float,
    block: Block,
    sums: NDArray[np.int64],
    weights: Floats | None,
    nearest: NDArray[Any],
    second: NDArray[Any] | None = None,
) -> None:
    squares = frame.undo(nearest) if second is None else frame.undo(second) - frame.undo(nearest)
    if weights is not None:
        squares *= weights
    whole = np.rint(np.minimum(squares / unit, largest)).astype(np.int64)
    np.add.at(sums, block.rows, whole)


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
    moved: Labels = apply_to_entries(partial(np.take, targets), halves)
    return moved
