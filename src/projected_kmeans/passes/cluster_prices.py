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

from projected_kmeans.blas_threads import strictly
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.results import Floats

# Distances of some rows at a time are added to prices, about 1 MB.
PART_SIZE = 2**18

# Prices are first found on every 16th row, then on every 4th, where that leaves enough rows.
STRIDES, MIN_ROWS_PER_CLUSTER = (16, 4), 20

# Newton steps at most. They end before if at most 4 rows a cluster are in the wrong place, because
# to move these is faster than another step.
MAX_STEPS, ENOUGH = 20, 4
# The damping of a step as a share of the mean curvature, what it changes by, and where it ends.
FIRST_DAMPING, DAMPING_FACTOR, MAX_DAMPING = 0.1, 8.0, 1e3


@dataclass(frozen=True)
class Choice:
    """What rows choose at given prices.

    Attributes
    ----------
    prices : ndarray of float64 (k,)
        The prices.
    labels, seconds : ndarray of int64 (n,)
        The best cluster of every row, and the second best.
    gaps : ndarray of float64 (n,)
        How much more the second best costs.
    value : float
        The dual function: a lower bound on the inertia of all assignments within the limits.
    excess : ndarray of float64 (k,)
        Rows, or weight, above what a cluster should have at its price.
    """

    prices: Floats
    labels: NDArray[np.int64]
    seconds: NDArray[np.int64]
    gaps: Floats
    value: float
    excess: Floats


def find_prices(distances: NDArray[Any], weights: Floats | None, limits: SizeLimits) -> Choice:
    """Return prices at which the sizes of clusters are nearly within their limits.

    The result depends on the arguments alone, so that a fit that continues from a checkpoint gets
    the same bits.

    Parameters
    ----------
    distances : ndarray of float32 or float64 (n, k)
        Squared distances of all rows to all centers.
    weights : ndarray of float64 (n,) or None
        The weights of the rows.
    limits : SizeLimits
        The limits.
    """
    n_rows, k = distances.shape
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
                prices = _climb(some, heavy, scaled, prices).prices
    return _climb(distances, weights, limits, prices)


def target_sizes(prices: Floats, sizes: Floats, limits: SizeLimits) -> Floats:
    """Return the sizes that clusters should have at their prices.

    A price above 0 is only right for a cluster as large as it may be, and one below 0 for a cluster
    as small as it may be.
    """
    inside = np.clip(sizes, limits.minimum, limits.maximum)
    return np.where(prices > 0, limits.maximum, np.where(prices < 0, limits.minimum, inside))


def choose_clusters(
    distances: NDArray[Any], weights: Floats | None, limits: SizeLimits, prices: Floats
) -> Choice:
    """Return what rows choose at given prices; of equally good clusters the first."""
    n_rows, k = distances.shape
    labels, seconds = np.empty((2, n_rows), dtype=np.int64)
    least, gaps = np.empty((2, n_rows))
    added = prices.astype(distances.dtype)
    length = max(1, PART_SIZE // k)
    for start in range(0, n_rows, length):
        part = slice(start, start + length)
        costs = distances[part] + added
        rows = np.arange(len(costs))
        labels[part] = costs.argmin(axis=1)
        least[part] = costs[rows, labels[part]]
        costs[rows, labels[part]] = np.inf
        seconds[part] = costs.argmin(axis=1)
        gaps[part] = costs[rows, seconds[part]] - least[part]
    sizes = np.bincount(labels, weights, minlength=k).astype(np.float64)
    value = float(np.sum(least if weights is None else least * weights))
    value -= limits.maximum * float(np.sum(prices[prices > 0]))
    value -= limits.minimum * float(np.sum(prices[prices < 0]))
    excess = sizes - target_sizes(prices, sizes, limits)
    return Choice(prices, labels, seconds, gaps, value, excess)


def _climb(
    distances: NDArray[Any], weights: Floats | None, limits: SizeLimits, prices: Floats
) -> Choice:
    """Climb the dual function from given prices."""
    best = choose_clusters(distances, weights, limits, prices)
    k, damping = distances.shape[1], FIRST_DAMPING
    unit = 1.0 if weights is None else float(np.sum(weights)) / len(weights)
    curvature = _curvature(best, weights, unit)
    for _ in range(MAX_STEPS if k > 1 else 0):
        if np.sum(np.abs(best.excess)) <= ENOUGH * k * unit or damping > MAX_DAMPING:
            break
        prices = _step(best, curvature, damping, limits)
        tried = choose_clusters(distances, weights, limits, prices)
        if tried.value > best.value:
            best, damping = tried, damping / DAMPING_FACTOR
            curvature = _curvature(best, weights, unit)
        else:
            damping *= DAMPING_FACTOR
    return best


def _curvature(choice: Choice, weights: Floats | None, unit: float) -> Floats:
    """Return how many rows change from one cluster to another as their prices part, (k, k).

    The rows with the smallest gaps tell, about twice as many as are in the wrong place.
    """
    k, n_rows = len(choice.prices), len(choice.gaps)
    wrong = float(np.sum(np.abs(choice.excess))) / unit
    n_near = int(min(n_rows - 1, max(2 * wrong, 4 * k)))
    reach = float(np.partition(choice.gaps, n_near)[n_near])
    near = choice.gaps <= reach
    pairs = choice.labels[near] * k + choice.seconds[near]
    counts = np.bincount(pairs, None if weights is None else weights[near], minlength=k * k)
    found = counts.reshape(k, k) / max(2 * reach, float(np.finfo(np.float32).tiny))
    return np.asarray(found + found.T)


def _step(choice: Choice, curvature: Floats, damping: float, limits: SizeLimits) -> Floats:
    """Return the prices after a Newton step; a price does not change its sign, but may become 0."""
    before, k = choice.prices, len(choice.prices)
    equal = limits.minimum == limits.maximum
    moved = np.ones(k, np.bool_) if equal else (choice.excess != 0) | (before != 0)
    total = np.sum(curvature, axis=1)
    matrix = np.diag(total + damping * max(float(np.mean(total)), 1e-300)) - curvature
    prices = before.copy()
    part = matrix[np.ix_(moved, moved)]
    prices[moved] += strictly(lambda: np.linalg.solve(part, choice.excess[moved]))
    if equal:
        return prices - np.mean(prices)
    return np.where(before * prices < 0, 0.0, prices)
