"""Prices of clusters, at which rows that choose for themselves nearly keep limits of sizes.

A row takes the cluster with the least sum of squared distance and price. A cluster with too many
rows gets a higher price, one with too few a lower price. The best prices maximise a concave
function, the dual of the transportation problem (minimise the inertia over all assignments within
the limits). Here it is climbed by damped Newton steps. Its slope is the number of rows too many,
and its curvature follows from the rows that are about as near to two clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import strictly
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.results import Floats

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
