"""Labels within limits of the weight of clusters.

Rows cannot be divided, so that to fill clusters to given weights is a packing problem. Prices bring
the weights near their limits. Then rows move one by one, those first that cost least for the weight
that they put right. If that ends in a dead end, rows are packed anew, heavy ones first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.cluster_prices import find_prices
from projected_kmeans.passes.size_limits import ROUNDING, SizeLimits
from projected_kmeans.results import Floats, Labels


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
