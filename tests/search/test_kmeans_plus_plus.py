"""Draws by squared distance, many a pass: their distribution, and the best of a few of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

from projected_kmeans.keys import open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.search import kmeans_plus_plus as plus_plus
from projected_kmeans.search.kmeans_plus_plus import (
    SeedDistances,
    count_cells,
    count_held_rows,
    count_judges,
    draw_rows,
    seed_by_cells,
    seed_plus_plus,
)
from projected_kmeans.search.seeding import seed_centers
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
        chosen = seed_plus_plus(problem, 4, open_stream(key, 1), first=np.array([0]), n_trials=1)
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
    seed_plus_plus(make_problem(X), 300, open_stream(0), first=np.array([0]), n_trials=7)
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
            seed_inertia(
                X,
                seed_plus_plus(
                    problem, 60, open_stream(key), first=np.array([0]), n_trials=n_trials
                ),
            )
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
        ours.append(
            seed_inertia(
                X, seed_plus_plus(problem, 40, open_stream(key, 1), first=first, n_trials=5)
            )
        )
        theirs.append(seed_inertia(X, kmeans_plusplus(X, 40, random_state=key)[1]))
    # The standard error of either mean is below 0.5 %; the keys are fixed.
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.02)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_a_sample_depends_on_the_key_alone(dtype: str) -> None:
    """Blocks and threads change nothing if candidates are judged on a sample."""
    X = np.random.default_rng(1).integers(0, 255, size=(9000, 5)).astype(dtype)
    weights = np.random.default_rng(2).random(9000)
    results = [
        seed_plus_plus(
            make_problem(X, weights, block_rows=rows, n_threads=threads),
            30,
            open_stream(5),
            first=np.array([17]),
            n_trials=5,
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
        chosen = seed_plus_plus(
            make_problem(X), 20, open_stream(key), first=np.array([500]), n_trials=4
        )
        assert set(range(10)) <= set((chosen // 4).tolist())


def test_rows_may_lie_at_both_ends() -> None:
    """Single-precision rows at the ends of their range are distinct all the same."""
    X = np.array([[-3e38], [3e38], [1e38], [-1e38], [0.0]], np.float32)
    for key in range(10):
        chosen = seed_plus_plus(
            make_problem(X), 5, open_stream(key), first=np.array([0]), n_trials=3
        )
        assert len(set(chosen)) == 5


# --- very many clusters --------------------------------------------------------------------------


def draw_normal(n: int = 2000, d: int = 8) -> NDArray[Any]:
    """Return rows of a normal distribution."""
    return np.random.default_rng(4).normal(size=(n, d)).astype(np.float32)


def seed(problem: Problem, k: int, key: int = 3) -> NDArray[np.float64]:
    """Return the centers that a key gives."""
    return seed_by_cells(problem, k, np.random.default_rng(key))


@pytest.fixture(params=[None, 700])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Let all rows take part in the race, or some."""
    if request.param is not None:
        monkeypatch.setattr(plus_plus, "MIN_HELD_ROWS", request.param)
        monkeypatch.setattr(plus_plus, "HELD_ROWS_PER_CLUSTER", 1)
    found: int | None = request.param
    return found


def test_seeds_are_distinct_rows(held: int | None) -> None:
    """Every center is another row."""
    X = draw_normal()
    assert count_held_rows(len(X), 100) == held or len(X)
    centers = seed(make_problem(X), 100)
    assert centers.shape == (100, 8)
    rows = [int(np.flatnonzero((center == X).all(axis=1))[0]) for center in centers]
    assert len(set(rows)) == 100


def test_near_centers_follow_each_other() -> None:
    """Centers of one group stand together, because they come cell by cell."""
    stream = np.random.default_rng(0)
    groups = stream.integers(16, size=4000)
    X = 100 * stream.normal(size=(16, 5))[groups] + stream.normal(size=(4000, 5))
    centers = seed(make_problem(X), 160)
    home = [groups[int(np.flatnonzero((center == X).all(axis=1))[0])] for center in centers]
    changes = np.count_nonzero(np.diff(home))
    assert len(set(home)) == 16
    assert changes < 50  # of 150 or so in any other order


def test_seeds_depend_on_the_stream_only(held: int | None) -> None:
    """Threads and blocks change nothing, another key does."""
    X = draw_normal()
    first = seed(make_problem(X), 90)
    for problem in (make_problem(X, n_threads=2), make_problem(X, block_rows=13)):
        assert seed(problem, 90).tobytes() == first.tobytes()
    assert seed(make_problem(X), 90, key=4).tobytes() != first.tobytes()


def test_rows_without_weight_are_not_chosen(held: int | None) -> None:
    """A row of weight zero never becomes a center while others are left."""
    X = draw_normal()
    weights = (np.arange(2000) % 4 == 0).astype(float)
    for center in seed(make_problem(X, weights), 60):
        assert weights[(center == X).all(axis=1)].all()


def test_all_distinct_rows_are_chosen_and_some_repeat() -> None:
    """If there are fewer distinct rows than clusters, all are chosen, and the rest repeats them."""
    X = np.repeat(draw_normal(n=10), 6, axis=0)
    centers = seed(make_problem(X), 25)
    assert len(np.unique(centers, axis=0)) == 10
    assert centers.shape == (25, 8)


def test_far_rows_are_chosen_as_greedy_seeding_would() -> None:
    """With heavy tails, cells spend their centers where the potential is, as seeding of all does.

    The mean inertia after seeding over five keys is some 11 % higher, with a standard deviation of
    1.3 %, so that 20 % are exceeded by chance in less than one case of a million.
    """
    stream = np.random.default_rng(0)
    X = stream.normal(size=(3000, 5)) / np.sqrt(stream.chisquare(2, size=(3000, 1)) / 2)
    problem = make_problem(X)
    found, whole = [], []
    for key in range(5):
        labels = np.zeros(len(X), np.int32)
        centers = seed(problem, 150, key)
        found.append(problem.assign(centers, labels, keep_ties=False).nearest.sum())
        centers = seed_centers("k-means++", problem, 150, np.random.default_rng(key))
        whole.append(problem.assign(centers, labels, keep_ties=False).nearest.sum())
    assert np.mean(found) < 1.2 * np.mean(whole)


def test_cells_and_rows_grow_with_the_clusters() -> None:
    """There are never more cells than clusters, nor more rows in the race than there are."""
    counts = [count_cells(k) for k in (1, 10, 100, 1000, 10_000, 100_000)]
    assert counts == sorted(counts)
    assert all(
        1 <= n <= k for n, k in zip(counts, (1, 10, 100, 1000, 10_000, 100_000), strict=True)
    )
    rows = [count_held_rows(10**8, k) for k in (500, 5000, 50_000, 500_000)]
    assert rows == sorted(rows)
    assert count_held_rows(1000, 500) == 1000
