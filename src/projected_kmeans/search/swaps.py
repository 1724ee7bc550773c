"""CLUSTER: the least useful centers move to clusters worth splitting.

Measures what splitting a cluster would gain and what removing a center would cost, pairs the
highest gains with the lowest costs, and says which labels follow. Whether a swap was good is
decided after the next passes, elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import (
    apply_to_entries,
    walk_entries,
)
from projected_kmeans.blocks.tasks import RANKED, Block, Role, Task, add, first, merge_ranked, read
from projected_kmeans.keys import open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import CenterLists, Nearness, Problem, own_distances_of_block
from projected_kmeans.results import Floats, Labels

# Passes of 2-means inside every cluster. More passes gained less than 0.02 % of the inertia. They
# look at all rows, or at this many evenly spaced rows a cluster and at most at 2^20 in all, if
# there are twice as many. What halves of few rows gain is told too high; only where that would be
# enough, all rows are asked.
SPLIT_PASSES = 4
SPLIT_ROWS, MAX_SPLIT_ROWS = 256, 2**20

# Removing a center costs this share of what its rows lose at the present centers, because these
# move towards the rows. On embeddings (k = 300) that ends .25 % lower than the whole.
COST_SHARE = 0.7

# Neighbours of a removed center that neither move nor split in the same round: they take its rows.
# Of few clusters fewer are locked, because otherwise all would be.
MAX_LOCKED, CLUSTERS_PER_LOCKED = 3, 8


@dataclass(frozen=True)
class Splits:
    """What a second center would gain in every cluster."""

    gains: Floats  # by how much the inertia falls if that cluster alone gets a second center
    # The row that leaves its cluster alone, where that gains more than two halves; else -1.
    far_rows: NDArray[np.int64]
    # 2 j or 2 j + 1 for each row of cluster j: its half. The labels, if only some rows were asked.
    halves: Labels
    # (2 k, columns): those of the halves, if only some rows were asked; then gains are estimates.
    centers: Floats | None = None

    def part_with(self, farthest: NDArray[Any]) -> Splits:
        """Let a cluster part with its farthest row where that gains more than two halves.

        2-means starts at a row, drawn by its squared distance, and its mirror image at the mean.
        That divides near rows evenly between the two, so that a single far row is not split off.
        What parting with it gains is known exactly: m w / (m - w) times its squared distance, for a
        cluster of weight m and a row of weight w.
        """
        alone = np.maximum(-farthest["key"], 0.0)
        is_better = alone > self.gains
        gains = np.where(is_better, alone, self.gains)
        return replace(self, gains=gains, far_rows=np.where(is_better, farthest["row"], -1))


@dataclass(frozen=True)
class Swaps:
    """Centers that move, what that promises to gain, and the labels that follow."""

    n_moved: int
    promise: float
    labels: Labels | None  # of all rows; None if no center moves


def propose_swaps(
    problem: Problem,
    labels: Labels,
    moments: Moments,
    near: Nearness,
    homes: Labels,
    neighbours: Labels,
    path: tuple[int, ...] | None,
) -> Swaps:
    """Return which centers should move.

    ``homes`` are the nearest centers of rows, and ``near`` the distances to the nearest two. They
    are the labels, unless limits of sizes keep rows from their nearest centers. ``neighbours``
    (k, m) are the nearest centers of every center, itself first. ``path`` is the key and the
    purpose of the draws, as `open_stream` takes them; rows must then be dense. None divides no
    cluster: clusters only part with their farthest rows.
    """
    k = len(moments.mass)
    costs = COST_SHARE * measure_removals(problem, moments, homes, near)
    n_locked = min(MAX_LOCKED, k // CLUSTERS_PER_LOCKED)
    locked = neighbours[:, : 1 + n_locked]
    farthest = _find_farthest(problem, moments, labels)
    if path is None:
        whole = apply_to_entries(partial(np.multiply, np.int32(2)), labels)
        splits = Splits(np.zeros(k), np.full(k, -1), whole)
    else:
        splits = _divide(problem, moments, labels, path)
    splits = splits.part_with(farthest)
    removed, split = choose_swaps(splits, costs, locked)
    if len(removed) and splits.centers is not None:
        asked = _ask_all_rows(problem, moments, labels, splits.centers, split)
        splits = asked.part_with(farthest)
        removed, split = choose_swaps(splits, costs, locked)
    if not len(removed):
        return Swaps(0, 0.0, None)
    promise = float(splits.gains[split].sum() - costs[removed].sum())
    return Swaps(len(removed), promise, swap_labels(splits, removed, split, neighbours))


def choose_split_rows(n_rows: int, n_clusters: int) -> range:
    """Return the rows that are in memory at once while clusters are divided, evenly spaced."""
    step = max(1, n_rows // min(SPLIT_ROWS * n_clusters, MAX_SPLIT_ROWS))
    return range(0, n_rows, step)


def _divide(problem: Problem, moments: Moments, labels: Labels, path: tuple[int, ...]) -> Splits:
    """Divide every cluster by a few passes of 2-means, on evenly spaced rows if there are many."""
    source, weights, dtype = problem.source, problem.weights, compute_type(problem.source.dtype)
    (n_rows, n_columns), k = source.shape, len(moments.mass)
    asked = choose_split_rows(n_rows, k)
    rows = None if len(asked) == n_rows else np.array(asked)
    selected = np.ascontiguousarray(source.select(rows), dtype=dtype)
    if rows is not None and weights is not None:
        weights = weights[rows]
    homes = np.asarray(labels) if rows is None else labels[rows]
    halves, gains = np.empty(len(selected), np.int32), np.empty(k)
    centers = np.empty((2 * k, n_columns))
    scale = Frame.around(np.zeros((1, n_columns)), dtype, problem.ranges).scale / 2
    seed = int(open_stream(*path).integers(0, 2**64, dtype=np.uint64))
    known = selected, weights, scale, homes, moments.means, seed, SPLIT_PASSES
    _native.halve_clusters(*known, halves, centers, gains, problem.n_threads)
    if rows is None:
        return Splits(gains, np.full(k, -1), halves)
    mass = np.bincount(homes, weights, k).astype(np.float64)
    gains *= np.where(mass > 0, moments.mass / np.where(mass > 0, mass, 1.0), 0.0)
    return Splits(gains, np.full(k, -1), labels, centers)


def _ask_all_rows(
    problem: Problem, moments: Moments, labels: Labels, centers: Floats, split: NDArray[np.int64]
) -> Splits:
    """Let all rows of some clusters choose the nearer half; other clusters are not divided."""
    k = len(moments.mass)
    is_split = np.zeros(k, dtype=bool)
    is_split[split] = True
    groups: Labels = np.where(is_split, np.arange(k), -1).astype(np.int32)
    halves = apply_to_entries(partial(np.multiply, np.int32(2)), labels)
    asked = apply_to_entries(partial(np.take, groups), labels)
    lists = CenterLists.of_rows(np.arange(2 * k).reshape(-1, 2))
    near = problem.assign_listed(centers, lists, halves, asked)
    left = measure_removals(problem, moments, asked, replace(near, inside=near.inside[:1]))
    gains = np.where(is_split, moments.cluster_inertia - left, 0.0)
    return Splits(gains, np.full(k, -1), halves)


def _find_farthest(problem: Problem, moments: Moments, labels: Labels) -> NDArray[Any]:
    """Return for every cluster the row that gains most by leaving it, and minus that gain.

    Distances are those of float64, so that sparse and dense rows agree.
    """
    means, lists = moments.means, Role.FIRST.empty((len(moments.mass), 1), RANKED)
    scale = Frame.around(means, np.dtype(np.float64), problem.ranges, moved=False).scale
    kernel = partial(_rank_farthest, means, scale, moments.mass, problem.n_threads)
    problem.source.walk(Task(kernel, (read(labels), read(problem.weights), first(lists))))
    return np.asarray(lists[:, 0])


def _rank_farthest(
    means: Floats,
    scale: float,
    mass: Floats,
    n_threads: int,
    block: Block,
    labels: Labels,
    weights: Floats | None,
    lists: NDArray[Any],
) -> None:
    gains = own_distances_of_block(means, scale, n_threads, block, labels)
    weight = 1.0 if weights is None else weights
    rest = mass[labels] - weight
    gains *= np.where(rest > 0, weight * mass[labels] / np.where(rest > 0, rest, 1.0), 0.0)
    most = np.zeros(len(mass))
    np.maximum.at(most, labels, gains)
    best = np.flatnonzero((gains >= most[labels]) & (gains > 0))
    homes, places = np.unique(labels[best], return_index=True)
    ranked = Role.FIRST.empty((len(mass), 1), RANKED)
    ranked["key"][homes, 0], ranked["row"][homes, 0] = -most[homes], best[places] + block.start
    merge_ranked(lists, ranked, out=lists)


def measure_removals(problem: Problem, moments: Moments, labels: Labels, near: Nearness) -> Floats:
    """Return by how much the inertia rises for each center if that one alone is removed.

    Its rows go to the second nearest center that the pass has met. With one distance a row, the sum
    of these is returned. What a row adds is rounded to a multiple of 2 ** -20 of the mean inertia
    of a row, so that sums are exact in any order.
    """
    n_rows = problem.source.shape[0]
    unit = moments.inertia / n_rows / 2**20
    sums = np.zeros(len(moments.mass), np.int64)
    if unit > 0:
        kernel = partial(_add_squares, near.frame, unit, float(2**62 // n_rows))
        # Distances lie where the rows lie; labels may have come to this process.
        uses = (add(sums), read(labels), read(problem.weights), *map(read, near.inside[1:]))
        walk_entries(near.inside[0], Task(kernel, uses))
    return np.asarray(sums * unit, dtype=np.float64)


def _add_squares(
    frame: Frame,
    unit: float,
    largest: float,
    block: Block,
    sums: NDArray[np.int64],
    labels: Labels,
    weights: Floats | None,
    second: NDArray[Any] | None = None,
) -> None:
    asked = np.flatnonzero(labels >= 0)
    squares = frame.undo(block.rows[asked])
    if second is not None:
        squares = frame.undo(second[asked]) - squares
    squares = np.minimum(squares / unit, largest)  # there may be no second center
    if weights is not None:
        squares = np.minimum(squares * weights[asked], largest)
    whole = np.rint(squares).astype(np.int64)
    np.add.at(sums, labels[asked], whole)


def choose_swaps(
    splits: Splits, costs: Floats, neighbours: Labels
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return centers to remove, and the cluster that each of them helps to split.

    The highest gains are paired with the lowest costs while the gain is above the cost. The nearest
    centers of a removed one take its rows, so they do not move in the same round. One of them may
    be the cluster that is split: a center between two groups is the nearest one of many others.
    ``neighbours`` names each center itself and then those that are locked.

    """
    gains = splits.gains
    removed: list[int] = []
    split: list[int] = []
    stays = np.zeros(len(gains), dtype=bool)
    moves = np.zeros(len(gains), dtype=bool)
    by_gain = np.argsort(-gains, kind="stable").tolist()
    best = 0
    for center in np.argsort(costs, kind="stable").tolist():
        while best < len(by_gain) and (moves[by_gain[best]] or stays[by_gain[best]]):
            best += 1
        if best == len(by_gain) or not gains[by_gain[best]] > costs[center]:
            break
        source, beside = by_gain[best], neighbours[center, 1:]
        if moves[center] or stays[center] or source == center or moves[beside].any():
            continue
        stays[beside] = moves[center] = moves[source] = True
        removed.append(center)
        split.append(source)
    return np.array(removed, dtype=np.int64), np.array(split, dtype=np.int64)


def swap_labels(
    splits: Splits,
    removed: NDArray[np.int64],
    split: NDArray[np.int64],
    neighbours: Labels,
) -> Labels:
    """Return the partition after swaps.

    Rows of a removed center go to the center nearest to it. One half of a split cluster, or its
    farthest row, gets the index of the removed center.
    """
    k, is_row = len(neighbours), splits.far_rows[split] >= 0
    targets = np.repeat(np.arange(k, dtype=np.int32), 2)
    targets[2 * removed] = targets[2 * removed + 1] = neighbours[removed, 1]
    targets[2 * split[~is_row] + 1] = removed[~is_row]
    moved: Labels = apply_to_entries(partial(np.take, targets), splits.halves)
    moved[splits.far_rows[split[is_row]]] = removed[is_row].astype(np.int32)
    return moved
