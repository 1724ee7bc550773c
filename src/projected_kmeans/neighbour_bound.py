"""SCORE: lower bounds on the inertia of every clustering from distances between rows.

A dual of k-means: any prices give a bound, good ones are found by search; margins are subtracted.

A row i in a cluster C of weight W pays w_i / W times the sum over C of w_j c_ij, where
c_ij = ||y_i - y_j||^2 / 2, and the w_i / W of all rows sum up to the number of clusters. With a
price p for every cluster, shared in the same way, the row pays at least w_i v_i if no set of weight
W that it is in has (p + sum of w_j c_ij) / W below v_i, which is to say that

    slack_i = p - w_i v_i - sum over j != i of w_j max(0, v_i - c_ij) >= 0.

So inertia >= sum of w_i v_i - p k for all such v. Instead of c_ij also c_ij + s_ij serves, where
s_ij = -s_ji: in the sum over a cluster s cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from projected_kmeans.results import Floats
from projected_kmeans.rounded_rows import ROUNDING, UNDERFLOW, RoundedRows, sum_error

# Numbers in the lists of neighbours: 512 MB.
LIST_ENTRIES = 2**26
NEWTON_STEPS = 60
PRICE_STEPS = 60
# Rows of the lists worked on at a time: what fits into a cache.
PIECE_ENTRIES = 2**16


@dataclass(frozen=True)
class Dual:
    """Prices that prove a bound, as far as rounding lets them.

    Attributes
    ----------
    price : float
        p, of a cluster.
    shares : ndarray (n,)
        v_i, what row i pays at least for a unit of its weight.
    inside : ndarray (n,)
        The weight of the set that pays least.
    value : float
        Sum of w v - p k.
    """

    price: float
    shares: Floats
    inside: Floats
    value: float


class Neighbours:
    """For every row the smallest c_ij, all of them where memory allows.

    Parameters
    ----------
    costs : ndarray (n, m)
        Lists of c_ij without row i itself, or with infinity in its place; not sorted.
    weights : ndarray (n,)
        Of the rows; all 1 where lists are shorter than n.
    n_clusters : int
        k.
    """

    def __init__(self, costs: Floats, weights: Floats, n_clusters: int) -> None:
        self.costs, self.weights, self.n_clusters = costs, weights, n_clusters
        self._listed = weights if costs.shape[1] == len(costs) else np.ones(costs.shape[1])
        self._is_even = bool((weights == 1).all())
        # What is not listed costs at least as much as all that is: shares must not exceed it.
        full = costs.shape[1] == len(costs)
        self._reach = np.full(len(costs), np.inf) if full else costs.max(axis=1)

    def start(self, squares: float) -> Dual:
        """Return the dual to search from, for rows of this sum of squared norms."""
        nothing = np.zeros(len(self.costs))
        return self.solve(max(squares / self.n_clusters, UNDERFLOW), nothing)

    def solve(self, price: float, start: Floats) -> Dual:
        """Return the largest shares at this price, by Newton's method from near ones.

        The slack is concave and falls with v, so steps come from above after the first.
        """
        shares, inside = start.copy(), np.empty(len(start))
        for piece in self._pieces():
            for _ in range(NEWTON_STEPS):
                slack, _, mass = self._slack(piece, price, shares[piece])
                step = slack / mass
                shares[piece] += step
                inside[piece] = mass
                if (np.abs(slack) <= 1e-9 * price).all():
                    break
        capped = shares > self._reach
        np.minimum(shares, self._reach, out=shares)
        inside[capped] = np.inf
        return self._describe(price, shares, inside)

    def _describe(self, price: float, shares: Floats, inside: Floats) -> Dual:
        value = float(self.weights @ shares) - price * self.n_clusters
        return Dual(price, shares, inside, value)

    def prove(self, dual: Dual) -> float:
        """Return the bound that these prices prove: shares lowered until no slack is negative.

        A slack is at most 1/w_i steep in v_i at the least, so lowering v_i by the want of slack
        over w_i suffices. Its rounding: that of a sum, and of every c_ij + s_ij.
        """
        total = math.fsum(self.weights)
        lowered = []
        for piece in self._pieces():
            shares, weights = dual.shares[piece], self.weights[piece]
            slack, paid, _ = self._slack(piece, dual.price, shares)
            sizes = dual.price + 2 * total * np.abs(shares) + 2 * paid
            want = np.minimum(slack - sum_error(self.costs.shape[1]) * sizes - UNDERFLOW, 0.0)
            lowered.append(weights * shares + want)
        terms = np.concatenate([*lowered, [-dual.price * self.n_clusters]])
        return math.fsum(terms) - 8 * ROUNDING * math.fsum(np.abs(terms)) - UNDERFLOW

    def maximise(self, start: Dual) -> Dual:
        """Return the dual at the best price: the value is concave in it, tangents show where."""
        low, high = self._bracket(start)
        best = max(low, high, key=lambda one: one.value)
        for step in range(PRICE_STEPS):
            gap = self._slope(low) - self._slope(high)
            if high.price - low.price <= 1e-9 * high.price or gap <= 0:
                break
            rise = high.value - low.value + self._slope(low) * low.price
            price = (rise - self._slope(high) * high.price) / gap
            if step % 3 == 2 or not low.price < price < high.price:
                price = (low.price + high.price) / 2
            promised = low.value + self._slope(low) * (price - low.price)
            if step % 3 != 2 and promised - best.value <= 1e-7 * abs(best.value):
                break
            middle = self.solve(price, high.shares)
            best = max(best, middle, key=lambda one: one.value)
            low, high = (middle, high) if self._slope(middle) > 0 else (low, middle)
        return best

    def _bracket(self, start: Dual) -> tuple[Dual, Dual]:
        """Return duals at a price below and one above the best, or 18 digits away from the start.

        So far only go rows of which no more than k differ, or rows whose mean is one cluster.
        """
        low = high = self.solve(start.price, start.shares)
        while self._slope(high) > 0 and high.price < 1e18 * start.price:
            low, high = high, self.solve(4 * high.price, high.shares)
        while self._slope(low) <= 0 and low.price > 1e-18 * start.price:
            high, low = low, self.solve(low.price / 4, low.shares)
        return low, high

    def _slope(self, dual: Dual) -> float:
        """Return how the value grows with the price: clusters in the sets, beyond k."""
        return float(np.sum(self.weights / dual.inside)) - self.n_clusters

    def _pieces(self) -> list[slice]:
        length = max(1, PIECE_ENTRIES // self.costs.shape[1])
        return [slice(at, at + length) for at in range(0, len(self.costs), length)]

    def _slack(self, piece: slice, price: float, shares: Floats) -> tuple[Floats, Floats, Floats]:
        """Return slack, what a row's set saves it, and the set's weight, for some rows."""
        own = self.weights[piece]
        saved = shares[:, None] - self.costs[piece]
        inside = saved > 0
        mass = own + (inside.sum(axis=1) if self._is_even else inside @ self._listed)
        paid = np.maximum(saved, 0.0, out=saved) @ self._listed
        return price - own * shares - paid, paid, mass


def measure_neighbours(centred: RoundedRows, n_clusters: int) -> Neighbours:
    """Return lists of ||y_i - y_j||^2 / 2, none of them above the exact number.

    Computed as (|y|^2 + |z|^2) / 2 - <y, z>; both are off by gamma (|y|^2 + |z|^2) / 2 at most.
    A quarter more than both is subtracted, and where less than zero is left, zero is the distance.
    """
    rows = centred.take_all()
    n_rows, n_columns = rows.shape
    length = n_rows if centred.is_weighted else min(n_rows, max(1, LIST_ENTRIES // n_rows))
    squares = np.einsum("ij,ij->i", rows, rows)
    costs = np.empty((n_rows, length))
    rate = (1 - 2.5 * sum_error(n_columns)) / 2
    for start in range(0, n_rows, 512):
        some = slice(start, start + 512)
        halves = rate * (squares[some, None] + squares) - rows[some] @ rows.T
        np.maximum(halves, 0.0, out=halves)
        own = np.arange(start, start + len(halves))
        halves[own - start, own] = np.inf
        if length < n_rows:
            halves = np.partition(halves, length - 1, axis=1)[:, :length]
        costs[some] = halves
    return Neighbours(costs, centred.weights, n_clusters)
