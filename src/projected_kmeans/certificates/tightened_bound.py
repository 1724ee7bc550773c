"""SCORE: the neighbour bound made tighter by antisymmetric terms, in subgradient steps.

Searches; what it reports is proven by `Neighbours.prove` for the terms found, however found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from projected_kmeans.certificates.neighbour_bound import Dual, Neighbours
from projected_kmeans.results import Floats
from projected_kmeans.running.deadlines import OutOfTime

# Rows for which all distances, all antisymmetric terms and their steps are kept: 4 x 128 MB.
TIGHTEN_LIMIT = 4096
# A step aims at a value above the best by this share; too many steps without gain halve it.
FIRST_AIM = 0.1
LAST_AIM = 1e-4
PATIENCE = 10
GAIN = 1e-5
# The price of a cluster is searched anew after so many steps.
PRICE_EVERY = 5


def tighten(
    neighbours: Neighbours, start: Dual, n_steps: int, on_step: Callable[[], bool]
) -> float:
    """Return the best bound proven with c_ij + s_ij, where s_ij = -s_ji, in place of c_ij.

    Where row i counts j into its set and j does not count i, c_ij is raised and c_ji lowered by as
    much, so that the two come to agree (Polyak's step, with an aim that comes down).

    Parameters
    ----------
    neighbours : Neighbours
        All costs, at most `TIGHTEN_LIMIT` rows.
    start : Dual
        The best without s, of a value above 0.
    n_steps : int
        At most so many.
    on_step : callable
        Called after every step; True stops.

    Returns
    -------
    float
        For the rows y, never less than `start` proves.
    """
    proven, best, now = neighbours.prove(start), start.value, start
    costs, terms = neighbours.costs, np.zeros_like(neighbours.costs)
    aim, idle = FIRST_AIM, 0
    for step in range(n_steps):
        direction = _disagreement(neighbours, now)
        norm = float(np.vdot(direction, direction))
        if norm == 0 or aim < LAST_AIM:
            break
        # Rounding is the same for both signs, so that terms stay antisymmetric to the bit.
        direction *= (best * (1 + aim) - now.value) / norm
        terms += direction
        neighbours = neighbours.replace_costs(costs + terms)
        try:
            now = neighbours.solve(now.price, now.shares)
        except OutOfTime:
            break
        if step % PRICE_EVERY == 0:
            now = neighbours.maximise(now)
        idle = 0 if now.value > best * (1 + GAIN) else idle + 1
        if now.value > best:
            best, proven = now.value, max(proven, neighbours.prove(now))
        if idle == PATIENCE:
            aim, idle = aim / 2, 0
        if on_step():
            break
    return proven


def _disagreement(neighbours: Neighbours, dual: Dual) -> Floats:
    """Return how the value grows with each s_ij, as s_ji falls."""
    weights = neighbours.weights
    part = (weights / dual.inside)[:, None] * (neighbours.costs < dual.shares[:, None])
    part *= weights
    return part - part.T
