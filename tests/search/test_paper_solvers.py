"""The solvers that the paper names: the exact optimum, KSS04 within its bound, ORSS06's draws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.stats

from projected_kmeans import ProjectedKMeans, inertia
from projected_kmeans.keys import open_stream
from projected_kmeans.paper.known_optima import KSS04_STREAM, draw_instance
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.search.paper_solvers import MAX_ROWS, find_optimum, solve_by_samples
from projected_kmeans.search.seeding import move_to_balls, seed_orss06
from tests.support.normal_rows import draw_normal_rows
from tests.support.problems import make_problem


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_exact_solver_against_enumeration(n_clusters: int) -> None:
    """The exact solver finds the minimum inertia among all labellings of six rows."""
    for path in range(2):
        rows = draw_normal_rows(6, 3, path)
        every = product(range(n_clusters), repeat=5)
        minimum = min(inertia(rows, [0, *labels]) for labels in every)
        found = find_optimum(make_problem(rows), n_clusters)
        assert found.inertia == pytest.approx(minimum, rel=1e-12)
        assert inertia(rows, found.labels) == pytest.approx(found.inertia, rel=1e-12)


def test_exact_solver_with_repeated_rows() -> None:
    """Where rows repeat, the optimum is zero and clusters may stay empty."""
    found = find_optimum(make_problem(np.array([[1.0], [1.0], [2.0]])), 3)
    assert found.inertia == 0
    assert found.centers.shape == (3, 1)


def test_exact_solver_with_an_offset() -> None:
    """A large common offset does not change the optimal partition."""
    rows = draw_normal_rows(10, 2, 9)
    np.testing.assert_array_equal(
        find_optimum(make_problem(rows), 3).labels,
        find_optimum(make_problem(rows + 1e5), 3).labels,
    )


def test_exact_solver_refuses_many_rows() -> None:
    """Too many rows give one sentence."""
    with pytest.raises(ValueError, match="too many for the exact solver; use at most 15 rows"):
        find_optimum(make_problem(np.zeros((MAX_ROWS + 1, 2))), 2)


def solve(rows: Floats, k: int, key: int = 0, n_subsets: int | None = None) -> Clustering:
    """Run KSS04 with eps = 0.5."""
    stream = open_stream(key, KSS04_STREAM)
    return solve_by_samples(make_problem(rows), k, stream, eps=0.5, n_subsets=n_subsets)


def test_kss04_is_within_its_bound() -> None:
    """On 96 tiny instances of every family KSS04 is within 1 + eps of the optimum."""
    # The keys are fixed, so the test is deterministic; on 1,500 other instances the worst ratio
    # was 1.21, so that one in 500 is beyond 1.5 at most, with 95 % confidence.
    for index in range(96):
        instance = draw_instance(8, index, n_samples=9, n_features=5)
        best = find_optimum(make_problem(instance.rows), instance.n_clusters).inertia
        found = solve(instance.rows, instance.n_clusters, index, n_subsets=16)
        assert best * (1 - 1e-9) <= found.inertia <= 1.5 * best, instance.family


def test_kss04_for_one_and_four_clusters() -> None:
    """One cluster is solved exactly, four run, and the same key gives the same labels."""
    rows = draw_normal_rows(12, 3, 1)
    one = solve(rows, 1)
    assert one.inertia == pytest.approx(find_optimum(make_problem(rows), 1).inertia)
    four = solve(rows, 4, n_subsets=6)
    again = solve(rows, 4, n_subsets=6)
    np.testing.assert_array_equal(four.labels, again.labels)
    assert len(np.unique(four.labels)) == 4


def test_kss04_refuses_many_clusters() -> None:
    """More than four clusters give one sentence."""
    rows = draw_normal_rows(12, 3, 1)
    with pytest.raises(ValueError, match=r"n_clusters=5 is too many for KSS04.*use at most 4"):
        solve(rows, 5)


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
    """ORSS06 leads Lloyd to well separated clusters."""
    means = 50 * np.eye(4, 30)
    rows = np.repeat(means, 15, axis=0) + draw_normal_rows(60, 30, 4)
    model = ProjectedKMeans(4, init="orss06", random_state=0).fit(rows)
    assert sorted(np.bincount(model.labels_)) == [15, 15, 15, 15]
