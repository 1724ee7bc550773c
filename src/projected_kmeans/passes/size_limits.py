"""Limits of the sizes of clusters, and labels within them of the least inertia, or nearly so.

**Prices.** A row takes the cluster with the least sum of squared distance and price. A cluster with
too many rows gets a higher price, one with too few a lower price. The best prices maximise a
concave function, the dual of the transportation problem (minimise the inertia over all assignments
within the limits). Here it is climbed by damped Newton steps. Its slope is the number of rows too
many, and its curvature follows from the rows that are about as near to two clusters.

**Repair.** At any prices, rows that choose for themselves are assigned optimally for the sizes that
result. What is left is to move a few rows. A move of a row from cluster a to cluster b costs the
difference of its two distances; the cheapest moves between all pairs of clusters make a graph with
k nodes. Rows too many travel over shortest paths of this graph to clusters with too few. Prices
change with the lengths of the paths, so that every row stays with the cluster that is cheapest for
it (successive shortest paths). The result is therefore optimal, up to the rounding of the
distances. One more node, the hub, stands for the freedom of sizes: a path over it lets one cluster
keep a row more, or another one do with a row less.

**Weights.** Rows with weights cannot be divided, so that to fill clusters to given weights is a
packing problem. Prices bring the weights near their limits. Then rows move one by one, those first
that cost least for the weight that they put right. If that ends in a dead end, rows are packed
anew, heavy ones first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import strictly
from projected_kmeans.results import Floats, Labels

# Limits of weight are compared with sums of weights, which are rounded.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SizeLimits:
    """The smallest and the largest size of a cluster: a number of rows, or a weight."""

    minimum: float
    maximum: float

    def hold(self, mass: Floats) -> bool:
        """Return whether sizes of clusters are within the limits, up to rounding of sums."""
        low, high = self.minimum * (1 - ROUNDING), self.maximum * (1 + ROUNDING)
        return bool(np.all(mass >= low) and np.all(mass <= high))

    def scale(self, share: float) -> SizeLimits:
        """Return the limits of a sample that is such a share of all rows, rounded outwards."""
        return SizeLimits(math.floor(self.minimum * share), math.ceil(self.maximum * share))


def resolve_limits(
    minimum: float | None,
    maximum: float | str | None,
    *,
    n_clusters: int,
    n_rows: int,
    weights: Floats | None,
) -> SizeLimits | None:
    """Return the limits that a caller asked for; None if there are none.

    Raise one sentence if no partition can keep them. Without weights the test is exact. With
    weights it is not, because to fill clusters with heavy rows is a packing problem. If the maximum
    is the word "equal", sizes differ by at most one row, or by at most twice the weight of the
    heaviest row.
    """
    if minimum is None and maximum is None:
        return None
    if weights is None:
        if isinstance(maximum, str):
            return SizeLimits(n_rows // n_clusters, -(-n_rows // n_clusters))
        total, heaviest, word = float(n_rows), 1.0, "rows,"
        high = n_rows if maximum is None else min(n_rows, math.floor(maximum))
        limits = SizeLimits(max(1, math.ceil(minimum or 0)), high)  # every cluster has a row
    else:
        total, heaviest, word = math.fsum(weights), float(np.max(weights)), "weight,"
        if isinstance(maximum, str):
            even = total / n_clusters
            return SizeLimits(max(0.0, even - heaviest), even + heaviest)
        limits = SizeLimits(minimum or 0.0, total if maximum is None else float(maximum))
    if limits.minimum * n_clusters > total * (1 + ROUNDING):
        raise ValueError(
            f"n_clusters={n_clusters} with min_cluster_size={limits.minimum:g} need more than all "
            f"{word} {total:g} in total; use at most {total / n_clusters:g}"
        )
    if limits.maximum * n_clusters < total * (1 - ROUNDING):
        raise ValueError(
            f"n_clusters={n_clusters} with max_cluster_size={limits.maximum:g} have no room for "
            f"all {word} {total:g} in total; use at least {total / n_clusters:g}"
        )
    if heaviest > limits.maximum:
        raise ValueError(
            f"max_cluster_size={limits.maximum:g} is below the weight {heaviest:g} of a single "
            "row; use a larger limit, or split the row into several of smaller weight"
        )
    return limits


# No prices to begin with.
NO_PRICES: Floats = np.empty(0)

# Prices are first found on every 16th row, then on every 4th, where that leaves enough rows.
STRIDES, MIN_ROWS_PER_CLUSTER = (16, 4), 20

# Newton steps at most. They end before if at most 4 rows a cluster are in the wrong place, because
# to move these is faster than another step.
MAX_STEPS, ENOUGH = 20, 4
# Rows of a cluster, at least, from which the curvature is estimated.
MIN_NEAR = 8
# The damping of a step as a share of the mean curvature, what it changes by, and where it ends.
FIRST_DAMPING, DAMPING_FACTOR, MIN_DAMPING, MAX_DAMPING = 0.1, 8.0, 1e-5, 1e3
# Gaps below this share of the mean count as large as that, because ties have gaps of 0.
MIN_GAP = 1e-3


@dataclass(frozen=True)
class Choice:
    """What n rows choose at given prices of k clusters."""

    prices: Floats  # (k,)
    labels: NDArray[np.int64]  # (n,): the best cluster of every row
    seconds: NDArray[np.int64]  # (n,): the second best
    gaps: Floats  # (n,): how much more the second best costs
    # The dual function: a lower bound on the inertia of all assignments within the limits.
    value: float
    excess: Floats  # (k,): rows, or weight, above what a cluster should have at its price


def find_prices(
    distances: NDArray[Any],
    weights: Floats | None,
    limits: SizeLimits,
    start: Floats = NO_PRICES,
    n_threads: int = 0,
) -> Choice:
    """Return prices at which the sizes of clusters are nearly within their limits.

    Distances (n, k) are squared, in float32 or float64. ``start`` (k,) are prices to begin with,
    such as those for centers nearby. Without them, prices are first found on a part of the rows.
    The result depends on the arguments alone, so that a fit that continues from a checkpoint gets
    the same bits.
    """
    n_rows, k = distances.shape
    if len(start):
        return _climb(distances, weights, limits, start, n_threads)
    prices = np.zeros(k)
    for stride in STRIDES:
        if n_rows // stride >= MIN_ROWS_PER_CLUSTER * k:
            some, heavy, share = np.ascontiguousarray(distances[::stride]), None, 0.0
            if weights is None:
                share = len(some) / n_rows
            else:
                heavy = weights[::stride]
                share = float(np.sum(heavy)) / float(np.sum(weights))
            if share > 0:
                scaled = SizeLimits(limits.minimum * share, limits.maximum * share)
                prices = _climb(some, heavy, scaled, prices, n_threads).prices
    return _climb(distances, weights, limits, prices, n_threads)


def target_sizes(prices: Floats, sizes: Floats, limits: SizeLimits) -> Floats:
    """Return the sizes that clusters should have at their prices.

    A price above 0 is only right for a cluster as large as it may be, and one below 0 for a cluster
    as small as it may be.
    """
    inside = np.clip(sizes, limits.minimum, limits.maximum)
    return np.where(prices > 0, limits.maximum, np.where(prices < 0, limits.minimum, inside))


def choose_clusters(
    distances: NDArray[Any],
    weights: Floats | None,
    limits: SizeLimits,
    prices: Floats,
    n_threads: int = 0,
) -> Choice:
    """Return what rows choose at given prices; of equally good clusters the first."""
    n_rows, k = distances.shape
    nearest, second = np.empty((2, n_rows), dtype=np.int32)
    lowest, following = np.empty((2, n_rows), dtype=distances.dtype)
    added = prices.astype(distances.dtype)
    _native.priced_clusters(distances, added, nearest, second, lowest, following, n_threads)
    labels, seconds = nearest.astype(np.int64), second.astype(np.int64)
    least = lowest.astype(np.float64)
    gaps = following - least
    sizes = np.bincount(labels, weights, minlength=k).astype(np.float64)
    value = float(np.sum(least if weights is None else least * weights))
    value -= limits.maximum * float(np.sum(prices[prices > 0]))
    value -= limits.minimum * float(np.sum(prices[prices < 0]))
    excess = sizes - target_sizes(prices, sizes, limits)
    return Choice(prices, labels, seconds, gaps, value, excess)


def _climb(
    distances: NDArray[Any],
    weights: Floats | None,
    limits: SizeLimits,
    prices: Floats,
    n_threads: int,
) -> Choice:
    """Climb the dual function from given prices."""
    best = choose_clusters(distances, weights, limits, prices, n_threads)
    k, damping = distances.shape[1], FIRST_DAMPING
    unit = 1.0 if weights is None else float(np.sum(weights)) / len(weights)
    curvature = _curvature(best, weights, unit)
    for _ in range(MAX_STEPS if k > 1 else 0):
        if np.sum(np.abs(best.excess)) <= ENOUGH * k * unit or damping > MAX_DAMPING:
            break
        prices = _step(best, curvature, damping, limits)
        tried = choose_clusters(distances, weights, limits, prices, n_threads)
        if tried.value > best.value:
            best, damping = tried, max(MIN_DAMPING, damping / DAMPING_FACTOR)
            curvature = _curvature(best, weights, unit)
        else:
            damping *= DAMPING_FACTOR
    return best


def rank_gaps(choice: Choice, ranks: NDArray[np.int64]) -> Floats:
    """Return the gap of each cluster with this many smaller ones; its largest if it has fewer.

    Clusters without rows have 0.
    """
    k = len(choice.prices)
    short = choice.labels.astype(np.uint16) if k <= 2**16 else choice.labels
    gaps = choice.gaps[np.argsort(short, kind="stable")]  # two bytes are sorted in linear time
    ends = np.cumsum(np.bincount(choice.labels, minlength=k))
    found = np.zeros(k)
    for cluster, (begin, end) in enumerate(zip(ends - np.diff(ends, prepend=0), ends, strict=True)):
        if end > begin:
            rank = min(int(ranks[cluster]), end - begin - 1)
            found[cluster] = np.partition(gaps[begin:end], rank)[rank]
    return found


def _curvature(choice: Choice, weights: Floats | None, unit: float) -> Floats:
    """Return how many rows change from one cluster to another as their prices part, (k, k).

    Of each cluster the rows with the smallest gaps tell, about twice as many as it has too many or
    too few.
    """
    k = len(choice.prices)
    n_near = np.maximum(2 * np.abs(choice.excess) / unit, MIN_NEAR).astype(np.int64)
    reach = rank_gaps(choice, n_near - 1)
    near = choice.gaps <= reach[choice.labels]
    least = MIN_GAP * float(np.mean(reach))
    rates = 1.0 / (2 * np.maximum(reach, least) if least > 0 else np.ones(k))
    rates = rates[choice.labels[near]]
    pairs = choice.labels[near] * k + choice.seconds[near]
    rates = rates if weights is None else rates * weights[near]
    found = np.bincount(pairs, rates, minlength=k * k).reshape(k, k)
    return np.asarray(found + found.T)


def _step(choice: Choice, curvature: Floats, damping: float, limits: SizeLimits) -> Floats:
    """Return the prices after a Newton step; a price does not change its sign, but may become 0."""
    before, k = choice.prices, len(choice.prices)
    equal = limits.minimum == limits.maximum
    moved = np.ones(k, np.bool_) if equal else (choice.excess != 0) | (before != 0)
    total = np.sum(curvature, axis=1)
    matrix = np.diag(total + damping * np.mean(total)) - curvature
    prices = before.copy()
    part = matrix[np.ix_(moved, moved)]
    prices[moved] += strictly(lambda: np.linalg.solve(part, choice.excess[moved]))
    if equal:
        return prices - np.mean(prices)
    return np.where(before * prices < 0, 0.0, prices)


# First only rows with small gaps take part: 16 of each cluster, and twice those in the wrong place.
# Then all rows do.
ROWS_PER_CLUSTER, ROWS_PER_WRONG = 16, 2


def repair_sizes(distances: NDArray[Any], choice: Choice, limits: SizeLimits) -> Choice:
    """Return the assignment of least inertia within limits, for rows without weights.

    Distances (n, k) are squared. Limits are in whole rows, and can be kept. ``choice`` is what rows
    choose at some prices. The prices of the result prove that no labels within the limits have less
    inertia. If rows were moved, its gaps, seconds and value are still those of the prices before.
    """
    k = distances.shape[1]
    if not choice.excess.any():
        return choice
    prices, labels = choice.prices.copy(), choice.labels.copy()
    sizes = np.bincount(labels, minlength=k)
    # The size that each cluster shall have so far, and what nodes have above it. The last node is
    # the hub.
    wanted = target_sizes(prices, sizes.astype(np.float64), limits).astype(np.int64)
    excess = np.append(sizes - wanted, 0)
    excess[k] = -np.sum(excess)
    n_taking_part = ROWS_PER_CLUSTER + ROWS_PER_WRONG * np.abs(choice.excess).astype(np.int64)
    near = np.where(n_taking_part < sizes, rank_gaps(choice, n_taking_part), np.inf)
    # Rows move whose gaps are within reach. The other rows of a cluster stay where they are as long
    # as its price has not risen by more than their smallest gap, compared with any other price.
    # Rows stop moving before that.
    for reaches in (near, np.full(k, np.inf)):
        rows = np.flatnonzero(choice.gaps <= reaches[labels])
        moved = labels[rows].astype(np.int32)
        part = distances if len(rows) == len(distances) else distances[rows]
        low, high = int(limits.minimum), int(limits.maximum)
        _native.repair_sizes(part, reaches, low, high, moved, prices, wanted, excess)
        labels[rows] = moved
        if not excess.any():
            break
    return replace(choice, prices=prices, labels=labels, excess=np.zeros(k))


class Move(NamedTuple):
    """A row, the cluster that it goes to, and what that costs for the weight it puts right."""

    row: int
    target: int
    rate: float  # infinite if the move is not possible


NO_MOVE = Move(-1, -1, np.inf)


def fit_weights(
    distances: NDArray[Any],
    weights: Floats,
    limits: SizeLimits,
    before: Labels,
    n_threads: int = 0,
) -> NDArray[np.int64]:
    """Return labels within limits of weight, with a low inertia.

    Distances (n, k) are squared. Rows without weight get their nearest center. If no labels within
    the limits are found, those ``before`` are returned. Raise one sentence if these are not within
    the limits either.
    """
    k = distances.shape[1]
    choice = find_prices(distances, weights, limits, n_threads=n_threads)
    for labels in (choice.labels, _pack(distances, weights, limits)):
        priced = distances + choice.prices.astype(distances.dtype)
        sizes = _Sizes(priced, labels.copy(), weights, limits)
        if sizes.mend():
            light = weights == 0
            sizes.labels[light] = distances[light].argmin(axis=1)
            return sizes.labels
    mass = np.bincount(before, weights, minlength=k).astype(np.float64)
    if limits.hold(mass):
        return before.astype(np.int64)
    raise ValueError(
        f"found no {k} clusters of weight {limits.minimum:g} to {limits.maximum:g} each; use wider "
        "limits, or rows of smaller weight"
    )


def _pack(distances: NDArray[Any], weights: Floats, limits: SizeLimits) -> NDArray[np.int64]:
    """Return labels by which heavy rows come first, each to its nearest center with room.

    A row that fits nowhere goes to the lightest cluster.
    """
    labels = distances.argmin(axis=1)
    room = np.full(distances.shape[1], limits.maximum * (1 + ROUNDING))
    for row in np.argsort(-weights, kind="stable"):
        costs = np.where(room >= weights[row], distances[row], np.inf)
        target = int(np.argmin(costs))
        target = target if np.isfinite(costs[target]) else int(np.argmax(room))
        labels[row] = target
        room[target] -= weights[row]
    return np.asarray(labels)


class _Sizes:
    """Labels, and the weights of clusters, which are brought into limits."""

    def __init__(
        self, costs: NDArray[Any], labels: NDArray[np.int64], weights: Floats, limits: SizeLimits
    ) -> None:
        self.labels, self._costs, self._weights = labels, costs, weights
        slack = ROUNDING * limits.maximum
        self._low, self._high = limits.minimum - slack, limits.maximum + slack
        self._mass = np.bincount(labels, weights, minlength=costs.shape[1])

    def mend(self) -> bool:
        """Move rows while that puts weight right; return whether all is right in the end."""
        while True:
            heavy = np.flatnonzero(self._mass > self._high)
            light = np.flatnonzero(self._mass < self._low)
            if not len(heavy) and not len(light):
                return True
            moves = [self._leave(int(a)) for a in heavy] + [self._enter(int(b)) for b in light]
            best = min(moves, key=lambda move: (move.rate, move.row))
            if not np.isfinite(best.rate):
                return False
            weight = self._weights[best.row]
            self._mass[self.labels[best.row]] -= weight
            self._mass[best.target] += weight
            self.labels[best.row] = best.target

    def _leave(self, a: int) -> Move:
        """Return the best move out of a cluster that is too heavy."""
        rows = np.flatnonzero((self.labels == a) & (self._weights > 0))
        if not len(rows):
            return NO_MOVE
        weights = self._weights[rows]
        right = np.minimum(weights, self._mass[a] - self._high)
        fits = self._mass + weights[:, None] <= self._high
        fits &= (self._mass[a] - weights >= self._low)[:, None]
        rates = (self._costs[rows] - self._costs[rows, a][:, None]) * (weights / right)[:, None]
        rates = np.where(fits, rates, np.inf)
        rates[:, a] = np.inf
        row, target = np.unravel_index(np.argmin(rates), rates.shape)
        return Move(int(rows[row]), int(target), float(rates[row, target]))

    def _enter(self, b: int) -> Move:
        """Return the best move into a cluster that is too light."""
        rows = np.flatnonzero((self.labels != b) & (self._weights > 0))
        if not len(rows):
            return NO_MOVE
        weights, homes = self._weights[rows], self.labels[rows]
        right = np.minimum(weights, self._low - self._mass[b])
        fits = (self._mass[homes] - weights >= self._low) & (self._mass[b] + weights <= self._high)
        rates = (self._costs[rows, b] - self._costs[rows, homes]) * (weights / right)
        rates = np.where(fits, rates, np.inf)
        best = int(np.argmin(rates))
        return Move(int(rows[best]), b, float(rates[best]))
