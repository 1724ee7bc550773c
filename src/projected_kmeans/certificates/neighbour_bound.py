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
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from projected_kmeans.certificates.proof_rows import (
    ROUNDING,
    UNDERFLOW,
    ProofRows,
    never_stop,
    sum_error,
)
from projected_kmeans.results import Floats
from projected_kmeans.running.deadlines import OutOfTime

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
    check : callable, optional
        Called between the pieces of a search; raises `OutOfTime` to end it.

    Attributes
    ----------
    is_cut : bool
        Whether a search was ended by this.
    """

    def __init__(
        self,
        costs: Floats,
        weights: Floats,
        n_clusters: int,
        check: Callable[[], None] = never_stop,
    ) -> None:
        self.costs, self.weights, self.n_clusters = costs, weights, n_clusters
        self.is_cut = False
        self._check = check
        self._listed = weights if costs.shape[1] == len(costs) else np.ones(costs.shape[1])
        self._is_even = bool((weights == 1).all())
        # What is not listed costs at least as much as all that is: shares must not exceed it.
        full = costs.shape[1] == len(costs)
        self._reach = np.full(len(costs), np.inf) if full else costs.max(axis=1)

    def replace_costs(self, costs: Floats) -> Neighbours:
        """Return the same rows with other costs."""
        return Neighbours(costs, self.weights, self.n_clusters, self._check)

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
            self._check()
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
        """Return the dual at the best price, or the best so far where there is no time for more."""
        best = start
        try:
            for dual in self._search(start):
                best = max(dual, best, key=lambda one: one.value)
        except OutOfTime:  # any price that was solved for is as true as the best
            self.is_cut = True
        return best

    def _search(self, start: Dual) -> Iterator[Dual]:
        """Walk over duals towards the best price: the value is concave in it, tangents show where.

        The first are a bracket, one price below and one above the best, or 18 digits away from the
        start. So far only go rows of which no more than k differ, or whose mean is one cluster.
        """
        low = high = self.solve(start.price, start.shares)
        yield low
        while self._slope(high) > 0 and high.price < 1e18 * start.price:
            low, high = high, self.solve(4 * high.price, high.shares)
            yield high
        while self._slope(low) <= 0 and low.price > 1e-18 * start.price:
            high, low = low, self.solve(low.price / 4, low.shares)
            yield low
        best = max(low.value, high.value)
        for step in range(PRICE_STEPS):
            gap = self._slope(low) - self._slope(high)
            if high.price - low.price <= 1e-9 * high.price or gap <= 0:
                break
            rise = high.value - low.value + self._slope(low) * low.price
            price = (rise - self._slope(high) * high.price) / gap
            if step % 3 == 2 or not low.price < price < high.price:
                price = (low.price + high.price) / 2
            promised = low.value + self._slope(low) * (price - low.price)
            if step % 3 != 2 and promised - best <= 1e-7 * abs(best):
                break
            middle = self.solve(price, high.shares)
            yield middle
            best = max(best, middle.value)
            low, high = (middle, high) if self._slope(middle) > 0 else (low, middle)

    def _slope(self, dual: Dual) -> float:
        """Return how the value grows with the price: clusters in the sets, beyond k.

        What is only rounding is no slope: it would lead to prices beside which all values vanish.
        """
        slope = float(np.sum(self.weights / dual.inside)) - self.n_clusters
        return 0.0 if abs(slope) <= 1e-12 * self.n_clusters else slope

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


def measure_neighbours(
    rows: ProofRows, n_clusters: int, check: Callable[[], None] = never_stop
) -> Neighbours:
    """Return lists of ||y_i - y_j||^2 / 2, none of them above the exact number.

    Parameters
    ----------
    rows : ProofRows
        What to measure.
    n_clusters : int
        k.
    check : callable, optional
        Called in every search; raises `OutOfTime` to end it.
    """
    n_rows = rows.shape[0]
    length = n_rows if rows.is_weighted else min(n_rows, max(1, LIST_ENTRIES // n_rows))
    costs = np.empty((n_rows, length))
    first = 0
    for halves in rows.walk_half_squares():
        own = np.arange(len(halves))
        halves[own, first + own] = np.inf
        if length < n_rows:
            halves = np.partition(halves, length - 1, axis=1)[:, :length]
        costs[first : first + len(halves)] = halves
        first += len(halves)
    return Neighbours(costs, rows.weights, n_clusters, check)
