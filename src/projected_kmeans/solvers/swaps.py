"""CLUSTER: centers that are missed least move to clusters that gain most from a second center.

Measures what splitting a cluster gains and what removing a center costs, and chooses which centers
move. It moves no row itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.row_arrays import apply_to_entries, take_entries, walk_entries
from projected_kmeans.blocks.tasks import Block, Task, add, first, merge_ranked, read
from projected_kmeans.keys import open_stream
from projected_kmeans.passes.assignment import Nearness
from projected_kmeans.passes.cluster_sums import SomeMoments
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.ranked_rows import no_rows
from projected_kmeans.results import Floats, Labels

# Passes of 2-means inside every cluster. More passes gained less than 0.02 % of the inertia.
# All but the last look at this many evenly spaced rows a cluster, and at most at 2^20 rows in all.
SPLIT_PASSES = 3
SPLIT_ROWS, MAX_SPLIT_ROWS = 64, 2**20

# A center moves if the split gains at least this many times what its removal costs, because both
# are estimates.
MIN_RATIO = 1.2

# Neighbours of a removed center that neither move nor split in the same round: they take its rows.
N_LOCKED = 3

# Rows whose random numbers come from one generator.
STRETCH = 2**14


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
    path: tuple[int, ...],
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
    path : tuple of int
        The key and the purpose of the draws, as `open_stream` takes them.
    """
    means = moments.means
    drawn, clusters = _draw_members(problem, labels, near, path, len(means))
    centers = np.repeat(means, 2, axis=0)
    offsets = problem.source.take(drawn) - means[clusters]
    centers[2 * clusters] += offsets
    centers[2 * clusters + 1] -= offsets
    some, its_labels = _draw_evenly(problem, labels, len(means))
    halving = _Halving(some, its_labels, means)
    for _ in range(SPLIT_PASSES - 1):
        parts = halving.divide(centers)
        # A half without any of these rows stays where it is.
        np.copyto(centers, parts.means, where=parts.mass[:, None] > 0)
        del parts  # before the next pass takes as much memory
    if some is not problem:
        halving = _Halving(problem, labels, means)
    divided = halving.divide(centers).cluster_inertia.reshape(-1, 2).sum(axis=1)
    return Splits(moments.cluster_inertia - divided, halving.halves)


def _draw_evenly(problem: Problem, labels: Labels, n_clusters: int) -> tuple[Problem, Labels]:
    """Return evenly spaced rows, enough for all clusters, and their labels; or all rows."""
    n_rows = problem.source.shape[0]
    step = n_rows // min(SPLIT_ROWS * n_clusters, MAX_SPLIT_ROWS)
    if step < 2:
        return problem, labels
    rows = np.arange(0, n_rows, step)
    weights = None if problem.weights is None else problem.weights[rows]
    source = ArrayBlocks(problem.source.select(rows))
    return replace(problem, source=source, weights=weights), take_entries(labels, rows)


class _Halving:
    """Passes of 2-means inside every cluster.

    Parameters
    ----------
    problem : Problem
        The rows.
    labels : ndarray of int32 (n,)
        Their clusters.
    means : ndarray of float64 (k, columns)
        The means of the clusters, which sums are about.

    Attributes
    ----------
    halves : ndarray of int32 (n,)
        The half of every row after the last pass: 2 j or 2 j + 1 in cluster j.
    """

    def __init__(self, problem: Problem, labels: Labels, means: Floats) -> None:
        self.halves: Labels = apply_to_entries(partial(np.multiply, np.int32(2)), labels)
        self._problem, self._labels = problem, labels
        self._before: Labels | None = None
        self._lists = CenterLists.of_rows(np.arange(2 * len(means)).reshape(-1, 2))
        self._sums = problem.open_sums(np.repeat(means, 2, axis=0))

    def divide(self, centers: Floats) -> SomeMoments:
        """Give every row the nearer of the two centers of its cluster; return sums of halves."""
        latest = self.halves.copy()
        then = [self._sums.adding(latest, self._before)]
        lists, labels = self._lists, self._labels
        assign_listed(self._problem, centers, lists, latest, labels, then, measured=False)
        self.halves = self._before = latest
        return self._sums.moments()


def _draw_members(
    problem: Problem, labels: Labels, near: Nearness, path: tuple[int, ...], n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a row of every cluster by weighted squared distance; return rows and their clusters.

    Each row waits for a random time at a rate proportional to its chance, and the first wins.
    """
    lists = no_rows(n_clusters, 1)
    kernel = partial(_wait, near.frame, path)
    uses = (read(near.inside[0]), read(problem.weights), first(lists))
    walk_entries(labels, Task(kernel, uses))
    clusters = np.flatnonzero(lists["row"][:, 0] >= 0)
    return lists["row"][clusters, 0], clusters


def _wait(
    frame: Frame,
    path: tuple[int, ...],
    block: Block,
    nearest: NDArray[Any],
    weights: Floats | None,
    lists: NDArray[Any],
) -> None:
    labels, rate = block.rows, frame.undo(nearest)
    if weights is not None:
        rate *= weights
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = _draw_times(path, block.start, len(labels)) / rate
    wait[~(rate > 0)] = np.inf
    shortest = np.full(len(lists), np.inf)
    np.minimum.at(shortest, labels, wait)
    rows = np.flatnonzero((wait == shortest[labels]) & (wait < np.inf))
    clusters, places = np.unique(labels[rows], return_index=True)
    found = no_rows(*lists.shape)
    found["key"][clusters, 0] = wait[rows[places]]
    found["row"][clusters, 0] = rows[places] + block.start
    merge_ranked(lists, found, out=lists)


def _draw_times(path: tuple[int, ...], start: int, n_rows: int) -> Floats:
    """Return a random number for each of some rows, exponentially distributed.

    It depends on the path and the row alone: each stretch of rows has a generator of its own.
    """
    stretches = range(start // STRETCH, -(-(start + n_rows) // STRETCH))
    drawn = [open_stream(*path, one).standard_exponential(STRETCH) for one in stretches]
    begin = start - stretches.start * STRETCH
    return np.concatenate(drawn)[begin : begin + n_rows]


def measure_removals(
    problem: Problem, moments: SomeMoments, labels: Labels, near: Nearness
) -> Floats:
    """Return by how much the inertia rises for each center if that one alone is removed.

    Its rows go to the second nearest center that the pass has met. What a row adds is rounded to a
    multiple of 2 ** -20 of the mean inertia of a row, so that sums are exact in any order.
    """
    n_rows = problem.source.shape[0]
    unit = moments.inertia / n_rows / 2**20
    costs = np.zeros(len(moments.mass), np.int64)
    if unit > 0:
        kernel = partial(_add_losses, near.frame, unit, float(2**62 // n_rows))
        uses = (read(near.inside[0]), read(near.inside[1]), read(problem.weights), add(costs))
        walk_entries(labels, Task(kernel, uses))
    return np.asarray(costs * unit, dtype=np.float64)


def _add_losses(
    frame: Frame,
    unit: float,
    largest: float,
    block: Block,
    nearest: NDArray[Any],
    second: NDArray[Any],
    weights: Floats | None,
    costs: NDArray[np.int64],
) -> None:
    losses = frame.undo(second) - frame.undo(nearest)
    if weights is not None:
        losses *= weights
    whole = np.rint(np.minimum(losses / unit, largest)).astype(np.int64)
    np.add.at(costs, block.rows, whole)


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
