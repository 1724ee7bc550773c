"""The first centers: their distribution, their weights and what they do with equal rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search import seeding
from projected_kmeans.search.reduction import reduce_rows
from projected_kmeans.search.seeding import (
    SEEDING_COLUMNS,
    SEEDINGS,
    FirstCenters,
    move_to_balls,
    seed_centers,
    seed_markov,
    seed_oversampled,
    seed_plus_plus,
    seed_random,
)
from tests import reference
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem
from tests.support.recipes import make_recipe
from tests.support.seedings import ROWS, assert_distribution, seed_inertia

# The seedings that look at distances; "random" does not know equal rows.
BY_DISTANCE = [name for name in SEEDINGS if name != "random"]


def seed(
    X: NDArray[Any],
    k: int,
    key: int,
    weights: NDArray[Any] | None = None,
    name: str = "k-means++",
) -> NDArray[np.int64]:
    """Choose k rows from the stream of a key."""
    return SEEDINGS[name](make_problem(X, weights), k, open_stream(key, 1))


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 4.0, 0.5, 3.0])])
def test_the_first_row_is_drawn_by_weight(weights: NDArray[Any] | None) -> None:
    """The first center is a row drawn with probability proportional to its weight."""
    # Failure probability 1e-6 over keys; the keys are fixed.
    problem = make_problem(ROWS, weights)
    drawn = [seed_plus_plus(problem, 1, open_stream(key, 1))[0] for key in range(2000)]
    counts = np.bincount(drawn, minlength=6)
    assert_distribution(counts, np.ones(6) if weights is None else weights)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 4.0, 0.5, 3.0])])
def test_the_second_row_is_the_better_of_two_drawn_by_distance(
    weights: NDArray[Any] | None,
) -> None:
    """The second of two centers is the better of two rows drawn by weighted squared distance."""
    # Failure probability 1e-6 over keys; the keys are fixed. 2 + floor(ln 2) = 2 trials.
    mass = np.ones(6) if weights is None else weights
    distances = reference.squared_distances(ROWS, ROWS).astype(float)
    chances = np.zeros((6, 6))
    for first in range(6):
        drawn = distances[first] * mass
        drawn /= drawn.sum()
        left = np.minimum(distances[first], distances) @ mass
        for a, b in itertools.product(range(6), repeat=2):
            chances[first, a if left[a] <= left[b] else b] += (
                mass[first] / mass.sum() * drawn[a] * drawn[b]
            )
    counts, problem = np.zeros((6, 6)), make_problem(ROWS, weights)
    for key in range(2000):
        counts[tuple(seed_plus_plus(problem, 2, open_stream(key, 1)))] += 1
    assert_distribution(counts, chances)


@pytest.mark.parametrize("name", BY_DISTANCE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_rows_without_weight_are_not_chosen(dtype: str, name: str) -> None:
    """A row without weight is never chosen while rows with weight are left."""
    stream = np.random.default_rng(0)
    X = stream.integers(0, 200, size=(40, 3)).astype(dtype)
    weights = np.where(np.arange(40) % 2 == 0, 0.0, stream.random(40) + 0.1)
    for key in range(50):
        chosen = seed(X, 10, key, weights, name)
        assert (weights[chosen] > 0).all()


@pytest.mark.parametrize("name", BY_DISTANCE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 0.1, 1e3])
def test_distinct_rows_come_first(dtype: str, offset: float, name: str) -> None:
    """No two equal rows are chosen while there are others."""
    values = (np.array([[0.0, 1.1], [1.3, 1.1], [2.0, 0.7], [5.1, 5.3]]) + offset).astype(dtype)
    X = np.repeat(values, [1, 50, 3, 20], axis=0)
    for key in range(20):
        assert len(np.unique(X[seed(X, 4, key, name=name)], axis=0)) == 4


@pytest.mark.parametrize("name", BY_DISTANCE)
def test_distinct_rows_come_first_beside_an_outlier(name: str) -> None:
    """Rows stay distinct though an outlier is so far that their squared distances underflow."""
    X = np.array([[0.0], [1.0], [2.0], [1e24]], np.float32)
    for key in range(20):
        assert len(set(seed(X, 4, key, name=name))) == 4


@pytest.mark.parametrize("name", BY_DISTANCE)
def test_more_centers_than_distinct_rows(name: str) -> None:
    """All distinct rows are chosen first, then any; nothing fails."""
    X = np.repeat(np.arange(3.0)[:, None], 4, axis=0)
    for key in range(20):
        chosen = seed(X, 7, key, name=name)
        assert len(np.unique(X[chosen[:3]])) == 3
        assert ((chosen >= 0) & (chosen < 12)).all()


@pytest.mark.parametrize("name", BY_DISTANCE)
def test_all_rows_in_some_order(name: str) -> None:
    """As many centers as distinct rows are all the rows."""
    X = np.random.default_rng(3).normal(size=(15, 2))
    np.testing.assert_array_equal(np.sort(seed(X, 15, 0, name=name)), np.arange(15))


@pytest.mark.parametrize("name", BY_DISTANCE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_the_key_fixes_the_rows(dtype: str, name: str) -> None:
    """The same key gives the same rows for any blocks and threads, another key others."""
    X = np.random.default_rng(1).integers(0, 255, size=(200, 7)).astype(dtype)
    results = [
        SEEDINGS[name](make_problem(X, block_rows=rows, n_threads=threads), 8, open_stream(5, 1))
        for rows, threads in ((None, 1), (None, 2), (7, 3), (1, 4))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    assert not np.array_equal(results[0], seed(X, 8, 6, name=name))


@pytest.mark.parametrize("name", BY_DISTANCE)
@pytest.mark.parametrize(("dtype", "unit"), [("float32", 1e-30), ("float32", 1e30)])
def test_the_unit_does_not_matter(dtype: str, unit: float, name: str) -> None:
    """Rows in tiny or huge units give the same choice."""
    X = np.random.default_rng(1).normal(size=(60, 4))
    scale = 2.0 ** round(np.log2(unit))
    for key in range(5):
        plain = seed(X.astype(dtype), 6, key, name=name)
        np.testing.assert_array_equal(seed((X * scale).astype(dtype), 6, key, name=name), plain)


def test_far_clusters_get_a_center_each() -> None:
    """Among far clusters, greedy seeding takes one row of each."""
    stream = np.random.default_rng(0)
    home = np.repeat(np.arange(6), 30)
    X = stream.normal(size=(180, 2)) + 1000 * home[:, None]
    for key in range(20):
        assert len(set(home[seed(X, 6, key)])) == 6


@pytest.mark.parametrize("name", BY_DISTANCE)
@pytest.mark.parametrize("k", [1, 4])
def test_progress_counts_centers(k: int, name: str) -> None:
    """The caller hears of each center chosen, from the first to the last."""
    seen: list[int] = []
    SEEDINGS[name](make_problem(ROWS), k, open_stream(0), seen.append)
    assert seen == list(range(1, k + 1))


def test_random_rows_are_distinct_and_uniform() -> None:
    """Random seeding draws rows without repetition, each as often as others."""
    # Failure probability 1e-6 over keys; the keys are fixed.
    problem = make_problem(ROWS)
    draws = [seed_random(problem, 3, open_stream(key, 1)) for key in range(2000)]
    assert all(len(set(chosen)) == 3 for chosen in draws)
    assert_distribution(np.bincount([chosen[0] for chosen in draws], minlength=6), np.ones(6))


def test_random_rows_follow_weights() -> None:
    """Random seeding draws the first row by weight and none without weight."""
    # Failure probability 1e-6 over keys; the keys are fixed.
    weights = np.array([1.0, 0.0, 3.0, 2.0, 0.0, 0.5])
    problem = make_problem(ROWS, weights)
    draws = [seed_random(problem, 2, open_stream(key, 1)) for key in range(2000)]
    assert all(len(set(chosen)) == 2 and (weights[chosen] > 0).all() for chosen in draws)
    assert_distribution(np.bincount([chosen[0] for chosen in draws], minlength=6), weights)


def test_random_rows_need_enough_weights() -> None:
    """Fewer positive weights than clusters give a sentence with both numbers."""
    problem = make_problem(ROWS, np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"2 positive entries, fewer than n_clusters=3"):
        seed_random(problem, 3, open_stream(0))


@pytest.mark.parametrize("name", [name for name in SEEDINGS if name != "orss06"])
def test_seedings_are_called_by_name(name: str) -> None:
    """A name stands for its function, and centers are the rows that it chooses."""
    problem = make_problem(ROWS)
    centers = seed_centers(name, problem, 3, open_stream(2, 1))
    chosen = SEEDINGS[name](problem, 3, open_stream(2, 1))
    np.testing.assert_array_equal(centers, problem.source.take(chosen))
    assert SEEDINGS["k-means++"] is seed_plus_plus
    assert SEEDINGS["random"] is seed_random


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_balls_have_a_third_of_the_gap_for_radius(dtype: str) -> None:
    """A center moves to the mean of the rows within a third of its distance to the next one."""
    X = np.array([[0.0], [1.0], [2.9], [3.1], [9.0], [10.0]], dtype)
    moved = move_to_balls(make_problem(X), np.array([[0.0], [9.0]]))
    np.testing.assert_allclose(moved, [[(0 + 1 + 2.9) / 3], [9.5]], rtol=1e-6)


# --- what init may be ----------------------------------------------------------------------------

X = draw_blobs(d=80)[0]


def draw(rows: Any, start: int = 0, **options: Any) -> tuple[NDArray[Any], Problem]:
    """Return the first centers of a start, and the rows that it clusters."""
    source = open_blocks(rows)
    recipe = make_recipe(source, **options)
    original, sketch = reduce_rows(recipe, source, None, Run())
    seeds = FirstCenters(recipe, original, sketch, Monitor())
    return seeds.draw(start, lambda done: None), sketch


@pytest.mark.parametrize("name", ["k-means++", "orss06"])
def test_a_name_seeds_on_the_sketch(name: str) -> None:
    """A seeding by name draws from the stream of its start, in the space of the sketch."""
    for start in (0, 1):
        centers, sketch = draw(X, start, init=name)
        stream = open_stream(3, SEEDING, start)
        np.testing.assert_array_equal(centers, seed_centers(name, sketch, 5, stream))


def test_indices_are_rows_of_the_sketch() -> None:
    """Row indices stand for rows of the sketch."""
    centers, sketch = draw(X, init=np.array([7, 1, 9, 3, 5]))
    np.testing.assert_array_equal(centers, sketch.source.select()[[7, 1, 9, 3, 5]])


@pytest.mark.parametrize("projection", ["sign", "svd", PCA(6, random_state=0)])
def test_centers_are_mapped_as_rows_are(projection: Any) -> None:
    """Centers in the original space go through the same map: rows become rows of the sketch."""
    centers, sketch = draw(X, init=X[:5], projection=projection)
    np.testing.assert_allclose(centers, sketch.source.select()[:5], rtol=0, atol=1e-10)


def test_centers_without_a_map_stay() -> None:
    """If nothing is projected, centers are taken as they are."""
    np.testing.assert_array_equal(draw(X, init=X[:5] + 1, projection=None)[0], X[:5] + 1)


def test_a_callable_gets_the_original_rows() -> None:
    """A callable is given rows, k and a random state that follows from key and start."""
    seen: list[tuple[Any, int, int]] = []

    def choose(rows: Any, n_clusters: int, random_state: np.random.RandomState) -> NDArray[Any]:
        seen.append((rows, n_clusters, int(random_state.randint(2**31))))
        return np.arange(n_clusters)

    for start in (0, 0, 1):
        centers, sketch = draw(X, start, init=choose)
        np.testing.assert_array_equal(centers, sketch.source.select()[:5])
    np.testing.assert_array_equal(seen[0][0], X)
    assert seen[0][1] == 5
    assert seen[0][2] == seen[1][2] != seen[2][2]


def test_sparse_rows_are_seeded_on_dense_columns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Sparse rows without a map are measured on a sign sketch; centers are the rows themselves."""
    measured: list[Problem] = []
    plain = seeding.SEEDINGS["k-means++"]

    def note(problem: Problem, *others: Any) -> Any:
        measured.append(problem)
        return plain(problem, *others)

    monkeypatch.setattr(seeding, "SEEDINGS", {"k-means++": note})
    rows = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    with caplog.at_level("DEBUG", logger="projected_kmeans"):
        centers, sketch = draw(rows, projection=None)
    assert sketch.source.sparse
    assert not measured[0].source.sparse
    assert measured[0].source.shape == (len(X), SEEDING_COLUMNS)
    assert f"a sign sketch of {SEEDING_COLUMNS} columns" in caplog.text
    dense = rows.toarray()
    assert all((dense == center).all(axis=1).any() for center in centers)


def test_only_seedings_by_name_need_dense_columns(caplog: pytest.LogCaptureFixture) -> None:
    """Given centers measure nothing, so no sketch is made for them."""
    with caplog.at_level("DEBUG", logger="projected_kmeans"):
        draw(scipy.sparse.csr_array(X), init=np.arange(5), projection=None)
    assert "sign sketch" not in caplog.text


def test_a_sample_is_what_seedings_see() -> None:
    """On a level of some rows, seedings choose among these."""
    source = open_blocks(X)
    recipe = make_recipe(source)
    original, sketch = reduce_rows(recipe, source, None, Run())
    some = replace(sketch, source=open_blocks(sketch.source.select()[:20]))
    centers = FirstCenters(recipe, original, some, Monitor()).draw(0, lambda done: None)
    rows = some.source.select()
    assert all((rows == center).all(axis=1).any() for center in centers)


def test_very_many_clusters_are_seeded_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """From some number of clusters on, k-means++ runs in cells, and tells that all is done."""
    monkeypatch.setattr(seeding, "MIN_CLUSTERS", 5)
    source, told = open_blocks(X), list[int]()
    recipe = make_recipe(source)
    original, sketch = reduce_rows(recipe, source, None, Run())
    centers = FirstCenters(recipe, original, sketch, Monitor()).draw(1, told.append)
    expected = seeding.seed_by_cells(sketch, 5, open_stream(3, SEEDING, 1))
    np.testing.assert_array_equal(centers, expected)
    assert told == [5]


@pytest.mark.parametrize(
    ("k", "sparse", "takes_cells"),
    [(500, False, True), (499, False, False), (2000, False, False), (500, True, False)],
)
def test_cells_are_for_very_many_clusters_of_dense_rows(
    k: int, sparse: bool, takes_cells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few clusters, few rows a cluster, and sparse rows are seeded without cells."""
    names: list[str] = []

    def note(name: str, given: Problem, n_clusters: int) -> Any:
        names.append(name)
        return np.arange(n_clusters)

    chosen = {"k-means++": lambda given, count, *others: note("rows", given, count)}
    monkeypatch.setattr(seeding, "SEEDINGS", chosen)
    monkeypatch.setattr(seeding, "seed_by_cells", lambda *given: note("cells", *given[:2]))
    rows = np.random.default_rng(4).normal(size=(4000, 2)).astype(np.float32)
    source = open_blocks(scipy.sparse.csr_array(rows) if sparse else rows)
    recipe = replace(make_recipe(source, projection=None), n_clusters=k)
    problem = Problem(source, scan_columns(source))
    FirstCenters(recipe, problem, problem, Monitor()).draw(0, lambda done: None)
    assert names == ["cells" if takes_cells else "rows"]


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
