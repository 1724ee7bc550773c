"""The neighbour bound: a lower bound on the inertia from the distances between rows.

It is a dual of k-means: a price p >= 0 for a cluster and a share v_i for every row give a bound,
and a search finds good ones. With c_ij = ||y_i - y_j||^2 / 2 and weights w_i,

    inertia >= sum of w_i v_i - p k    if, for every row i,
    slack_i = p - w_i v_i - sum over j != i of w_j max(0, v_i - c_ij) >= 0.

Proof. A cluster C of weight W has the inertia (1 / W) sum over i, j in C of w_i w_j c_ij. So row i
contributes w_i (sum over j in C of w_j c_ij) / W. Let each cluster also pay the price p, divided
among its rows in proportion to their weights; this adds at most p k in all. Row i then pays
w_i (p + sum over j in C of w_j c_ij) / W. This is at least w_i v_i if and only if
p + sum over j in C of w_j (c_ij - v_i) >= 0. The set C for which this is smallest consists of row i
itself, where c_ii = 0, and all j with c_ij < v_i; for that set it is slack_i.

The costs c_ij may be replaced by c_ij + s_ij with s_ij = -s_ji, because the s cancel in the sum
over a cluster. The *tightened bound* is the neighbour bound with such terms, found by subgradient
steps (`tighten`).

Search. For a given p, the largest allowed v_i is the root of slack_i, found by Newton's method.
This needs no sorting, allows weights, and allows lists with only the nearest rows, as long as v_i
does not exceed the largest cost in its list. The value sum of w_i v_i - p k is concave in p.
Searches only look for good numbers: `Neighbours.prove` proves the bound for those that were found,
so that a search may stop at any step.

Rounding. The costs are lower bounds on the exact ones. `Neighbours.prove` computes every slack_i,
subtracts the rounding error of the sum, and lowers v_i until the slack is not negative. The terms
s_ij have to be antisymmetric to the last bit, and they are: each step adds a matrix D with
D_ij = -D_ji exactly, and floating-point addition treats both signs alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from projected_kmeans.blas_threads import multiply
from projected_kmeans.certificates.proof_rows import (
    ROUNDING,
    UNDERFLOW,
    ProofRows,
    never_stop,
    sum_error,
)
from projected_kmeans.results import Floats
from projected_kmeans.running.deadlines import OutOfTime

# Numbers in all lists of neighbours together: 512 MB.
MAX_LIST_ENTRIES = 2**26
MAX_NEWTON_STEPS = 60
MAX_PRICE_STEPS = 60
# Numbers that are worked on at a time, so that they stay in the processor's cache: 512 kB.
PIECE_ENTRIES = 2**16

# The most rows of the tightened bound. Costs, terms, their sum and a step are matrices of
# rows x rows: 4 x 128 MB.
TIGHTEN_LIMIT = 4096
# Polyak's step needs a target: the best value so far plus this share of it. After PATIENCE steps
# that gain less than MIN_GAIN (relative), the share is halved; below LAST_AIM the search ends.
FIRST_AIM = 0.1
LAST_AIM = 1e-4
PATIENCE = 10
MIN_GAIN = 1e-5
# The best price of a cluster is searched for after every this many steps.
PRICE_EVERY = 5


@dataclass(frozen=True)
class Dual:
    """A price and shares, which give a bound up to rounding; `Neighbours.prove` proves it."""

    price: float  # p, the price of a cluster
    shares: Floats  # v_i, the least that row i pays per unit of its weight
    # The weight of the set that gives slack_i: row i and all j with c_ij < v_i. Infinity if v_i was
    # limited by the end of its list.
    set_weights: Floats
    value: float  # sum of w_i v_i - p k


class Slacks(NamedTuple):
    """The slacks of some rows."""

    slack: Floats
    saved: Floats  # sum over j != i of w_j max(0, v_i - c_ij)
    set_weights: Floats  # as in `Dual`; slack_i falls at this rate as v_i grows


class Neighbours:
    """For every row a list of its smallest costs c_ij; all n of them if memory allows.

    The lists (n, m) are not sorted. Row i itself is left out, or has the cost infinity. All weights
    must be 1 if the lists are shorter than n.
    """

    def __init__(
        self,
        costs: Floats,
        weights: Floats,
        n_clusters: int,
        check: Callable[[], None] = never_stop,
    ) -> None:
        self.costs, self.weights, self.n_clusters = costs, weights, n_clusters
        self.was_cut_short = False  # whether `maximise` was stopped by the check
        self._check = check
        is_complete = costs.shape[1] == len(costs)
        self._list_weights = weights if is_complete else np.ones(costs.shape[1])
        self._has_equal_weights = bool((weights == 1).all())
        # A cost that is not listed is at least the largest listed one. As long as shares do not
        # exceed that, unlisted rows add nothing to the slack.
        self._max_shares = np.full(len(costs), np.inf) if is_complete else costs.max(axis=1)

    def replace_costs(self, costs: Floats) -> Neighbours:
        """Return the same rows with other costs, such as c_ij + s_ij."""
        return Neighbours(costs, self.weights, self.n_clusters, self._check)

    def start(self, squares: float) -> Dual:
        """Return the dual for a k-th of the sum of w ||y - mean||^2 as the price."""
        nothing = np.zeros(len(self.costs))
        return self.solve(max(squares / self.n_clusters, UNDERFLOW), nothing)

    def solve(self, price: float, start: Floats) -> Dual:
        """Return the largest shares at a price, by Newton's method.

        slack_i is concave in v_i and falls. So after the first step every v_i is at or above the
        root, and the next steps come down to it. The closer the start is, the fewer steps it takes.
        """
        shares, set_weights = start.copy(), np.empty(len(start))
        for piece in self._pieces():
            self._check()
            for _ in range(MAX_NEWTON_STEPS):
                now = self._measure_slack(piece, price, shares[piece])
                shares[piece] += now.slack / now.set_weights
                set_weights[piece] = now.set_weights
                if (np.abs(now.slack) <= 1e-9 * price).all():
                    break
        set_weights[shares > self._max_shares] = np.inf
        np.minimum(shares, self._max_shares, out=shares)
        value = float(multiply(self.weights, shares)) - price * self.n_clusters
        return Dual(price, shares, set_weights, value)

    def prove(self, dual: Dual) -> float:
        """Return the bound that a dual proves, after lowering shares until no slack is negative.

        slack_i falls at rate at least w_i as v_i grows, so lowering v_i by deficit_i / w_i makes it
        non-negative. This lowers the bound by deficit_i. The slack's own rounding error, including
        that of the costs c_ij + s_ij, counts as part of the deficit.
        """
        total = math.fsum(self.weights)
        lowered = []
        for piece in self._pieces():
            shares, weights = dual.shares[piece], self.weights[piece]
            slack, saved, _ = self._measure_slack(piece, dual.price, shares)
            sizes = dual.price + 2 * total * np.abs(shares) + 2 * saved
            min_slack = slack - sum_error(self.costs.shape[1]) * sizes - UNDERFLOW
            lowered.append(weights * shares + np.minimum(min_slack, 0.0))
        terms = np.concatenate([*lowered, [-dual.price * self.n_clusters]])
        return math.fsum(terms) - 8 * ROUNDING * math.fsum(np.abs(terms)) - UNDERFLOW

    def maximise(self, start: Dual) -> Dual:
        """Return the dual at the best price, or the best one found before the time was over."""
        best = start
        try:
            for dual in self._search(start):
                best = max(dual, best, key=lambda known: known.value)
        except OutOfTime:  # every dual found so far gives a bound
            self.was_cut_short = True
        return best

    def _search(self, start: Dual) -> Iterator[Dual]:
        """Yield duals with better and better prices.

        First the price is multiplied or divided by 4 until one price below the best and one above
        it are known. This stops at a factor of 1e18 from the first price; that happens only if at
        most k rows differ, or if one cluster is best. Then, because the value is concave in the
        price, the tangents at the two prices meet near the best one. Every third step bisects.
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
        for step in range(MAX_PRICE_STEPS):
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
        """Return the derivative of the value with respect to the price.

        v_i grows at the rate 1 / set_weights_i. A slope that is only rounding error counts as 0,
        because following it would lead to prices so large that the value is lost in rounding.
        """
        slope = float(np.sum(self.weights / dual.set_weights)) - self.n_clusters
        return 0.0 if abs(slope) <= 1e-12 * self.n_clusters else slope

    def _pieces(self) -> list[slice]:
        length = max(1, PIECE_ENTRIES // self.costs.shape[1])
        return [slice(at, at + length) for at in range(0, len(self.costs), length)]

    def _measure_slack(self, piece: slice, price: float, shares: Floats) -> Slacks:
        own = self.weights[piece]
        savings = shares[:, None] - self.costs[piece]
        inside = savings > 0
        if self._has_equal_weights:  # counting is faster than a product, if all weights are 1
            others = inside.sum(axis=1)
        else:
            others = multiply(inside, self._list_weights)
        saved = multiply(np.maximum(savings, 0.0, out=savings), self._list_weights)
        return Slacks(price - own * shares - saved, saved, own + others)


def measure_neighbours(
    rows: ProofRows, n_clusters: int, check: Callable[[], None] = never_stop
) -> Neighbours:
    """Return the lists of neighbours, with costs that are at most the exact ||y_i - y_j||^2 / 2.

    If complete lists would exceed `MAX_LIST_ENTRIES`, each holds only the nearest rows. Rows with
    weights always have complete lists.
    """
    n_rows = rows.shape[0]
    length = n_rows if rows.is_weighted else min(n_rows, max(1, MAX_LIST_ENTRIES // n_rows))
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


def tighten(
    neighbours: Neighbours, start: Dual, n_steps: int, on_step: Callable[[], bool]
) -> float:
    """Return the best bound that is proven with c_ij + s_ij in place of c_ij.

    It is a bound for the rows y, at least what ``start`` proves, whose value is above 0. Lists are
    complete, of at most `TIGHTEN_LIMIT` rows. The search stops if ``on_step`` returns True.

    Suppose that row i has j in its set (c_ij < v_i), but j does not have i in its own. Then raising
    c_ij and lowering c_ji by the same amount raises the bound, until the two rows agree. A step
    does this for all pairs at once, with the length that Polyak's rule gives.
    """
    proven, best, now = neighbours.prove(start), start.value, start
    costs, terms = neighbours.costs, np.zeros_like(neighbours.costs)
    aim, n_idle = FIRST_AIM, 0
    for step in range(n_steps):
        direction = _disagreement(neighbours, now)
        norm = float(np.sum(direction * direction))
        if norm == 0 or aim < LAST_AIM:
            break
        direction *= (best * (1 + aim) - now.value) / norm
        terms += direction
        neighbours = neighbours.replace_costs(costs + terms)
        try:
            now = neighbours.solve(now.price, now.shares)
        except OutOfTime:
            break
        if step % PRICE_EVERY == 0:
            now = neighbours.maximise(now)
        n_idle = 0 if now.value > best * (1 + MIN_GAIN) else n_idle + 1
        if now.value > best:
            best, proven = now.value, max(proven, neighbours.prove(now))
        if n_idle == PATIENCE:
            aim, n_idle = aim / 2, 0
        if on_step():
            break
    return proven


def _disagreement(neighbours: Neighbours, dual: Dual) -> Floats:
    """Return the derivative of the value with respect to each s_ij, where s_ji = -s_ij."""
    weights = neighbours.weights
    part = (weights / dual.set_weights)[:, None] * (neighbours.costs < dual.shares[:, None])
    part *= weights
    return part - part.T
