"""Draws by squared distance, many a pass: their distribution, and the best of a few of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus

from projected_kmeans.keys import open_stream
from projected_kmeans.solvers import kmeans_plus_plus as plus_plus
from projected_kmeans.solvers.kmeans_plus_plus import (
    SeedDistances,
    count_judges,
    draw_rows,
    extend_rows,
)
from tests import reference
from tests.support.problems import make_problem
from tests.support.seedings import ROWS, assert_distribution, seed_inertia


@pytest.mark.parametrize("weights", [np.ones(6), np.array([1.0, 2.0, 0.5, 4.0, 0.0, 3.0])])
def test_every_draw_follows_the_centers_of_its_moment(weights: Any) -> None:
    """Four rows of one round, in their order, have the chances of k-means++ row by row."""
    # Failure probability 1e-6 over keys; the keys are fixed.
    chances = np.zeros((6,) * 3)
    for rest in itertools.permutations(range(6), 3):
        if 0 not in rest:
            steps = [reference.plus_plus_chances(ROWS, weights, (0, *rest[:i])) for i in range(3)]
            chances[rest] = np.prod([step[row] for step, row in zip(steps, rest, strict=True)])
    counts = np.zeros((6,) * 3)
    problem = make_problem(ROWS, weights)
    for key in range(4000):
        chosen = extend_rows(problem, np.array([0]), 4, 1, open_stream(key, 1))
        counts[tuple(chosen[1:])] += 1
    assert_distribution(counts, chances)


def test_one_round_serves_many_centers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass over all rows takes in many centers at once."""
    passes: list[int] = []
    lower = SeedDistances.lower

    def count(distances: SeedDistances, rows: Any) -> None:
        passes.append(len(rows))
        lower(distances, rows)

    monkeypatch.setattr(SeedDistances, "lower", count)
    X = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    extend_rows(make_problem(X), np.array([0]), 300, 7, open_stream(0))
    assert len(passes) < 30


def test_few_rows_are_judged_all() -> None:
    """Candidates are judged on all rows up to 8192, on more a cluster beyond, in bounded memory."""
    assert count_judges(make_problem(np.zeros((8192, 2))).source, 2) == 8192
    assert count_judges(make_problem(np.zeros((8193, 2))).source, 2) == 4000
    assert count_judges(make_problem(np.zeros((60_000, 1), np.uint8)).source, 1000) == 10_000
    wide = make_problem(np.zeros((300, 500_000), np.uint8))
    assert count_judges(wide.source, 2) == 2**26 // 2_000_000


def test_a_sample_judges_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged on 10 rows a cluster, seeding stays within 3 % of exact greedy and beats one draw."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(6000, 6)) + 3 * stream.normal(size=(60, 6))[np.arange(6000) % 60]
    problem = make_problem(X)

    def run(n_trials: int) -> float:
        inertias = [
            seed_inertia(X, extend_rows(problem, np.array([0]), 60, n_trials, open_stream(key)))
            for key in range(12)
        ]
        return float(np.mean(inertias))

    one, exact = run(1), run(6)
    monkeypatch.setattr(plus_plus, "EXACT_ROWS", 100)
    monkeypatch.setattr(plus_plus, "MIN_JUDGES", 600)
    sampled = run(6)
    # The standard error of each mean is about 0.5 %; the keys are fixed.
    assert sampled < 1.03 * exact
    assert sampled < 0.9 * one


def test_greedy_is_as_good_as_scikit_learns() -> None:
    """The inertia after seeding is that of scikit-learn's greedy k-means++ within 2 %."""
    stream = np.random.default_rng(1)
    X = stream.normal(size=(2000, 5)) + 4 * stream.normal(size=(40, 5))[np.arange(2000) % 40]
    problem = make_problem(X)
    ours, theirs = [], []
    for key in range(25):
        first = draw_rows(np.ones(len(X)), 1, open_stream(key))
        ours.append(seed_inertia(X, extend_rows(problem, first, 40, 5, open_stream(key, 1))))
        theirs.append(seed_inertia(X, kmeans_plusplus(X, 40, random_state=key)[1]))
    # The standard error of either mean is below 0.5 %; the keys are fixed.
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.02)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_a_sample_depends_on_the_key_alone(dtype: str) -> None:
    """Blocks and threads change nothing if candidates are judged on a sample."""
    X = np.random.default_rng(1).integers(0, 255, size=(9000, 5)).astype(dtype)
    weights = np.random.default_rng(2).random(9000)
    results = [
        extend_rows(
            make_problem(X, weights, block_rows=rows, n_threads=threads),
            np.array([17]),
            30,
            5,
            open_stream(5),
        )
        for rows, threads in ((None, 1), (None, 2), (977, 3))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_a_sample_sees_the_far_few() -> None:
    """Clusters of few rows get a center each though a uniform sample would miss them."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(20_000, 3)).astype(np.float32)
    X[:40] += 1000 * np.repeat(np.arange(1, 11), 4)[:, None]
    for key in range(10):
        chosen = extend_rows(make_problem(X), np.array([500]), 20, 4, open_stream(key))
        assert set(range(10)) <= set((chosen // 4).tolist())


def test_rows_may_lie_at_both_ends() -> None:
    """Single-precision rows at the ends of their range are distinct all the same."""
    X = np.array([[-3e38], [3e38], [1e38], [-1e38], [0.0]], np.float32)
    for key in range(10):
        chosen = extend_rows(make_problem(X), np.array([0]), 5, 3, open_stream(key))
        assert len(set(chosen)) == 5
