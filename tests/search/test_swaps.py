"""Swaps: what a split gains, what a removal costs, which centers move, and what follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.center_graph import find_neighbours
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.search import swaps as module
from projected_kmeans.search.swaps import (
    Splits,
    Swaps,
    choose_split_rows,
    choose_swaps,
    measure_removals,
    propose_swaps,
    swap_labels,
)
from tests import reference
from tests.support.layouts import seeds
from tests.support.problems import make_problem

PATH = (0, 1)


class Asked(NamedTuple):
    """What `choose_swaps` was asked."""

    splits: Splits
    costs: NDArray[np.float64]
    locked: NDArray[np.int32]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """Return a list of what `choose_swaps` is asked during the test."""
    calls: list[Asked] = []

    def note(*arguments: Any) -> Any:
        calls.append(Asked(*arguments))
        return choose_swaps(*arguments)

    monkeypatch.setattr(module, "choose_swaps", note)
    return calls


def propose(
    problem: Problem, labels: NDArray[np.int32], k: int, path: tuple[int, ...] | None = PATH
) -> Swaps:
    """Propose swaps for a partition, with distances to its own means."""
    rows = problem.source.select()
    dense = rows.toarray() if problem.source.sparse else np.asarray(rows)
    means = np.nan_to_num(reference.means(dense, labels, k, problem.weights))
    moments, homes = problem.sum(labels, means), labels.copy()
    near = problem.assign(means, homes, keep_ties=True)
    frame = Frame.around(means, np.dtype(np.float64), problem.ranges)
    neighbours = find_neighbours(frame, min(4, k))
    return propose_swaps(problem, labels, moments, near, homes, neighbours, path)


def inertia_of(X: NDArray[Any], weights: Any, labels: Any) -> float:
    """Return the weighted inertia of a partition."""
    return reference.inertia(X, np.asarray(labels), weights)


def draw_pairs(weighted: bool = False) -> tuple[Problem, NDArray[Any], NDArray[np.int32]]:
    """Return rows of five clusters: the third is two groups far apart, the last two lie near."""
    stream = np.random.default_rng(2)
    labels = stream.integers(5, size=400).astype(np.int32)
    X = 9.0 * np.eye(5, 8)[np.minimum(labels, 3)] + 0.1 * stream.normal(size=(400, 8))
    X[labels == 2, 6] += np.where(np.arange(np.sum(labels == 2)) % 2, 5.0, -5.0)
    X[labels == 4, 7] += 2.0
    weights = stream.integers(1, 4, 400).astype(float) if weighted else None
    return make_problem(X, weights), X, labels


# --- gains ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_those_of_the_halves(weighted: bool, asked: list[Asked]) -> None:
    """A gain is the inertia of a cluster less that of its halves, and the pair gains most."""
    problem, X, labels = draw_pairs(weighted)
    propose(problem, labels, 5)
    splits = asked[0].splits
    assert splits.centers is None
    np.testing.assert_array_equal(splits.halves // 2, labels)
    for cluster in np.flatnonzero(splits.far_rows < 0):
        inside = labels == cluster
        weights = None if problem.weights is None else problem.weights[inside]
        whole = inertia_of(X[inside], weights, np.zeros(inside.sum(), np.int32))
        halves = inertia_of(X[inside], weights, splits.halves[inside] % 2)
        assert splits.gains[cluster] == pytest.approx(whole - halves, rel=1e-9)
    assert int(np.argmax(splits.gains)) == 2
    assert splits.gains[2] > 100 * np.sort(splits.gains)[-2]
    assert len(set(zip(X[labels == 2, 6] > 0, splits.halves[labels == 2], strict=True))) == 2


@settings(max_examples=40)
@given(
    seed=seeds,
    n=st.integers(2, 25),
    k=st.integers(2, 5),
    weighted=st.booleans(),
    sparse=st.booleans(),
)
def test_far_rows_gain_what_leaving_alone_gains(
    seed: int, n: int, k: int, weighted: bool, sparse: bool
) -> None:
    """The gain of parting with a row is that of the best row, found by trying each of them."""
    stream = np.random.default_rng(seed)
    X, labels = stream.normal(size=(n, 3)), stream.integers(k, size=n).astype(np.int32)
    weights = stream.integers(0, 4, n).astype(float) if weighted else None
    source = open_blocks(scipy.sparse.csr_array(X) if sparse else X)
    problem = Problem(source, scan_columns(source), weights, 1)
    calls: list[Asked] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            module,
            "choose_swaps",
            lambda *given: calls.append(Asked(*given)) or choose_swaps(*given),
        )
        propose(problem, labels, k, None)
    splits = calls[0].splits
    for cluster in range(k):
        gains = {-1: 0.0}
        for row in np.flatnonzero(labels == cluster):
            others = (labels == cluster) & (np.arange(n) != row)
            mass = None if weights is None else weights[others]
            if not others.any() or (mass is not None and not mass.any()):
                continue
            inside = labels == cluster
            whole = inertia_of(
                X[inside], None if weights is None else weights[inside], np.zeros(inside.sum(), int)
            )
            rest = inertia_of(X[others], mass, np.zeros(others.sum(), int))
            gains[int(row)] = whole - rest
        best = max(gains.values())
        assert splits.gains[cluster] == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert gains[int(splits.far_rows[cluster])] == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_a_single_far_row_is_split_off(asked: list[Asked]) -> None:
    """A row that holds nearly all of the inertia leaves alone, although 2-means halves its cluster.

    2-means starts at the far row and its mirror image at the mean, so that near rows divide evenly.
    """
    stream = np.random.default_rng(0)
    X = stream.normal(size=(3000, 200))
    X[1234, 17] = 4000.0
    labels = np.concatenate([np.zeros(2000), np.ones(500), np.full(500, 2)]).astype(np.int32)
    problem = make_problem(X)
    swaps = propose(problem, labels, 3)
    splits, cluster = asked[0].splits, 0
    assert splits.far_rows[cluster] == 1234
    whole = reference.extended_inertia(X[:2000], np.zeros(2000, int))
    rest = reference.extended_inertia(np.delete(X[:2000], 1234, axis=0), np.zeros(1999, int))
    assert splits.gains[cluster] == pytest.approx(whole - rest, rel=1e-9)
    assert splits.gains[cluster] > 0.9 * whole
    assert swaps.labels is not None
    (target,) = set(swaps.labels[[1234]].tolist())
    assert np.count_nonzero(swaps.labels == target) == 1
    after = reference.extended_inertia(X, swaps.labels)
    assert after < 0.2 * reference.extended_inertia(X, labels)


def test_clusters_of_equal_rows_gain_nothing(asked: list[Asked]) -> None:
    """A cluster of one row, of equal rows or of none has no gain, and nothing moves."""
    X = np.array([[0.0, 1.0], [5.0, 5.0], [5.0, 5.0], [5.0, 5.0]])
    swaps = propose(make_problem(X), np.array([0, 1, 1, 1], np.int32), 3)
    np.testing.assert_array_equal(asked[0].splits.gains, 0.0)
    assert swaps == Swaps(0, 0.0, None)


@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_tell_which_clusters_to_divide_and_all_rows_what_that_gains(
    weighted: bool, asked: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An estimate is near the gain of all rows, and what is promised is that of all rows."""
    problem, X, labels = draw_pairs(weighted)
    everything = propose(problem, labels, 5)
    monkeypatch.setattr(module, "SPLIT_ROWS", 10)
    swaps = propose(problem, labels, 5)
    exact, estimate, asked_all = (call.splits for call in asked[-3:])
    assert estimate.centers is not None
    assert asked_all.centers is None
    # A cluster has some 10 of its 80 rows in the estimate, whose gain is then right to some 10 %.
    assert estimate.gains[2] == pytest.approx(exact.gains[2], rel=0.2)
    assert int(np.argmax(estimate.gains)) == 2
    inside = labels == 2
    weights = np.ones(400) if problem.weights is None else problem.weights
    halves = reference.squared_distances(X[inside], estimate.centers[4:6]).min(axis=0)
    whole = inertia_of(X[inside], weights[inside], np.zeros(inside.sum(), int))
    gain = whole - float(weights[inside] @ halves)
    assert asked_all.gains[2] == pytest.approx(gain, rel=1e-4)
    assert gain <= exact.gains[2] * (1 + 1e-9)
    assert (everything.n_moved, swaps.n_moved) == (1, 1)
    np.testing.assert_array_equal(np.sort(np.bincount(swaps.labels)), sizes_of(everything))


def sizes_of(swaps: Swaps) -> NDArray[np.int64]:
    """Return the sizes of clusters after swaps, ascending."""
    assert swaps.labels is not None
    return np.sort(np.bincount(swaps.labels))


def test_few_rows_are_all_asked() -> None:
    """All rows are in memory at once up to a number, and beyond it at most twice that number."""
    assert choose_split_rows(1000, 10) == range(1000)
    most = module.MAX_SPLIT_ROWS
    for n, k in ((10**6, 10), (10**7, 1000), (10**9, 10**5), (3 * most, 10**6)):
        wanted = min(module.SPLIT_ROWS * k, most)
        assert min(n, wanted) <= len(choose_split_rows(n, k)) <= min(n, 2 * wanted)


# --- costs ---------------------------------------------------------------------------------------


def test_removals_cost_the_way_to_the_second_center() -> None:
    """The cost of a center is the sum over its rows of second less nearest distance, weighted."""
    problem, X, labels = draw_pairs(weighted=True)
    assert problem.weights is not None
    centers = reference.means(X, labels, 5)
    near = problem.assign(centers, labels, keep_ties=True)
    moments = problem.sum(labels, np.vstack([centers, centers[:1]]))
    costs = measure_removals(problem, moments, labels, near)
    ordered = np.sort(reference.squared_distances(X, centers).T.astype(float), axis=1)
    losses = problem.weights * (ordered[:, 1] - ordered[:, 0])
    np.testing.assert_allclose(costs[:5], [losses[labels == j].sum() for j in range(5)], rtol=1e-6)
    assert costs[5] == 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_are_what_the_inertia_rises_by(dtype: str, weighted: bool) -> None:
    """The cost of a center is the inertia without it, less the inertia with it, tried for each."""
    stream = np.random.default_rng(1)
    X = stream.integers(0, 50, size=(60, 4)).astype(dtype)
    centers = stream.integers(0, 50, size=(7, 4)).astype(float)
    weights = stream.random(60) if weighted else None
    mass = np.ones(60) if weights is None else weights
    whole = float(reference.lower_distances(X, centers, np.inf) @ mass)
    left = [
        float(reference.lower_distances(X, np.delete(centers, j, axis=0), np.inf) @ mass)
        for j in range(7)
    ]
    problem, labels = make_problem(X, weights), np.zeros(60, np.int32)
    near = problem.assign(centers, labels, keep_ties=False)
    costs = measure_removals(problem, problem.sum(labels, centers), labels, near)
    np.testing.assert_allclose(costs, np.array(left) - whole, rtol=1e-4, atol=1e-2)


# --- which centers move --------------------------------------------------------------------------


def split_all(gains: NDArray[np.float64]) -> Splits:
    """Return splits of clusters that gain so much."""
    return Splits(gains, np.full(len(gains), -1), np.empty(0, np.int32))


def test_highest_gains_meet_lowest_costs() -> None:
    """Pairs are made in order while a gain is above its cost."""
    gains = np.array([10.0, 0.0, 8.0, 0.0, 6.0, 0.0, 3.5, 0.0])
    costs = np.array([50.0, 1.0, 50.0, 2.0, 50.0, 3.0, 50.0, 4.0])
    removed, split = choose_swaps(split_all(gains), costs, np.arange(8)[:, None])
    np.testing.assert_array_equal(removed, [1, 3, 5])  # 3.5 < 4
    np.testing.assert_array_equal(split, [0, 2, 4])


@settings(max_examples=200)
@given(seed=seeds, k=st.integers(2, 30), n_locked=st.integers(0, 3))
def test_neighbours_of_a_removed_center_stay(seed: int, k: int, n_locked: int) -> None:
    """They take its rows, so that they do not move, and are split for no other center."""
    stream = np.random.default_rng(seed)
    gains, costs = stream.exponential(size=(2, k))
    places = stream.normal(size=(k, 2))
    gaps = ((places[:, None] - places) ** 2).sum(axis=2)
    locked = np.argsort(gaps, axis=1, kind="stable")[:, : 1 + min(n_locked, k - 1)]
    removed, split = choose_swaps(split_all(gains), costs, locked)
    assert len(set(removed.tolist())) == len(removed) == len(split) == len(set(split.tolist()))
    assert not set(removed.tolist()) & set(split.tolist())
    assert (gains[split] > costs[removed]).all()
    for center, source in zip(removed, split, strict=True):
        beside = set(locked[center, 1:].tolist())
        assert not beside & set(removed.tolist())
        assert not beside & (set(split.tolist()) - {int(source)})


def test_no_center_helps_to_split_its_own_cluster() -> None:
    """A cluster that gains most and costs least is not paired with itself."""
    splits = split_all(np.array([9.0, 1.0, 1.0]))
    removed, split = choose_swaps(splits, np.array([0.0, 5.0, 5.0]), np.arange(3)[:, None])
    assert not set(removed.tolist()) & set(split.tolist())


def test_few_clusters_lock_fewer_neighbours(asked: list[Asked]) -> None:
    """Of few clusters not all are locked, so that some pair is left; of many three are."""
    stream = np.random.default_rng(1)
    for k in (2, 8, 16, 40):
        X = stream.normal(size=(200, 3))
        propose(make_problem(X), (np.arange(200) % k).astype(np.int32), k)
        n_locked = asked[-1].locked.shape[1] - 1
        assert n_locked <= k / 4
    assert n_locked == 3


# --- what follows --------------------------------------------------------------------------------


def test_rows_follow_their_centers() -> None:
    """Rows of a removed center join its neighbour; one half of a split cluster gets its index."""
    halves = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32)  # of clusters 0, 0, 1, 1, 2, 2, 3, 3
    neighbours = np.array([[0, 1], [1, 3], [2, 3], [3, 1]], np.int32)
    splits = Splits(np.zeros(4), np.full(4, -1), halves)
    found = swap_labels(splits, np.array([1]), np.array([2]), neighbours)
    np.testing.assert_array_equal(found, [0, 0, 3, 3, 2, 1, 3, 3])
    alone = replace(splits, far_rows=np.array([-1, -1, 4, -1]))
    found = swap_labels(alone, np.array([1]), np.array([2]), neighbours)
    np.testing.assert_array_equal(found, [0, 0, 3, 3, 1, 2, 3, 3])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_promise_is_what_gains_and_costs_tell(weighted: bool, asked: list[Asked]) -> None:
    """The spare one of two near centers moves to the pair, and the inertia falls as promised."""
    problem, X, labels = draw_pairs(weighted)
    swaps = propose(problem, labels, 5)
    assert swaps.n_moved == 1
    spare = 3 if asked[-1].costs[3] < asked[-1].costs[4] else 4
    promise = asked[-1].splits.gains[2] - asked[-1].costs[spare]
    assert swaps.promise == pytest.approx(promise, rel=1e-12)
    assert swaps.labels is not None
    gone = labels == spare
    assert set(swaps.labels[gone].tolist()) == {7 - spare}
    assert set(labels[swaps.labels == spare].tolist()) == {2}
    np.testing.assert_array_equal(swaps.labels[labels < 2], labels[labels < 2])
    fallen = inertia_of(X, problem.weights, labels) - inertia_of(X, problem.weights, swaps.labels)
    assert fallen == pytest.approx(promise, rel=0.1)


def test_threads_and_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise and the labels have the same bits, with all rows asked or some."""
    stream = np.random.default_rng(3)
    X = stream.standard_t(2, size=(900, 5)).astype(np.float32)
    weights, labels = stream.random(900), (np.arange(900) % 12).astype(np.int32)
    for split_rows in (256, 20):
        monkeypatch.setattr(module, "SPLIT_ROWS", split_rows)
        one = propose(make_problem(X, weights), labels, 12)
        assert one.labels is not None
        for options in ({"n_threads": 3}, {"block_rows": 11}, {"block_rows": 200, "n_threads": 2}):
            other = propose(make_problem(X, weights, **options), labels, 12)
            assert (other.n_moved, other.promise) == (one.n_moved, one.promise)
            np.testing.assert_array_equal(other.labels, one.labels)
