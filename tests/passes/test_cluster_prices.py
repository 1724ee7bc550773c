"""Prices of clusters: what rows choose, and how near sizes come to their limits."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.passes.cluster_prices import (
    choose_clusters,
    find_prices,
    rank_gaps,
    target_sizes,
)
from projected_kmeans.passes.size_limits import SizeLimits


def test_ranked_gaps_are_those_of_sorted_clusters() -> None:
    """Gaps are those of the sorted cluster: its largest beyond its end, 0 without rows."""
    distances = np.random.default_rng(0).exponential(size=(200, 5))
    distances[:, 3] += 99.0
    choice = choose_clusters(distances, None, SizeLimits(0, 200), np.zeros(5))
    found = rank_gaps(choice, np.array([0, 3, 10_000, 1, 7]))
    expected = [
        gaps[min(rank, len(gaps) - 1)]
        if len(gaps := np.sort(choice.gaps[choice.labels == j]))
        else 0
        for j, rank in enumerate([0, 3, 10_000, 1, 7])
    ]
    assert found.tolist() == expected


def test_choices_at_prices() -> None:
    """A row takes the least sum of distance and price."""
    distances = np.array([[0.0, 2.0, 9.0], [1.0, 1.0, 1.0], [5.0, 0.0, 1.0]])
    found = choose_clusters(distances, None, SizeLimits(1, 1), np.array([0.0, 1.0, -1.0]))
    assert found.labels.tolist() == [0, 2, 2]
    assert found.seconds.tolist() == [1, 0, 1]
    assert found.gaps.tolist() == [3.0, 1.0, 1.0]
    assert found.value == 0.0 + 0.0 + 0.0 - 1.0 + 1.0
    assert found.excess.tolist() == [0.0, -1.0, 1.0]


def test_targets_follow_prices() -> None:
    """A price above 0 asks for the largest size, one below for the smallest, 0 for any inside."""
    sizes, prices = np.array([1.0, 9.0, 5.0, 9.0]), np.array([2.0, -2.0, 0.0, 0.0])
    assert target_sizes(prices, sizes, SizeLimits(3, 6)).tolist() == [6.0, 3.0, 5.0, 6.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_prices_bring_sizes_near_their_limits(weighted: bool) -> None:
    """At most 8 rows a cluster are in the wrong place, where thousands were before."""
    stream = np.random.default_rng(0)
    rows = stream.normal(size=(20_000, 4))
    distances = ((rows[:, None] - rows[:10]) ** 2).sum(axis=2)
    weights = stream.random(20_000) if weighted else None
    mass = 20_000.0 if weights is None else float(weights.sum())
    limits = SizeLimits(0.09 * mass, 0.11 * mass)
    free = choose_clusters(distances, weights, limits, np.zeros(10))
    found = find_prices(distances, weights, limits)
    assert np.abs(free.excess).sum() > 0.2 * mass
    assert np.abs(found.excess).sum() <= 8 * 10
    assert found.value > free.value
