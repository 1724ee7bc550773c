"""The tightened bound: the neighbour bound with better costs, found by subgradient steps.

Inequality and proof are those of `neighbour_bound`, with c_ij + s_ij in place of c_ij. Any terms
with s_ij = -s_ji are allowed, because they cancel in the sum over a cluster.

This module only searches for good terms. `Neighbours.prove` proves the bound for the terms that
were found, rounding included, so that the search may stop at any step. The terms have to be
antisymmetric to the last bit, and they are: each step adds a matrix D with D_ij = -D_ji exactly,
and floating-point addition treats both signs alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from projected_kmeans.certificates.neighbour_bound import Dual, Neighbours
from projected_kmeans.results import Floats
from projected_kmeans.running.deadlines import OutOfTime

# The most rows. Costs, terms, their sum and a step are matrices of rows x rows: 4 x 128 MB.
TIGHTEN_LIMIT = 4096
# Polyak's step needs a target: the best value so far plus this share of it. After PATIENCE steps
# that gain less than MIN_GAIN (relative), the share is halved; below LAST_AIM the search ends.
FIRST_AIM = 0.1
LAST_AIM = 1e-4
PATIENCE = 10
MIN_GAIN = 1e-5
# The best price of a cluster is searched for after every this many steps.
PRICE_EVERY = 5


def tighten(
    neighbours: Neighbours, start: Dual, n_steps: int, on_step: Callable[[], bool]
) -> float:
    """Return the best bound that is proven with c_ij + s_ij in place of c_ij.

    Suppose that row i has j in its set (c_ij < v_i), but j does not have i in its own. Then raising
    c_ij and lowering c_ji by the same amount raises the bound, until the two rows agree. A step
    does this for all pairs at once, with the length that Polyak's rule gives.

    Parameters
    ----------
    neighbours : Neighbours
        With complete lists, of at most `TIGHTEN_LIMIT` rows.
    start : Dual
        The best dual for s = 0; its value is above 0.
    n_steps : int
        The maximum number of steps.
    on_step : callable
        Called after every step; stops the search if it returns True.

    Returns
    -------
    float
        A bound for the rows y, at least what ``start`` proves.
    """
    proven, best, now = neighbours.prove(start), start.value, start
    costs, terms = neighbours.costs, np.zeros_like(neighbours.costs)
    aim, idle = FIRST_AIM, 0
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
        idle = 0 if now.value > best * (1 + MIN_GAIN) else idle + 1
        if now.value > best:
            best, proven = now.value, max(proven, neighbours.prove(now))
        if idle == PATIENCE:
            aim, idle = aim / 2, 0
        if on_step():
            break
    return proven


def _disagreement(neighbours: Neighbours, dual: Dual) -> Floats:
    """Return the derivative of the value with respect to each s_ij, where s_ji = -s_ij."""
    weights = neighbours.weights
    part = (weights / dual.set_weights)[:, None] * (neighbours.costs < dual.shares[:, None])
    part *= weights
    return part - part.T
