"""SCORE: a lower bound on the inertia of every clustering of many rows, from a few of them.

Holds with a stated probability over the key; it is never certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.keys import CERTIFICATE, open_stream

# More than the rounding of everything that is not bounded elsewhere.
SHARE = 1e-9


def sampled_bound(
    whole: ProofRows,
    subsets: list[ProofRows],
    bound: Callable[[ProofRows], float],
    confidence: float,
) -> float:
    """Return a number that exceeds the least inertia with probability 1 - confidence at most.

    Let f be the squared distance of a row to the nearest of the best centers of all rows. The best
    inertia of a subset is at most the sum of f over it, so the mean of the subsets' bounds, a row,
    is at most the mean of f over all rows drawn. These are drawn uniformly (by weight, where rows
    have weights), and f lies between 0 and R; so Hoeffding's inequality in its sharp form
    (1963, theorem 1, and section 6 for draws without replacement) holds: the mean of N draws
    reaches x with probability at most exp(-N kl(x/R, mu/R)), where mu is the mean of f.

    R: the mean of all rows is a mean of the centers, so that the nearest center is no farther
    from a row than ||y||^2 plus the centers' own variance, which is at most that of the rows.

    Parameters
    ----------
    whole : ProofRows
        All rows.
    subsets : list of ProofRows
        From `draw_subsets`, all of one size; their number is fixed before any is looked at.
    bound : callable
        From a subset to a certain lower bound on its least inertia; 0 will always do.
    confidence : float
        In (0, 1).
    """
    size = subsets[0].shape[0]
    found = math.fsum(bound(one) for one in subsets) / (len(subsets) * size)
    largest = whole.reach * whole.unit * (1 + SHARE)
    if not found > 0:
        return 0.0
    share = lower_mean(min(1.0, found / largest), size * len(subsets), 1 - confidence)
    return share * largest * whole.original_weight * (1 - SHARE)


def draw_subsets(whole: ProofRows, n_subsets: int, size: int, key: int) -> list[ProofRows]:
    """Return subsets that have no row in common; with weights, rows drawn anew every time.

    Parameters
    ----------
    whole : ProofRows
        At least n_subsets times size, unless they have weights; rows are drawn in proportion to
        these, and count once each.
    n_subsets, size : int
        How many, and of how many rows.
    key : int
        What fixes the draws.
    """
    stream = open_stream(key, CERTIFICATE)
    n_rows, total = whole.shape[0], n_subsets * size
    if whole.is_weighted:
        drawn = stream.choice(n_rows, total, p=whole.weights / whole.weights.sum())
    else:
        drawn = stream.choice(n_rows, total, replace=False)
    return [whole.take(part) for part in drawn.reshape(n_subsets, size)]


def lower_mean(share: float, n_draws: int, delta: float) -> float:
    """Return the least mean, of values in [0, 1], under which a mean of draws is not too unlikely.

    Examples
    --------
    >>> 0.2 < lower_mean(0.25, 1000, 0.01) < 0.25
    True
    """
    needed = math.log(1 / delta) * (1 + SHARE) / n_draws
    low, high = 0.0, share
    for _ in range(200):
        middle = (low + high) / 2
        if middle > 0 and _divergence(share, middle) <= needed:
            high = middle
        else:
            low = middle
    return low


def _divergence(share: float, mean: float) -> float:
    """Return kl(share, mean) of two coins."""
    if mean >= 1 or share <= mean:
        return 0.0
    rest = 0.0 if share >= 1 else (1 - share) * (math.log1p(-share) - math.log1p(-mean))
    return share * math.log(share / mean) + rest
