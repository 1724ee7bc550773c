"""ORSS06 draws rows by its stated distribution, and leads to separated clusters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from projected_kmeans import ProjectedKMeans
from projected_kmeans.keys import open_stream
from projected_kmeans.paper import place_orss06
from projected_kmeans.search.seeding import move_to_balls, seed_orss06
from tests.support.normal_rows import draw_normal_rows
from tests.support.problems import make_problem


def test_orss06_draws_pairs_by_squared_distance() -> None:
    """The first two rows are a pair with probability proportional to its squared distance."""
    # A chi-squared test at 1e-6: so rarely does a right implementation fail, over keys.
    rows = draw_normal_rows(5, 2, 2)
    problem = make_problem(rows)
    stream = open_stream(9, 1)
    counts = np.zeros((5, 5))
    n_draws = 2000
    for _ in range(n_draws):
        first, second = seed_orss06(problem, 2, stream)
        counts[first, second] += 1
    chances = np.sum((rows[:, None] - rows[None]) ** 2, axis=2)
    pairs = chances > 0
    wanted = chances[pairs] / chances.sum() * n_draws
    assert counts[~pairs].sum() == 0
    assert scipy.stats.chisquare(counts[pairs], wanted).pvalue > 1e-6


def test_orss06_with_weights() -> None:
    """A row without weight is never drawn, and distinct rows are drawn while there are any."""
    rows = draw_normal_rows(6, 2, 3)
    problem = make_problem(rows, np.array([1.0, 0, 1, 1, 2, 1]))
    for path in range(50):
        chosen = seed_orss06(problem, 5, open_stream(9, 2, path))
        assert sorted(chosen) == [0, 2, 3, 4, 5]


def test_ball_step() -> None:
    """A center goes to the mean of the rows within a third of its distance to the next one."""
    rows = np.array([[0.0], [1.0], [2.9], [3.1], [9.0], [10.0]])
    moved = move_to_balls(make_problem(rows), np.array([[0.0], [9.0]]))
    np.testing.assert_allclose(moved.ravel(), [(0 + 1 + 2.9) / 3, 9.5])
    alone = np.array([[4.0]])
    np.testing.assert_array_equal(move_to_balls(make_problem(rows), alone), alone)


def test_orss06_seeds_the_estimator() -> None:
    """By name and as a callable, ORSS06 leads Lloyd to well separated clusters."""
    means = 50 * np.eye(4, 30)
    rows = np.repeat(means, 15, axis=0) + draw_normal_rows(60, 30, 4)
    for init in ("orss06", place_orss06):
        model = ProjectedKMeans(4, init=init, random_state=0).fit(rows)
        assert sorted(np.bincount(model.labels_)) == [15, 15, 15, 15]
    with pytest.raises(ValueError, match="n_clusters=7 exceeds n_samples=6"):
        place_orss06(rows[:6], 7)
