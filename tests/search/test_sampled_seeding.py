"""k-means|| and AFK-MC^2: the distribution of their draws, and the inertia that they leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.keys import open_stream
from projected_kmeans.search.sampled_seeding import seed_markov, seed_oversampled
from projected_kmeans.search.seeding import seed_plus_plus
from tests import reference
from tests.support.problems import make_problem
from tests.support.seedings import ROWS, assert_distribution, seed_inertia


@pytest.mark.parametrize("weights", [np.ones(6), np.array([1.0, 2.0, 0.0, 4.0, 0.5, 3.0])])
def test_chains_end_where_k_means_plus_plus_draws(weights: NDArray[Any]) -> None:
    """After 200 steps three centers of AFK-MC^2 have the chances of k-means++, in their order."""
    # Failure probability 1e-6 over keys; the keys are fixed. A chain of 200 steps is nearer to its
    # limit than any test of 3000 draws can see.
    chances = np.zeros((6,) * 3)
    for first in np.flatnonzero(weights):
        second = reference.plus_plus_chances(ROWS, weights, (first,))
        for other in np.flatnonzero(second):
            third = reference.plus_plus_chances(ROWS, weights, (first, other))
            chances[first, other] = weights[first] / weights.sum() * second[other] * third
    counts = np.zeros((6,) * 3)
    problem = make_problem(ROWS, weights)
    for key in range(3000):
        counts[tuple(seed_markov(problem, 3, open_stream(key, 1)))] += 1
    assert_distribution(counts, chances)


def test_oversampling_is_as_good_as_greedy() -> None:
    """The inertia after k-means|| is within 5 % of that after greedy k-means++."""
    stream = np.random.default_rng(1)
    X = stream.normal(size=(3000, 5)) + 4 * stream.normal(size=(40, 5))[np.arange(3000) % 40]
    problem = make_problem(X)
    means = [
        np.mean([seed_inertia(X, seeding(problem, 40, open_stream(key))) for key in range(12)])
        for seeding in (seed_oversampled, seed_plus_plus)
    ]
    # The standard error of either mean is about 1 %; the keys are fixed.
    assert means[0] == pytest.approx(means[1], rel=0.05)


def test_chains_are_as_good_as_single_draws() -> None:
    """The inertia after AFK-MC^2 is within 6 % of that after draws of exact k-means++."""
    stream = np.random.default_rng(1)
    X = stream.normal(size=(3000, 5)) + 2 * stream.normal(size=(40, 5))[np.arange(3000) % 40]
    problem = make_problem(X)
    chains, draws = [], []
    for key in range(12):
        chains.append(seed_inertia(X, seed_markov(problem, 40, open_stream(key))))
        rows = [int(open_stream(key, 9).integers(len(X)))]
        uniform = open_stream(key, 8)
        while len(rows) < 40:
            chance = reference.plus_plus_chances(X, np.ones(len(X)), tuple(rows))
            rows.append(int(uniform.choice(len(X), p=chance)))
        draws.append(seed_inertia(X, rows))
    # The standard error of either mean is about 1.5 %; the keys are fixed.
    assert np.mean(chains) == pytest.approx(np.mean(draws), rel=0.06)
