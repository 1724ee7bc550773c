"""The sampled bound fails at most as often as it says."""

from __future__ import annotations

import math

import numpy as np

from projected_kmeans import inertia
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.sampled_bound import draw_subsets, lower_mean, sampled_bound


def test_sampled_bounds_fail_as_rarely_as_they_say() -> None:
    """For 200 keys and a confidence of 0.9, few bounds exceed the minimum.

    These data are the worst case: most rows are at 0, a few at 1, and there is one cluster. If each
    bound fails with probability 0.1, more than 35 of 200 fail with probability 0.0005.
    """
    X = (np.arange(1000) % 50 == 0).astype(np.float64)[:, None]
    optimum = inertia(X, np.zeros(1000, dtype=int))
    whole = DenseProofRows(X)
    values = []
    for key in range(200):
        subsets = draw_subsets(whole, 2, 40, key)
        values.append(
            sampled_bound(whole, subsets, lambda one: one.to_original(one.squares - one.drift), 0.9)
        )
    assert sum(value > optimum for value in values) <= 35
    assert max(values) > 0


def test_the_tail_inequality_holds_for_coins() -> None:
    """The lower mean exceeds the true mean of coins with at most the stated probability."""
    n, mean, delta = 40, 0.2, 0.05
    failing = [hits for hits in range(n + 1) if lower_mean(hits / n, n, delta) > mean]
    chance = sum(math.comb(n, hits) * mean**hits * (1 - mean) ** (n - hits) for hits in failing)
    assert 0 < chance <= delta
