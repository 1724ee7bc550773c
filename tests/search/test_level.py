"""The search on one level: passes and swaps, what is taken back, and how it goes on."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.nearest import NearestSearch, Remembered
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.results import Clustering, FitState
from projected_kmeans.running import checkpoint as running_checkpoint
from projected_kmeans.running.checkpoint import Checkpoint, Run
from projected_kmeans.running.checkpoint_folder import CheckpointFolder
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.part_files import Part
from projected_kmeans.search import level as module
from projected_kmeans.search.level import (
    MIN_FAR_PROMISE,
    Effort,
    LevelSearch,
    LevelState,
    estimate_missed,
    search_level,
)
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.swaps import Swaps
from tests import reference
from tests.support.blobs import draw_blobs
from tests.support.layouts import seeds
from tests.support.problems import make_problem

PLAIN = Effort(key=0, max_iter=300)
SWAPPING = replace(PLAIN, swap_rounds=24)


def run_to_end(level: LevelSearch) -> Clustering:
    """Search a level to its end."""
    return search_level(level, Run())


def draw_corners(seed: int = 0, k: int = 10) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return 20 rows around each of k far means, and first centers that Lloyd cannot get right."""
    stream = np.random.default_rng(seed)
    means = 100 * stream.permutation(4 * k)[:k, None] * np.ones(3)
    X = np.repeat(means, 20, axis=0) + stream.normal(size=(20 * k, 3))
    places = np.sort(np.r_[20 * np.arange((k + 1) // 2), 20 * np.arange(k // 2) + 1])
    return X, X[places[:k]]


# --- what swaps do -------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 4),
    k=st.integers(1, 8),
    weighted=st.booleans(),
    max_iter=st.integers(1, 40),
    momentum=st.sampled_from([0.0, 0.9]),
)
def test_the_inertia_never_rises(
    seed: int, n: int, d: int, k: int, weighted: bool, max_iter: int, momentum: float
) -> None:
    """With ties, equal rows, weights and any limit, the best partition so far is kept."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 6, size=(n, d)).astype(float)
    weights = stream.integers(0, 4, size=n).astype(float) if weighted else None
    if weights is not None:
        weights[0] += 1
    k = min(k, n)
    effort = replace(SWAPPING, key=seed, max_iter=max_iter, momentum=momentum)
    level = LevelSearch(make_problem(X, weights), X[:k].copy(), effort, 0)
    lowest: list[float] = []
    while not level.ended:
        level.advance()
        lowest.append(level.inertia)
    found = level.result()
    assert (np.diff(lowest) <= 0).all()
    assert (np.diff(found.history) <= 0).all()
    assert found.inertia == pytest.approx(found.history[-1], rel=1e-12, abs=1e-12)
    assert found.inertia == pytest.approx(lowest[-1], rel=1e-12, abs=1e-12)
    assert found.n_iter == len(found.history) <= max_iter
    exact = reference.inertia(X, found.labels, weights)
    assert found.inertia == pytest.approx(exact, rel=1e-9, abs=1e-9)
    filled = found.mass > 0
    means = reference.means(X, found.labels, k, weights)
    np.testing.assert_allclose(found.centers[filled], means[filled], rtol=0, atol=1e-9)
    assert found.centers.shape == (k, d)


@pytest.mark.parametrize(("seed", "max_iter"), [(38, 3), (43, 6), (87, 4), (227, 8)])
def test_swaps_on_trial_make_no_pass_too_many(seed: int, max_iter: int) -> None:
    """A limit of passes holds if it is reached while swaps are on trial."""
    stream = np.random.default_rng(seed)
    X = stream.normal(size=(int(stream.integers(20, 60)), 2)).round(1)
    k = int(stream.integers(3, 9))
    effort = replace(SWAPPING, key=seed, max_iter=max_iter)
    found = run_to_end(LevelSearch(make_problem(X), X[:k].copy(), effort, 0))
    assert found.n_iter == len(found.history) <= max_iter


@pytest.mark.parametrize("seed", range(4))
def test_rounds_for_far_rows_end_when_one_gains_little(seed: int) -> None:
    """With few rows a cluster every far row promises much, and the rounds would go on and on."""
    X = np.random.default_rng(seed).normal(size=(600, 4))
    effort = replace(SWAPPING, key=seed, splits=False)
    level, gained_little = LevelSearch(make_problem(X), X[:100].copy(), effort, 0), False
    while not level.ended:
        before, on_trial = level.inertia, level.on_trial
        level.advance()
        gain = 1 - level.inertia / before if before < np.inf else 1.0
        gained_little |= on_trial and 0 < gain < MIN_FAR_PROMISE
        assert not (gained_little and level.on_trial)
    assert gained_little


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [4, 7, 10, 40])
def test_misplaced_centers_move_to_far_clusters(seed: int, k: int) -> None:
    """All clusters are found where Lloyd leaves two centers in some and none in others."""
    X, centers = draw_corners(seed, k)
    problem = make_problem(X)
    stuck = run_lloyd(problem, centers, max_iter=100)
    planted = reference.extended_inertia(X, np.repeat(np.arange(k), 20))
    assert stuck.inertia > 100 * planted or k < 7
    found = run_to_end(LevelSearch(problem, centers, replace(SWAPPING, key=seed), 0))
    assert found.inertia == pytest.approx(planted, rel=1e-9)
    assert found.converged


def test_a_far_row_is_found_without_dividing_clusters() -> None:
    """If clusters may not be divided, swaps still give a single far row a center of its own."""
    stream = np.random.default_rng(3)
    X = stream.normal(size=(2000, 100))
    X[777, 5] = 3000.0
    start = run_lloyd(make_problem(np.delete(X, 777, axis=0)), X[:6].copy(), max_iter=20)
    effort = replace(SWAPPING, splits=False)
    for sparse in (False, True):
        source = open_blocks(scipy.sparse.csr_array(X) if sparse else X)
        problem = Problem(source, scan_columns(source), n_threads=1)
        found = run_to_end(LevelSearch(problem, start.centers, effort, 0))
        assert np.count_nonzero(found.labels == found.labels[777]) == 1
        assert found.inertia < 1.05 * start.inertia


def test_small_instances_are_solved() -> None:
    """Swaps find most optima of small instances that Lloyd misses, and none below them."""
    solved = stuck = 0
    for seed in range(16):
        X = np.random.default_rng(seed).normal(size=(7, 2))
        problem = make_problem(X)
        start = run_lloyd(problem, X[:3].copy(), max_iter=100)
        found = run_to_end(LevelSearch(problem, X[:3].copy(), replace(SWAPPING, key=seed), 0))
        optimum = reference.brute_force_optimum(X, 3)
        assert found.inertia >= optimum * (1 - 1e-12)
        assert found.inertia <= start.inertia * (1 + 1e-12)
        solved += found.inertia <= optimum * (1 + 1e-9)
        stuck += start.inertia > optimum * (1 + 1e-9)
    # Keys are fixed: Lloyd alone misses 14 of the sixteen.
    assert stuck >= 12
    assert solved >= 16 - stuck + 5


def test_no_inertia_leaves_nothing_to_do() -> None:
    """If every row is a center, the partition does not change."""
    X = np.arange(5.0)[:, None]
    found = run_to_end(LevelSearch(make_problem(X), X.copy(), SWAPPING, 0))
    np.testing.assert_array_equal(found.labels, np.arange(5))
    assert (found.inertia, found.converged) == (0.0, True)


def spoil(monkeypatch: pytest.MonkeyPatch, promise: float) -> list[int]:
    """Let every proposal put rows into clusters at random; return a list of the proposals."""
    rounds: list[int] = []

    def swap_badly(problem: Any, labels: Any, moments: Any, *others: Any) -> Swaps:
        rounds.append(1)
        stream = np.random.default_rng(len(rounds))
        return Swaps(1, promise, stream.integers(len(moments.mass), size=len(labels), dtype="i4"))

    monkeypatch.setattr(module, "propose_swaps", swap_badly)
    return rounds


@pytest.mark.parametrize("weighted", [False, True])
def test_swaps_that_gain_nothing_are_taken_back(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad swaps leave the partition that there would be without any, after a few rounds."""
    X, home = draw_blobs(n=600, d=5, k=12, gap=8.0)
    weights = np.linspace(0, 2, 600) if weighted else None
    problem, centers = make_problem(X, weights), X[[home.tolist().index(j) for j in range(12)]]
    without = run_to_end(LevelSearch(problem, centers, PLAIN, 0))
    rounds = spoil(monkeypatch, promise=1e9)
    level = LevelSearch(problem, centers, SWAPPING, 0)
    trials = 0
    while not level.ended:
        level.advance()
        trials += level.on_trial
    assert 1 < len(rounds) < SWAPPING.swap_rounds
    assert trials >= len(rounds)
    found = level.result()
    np.testing.assert_array_equal(found.labels, without.labels)
    assert found.inertia == pytest.approx(without.inertia, rel=1e-12)
    # While swaps are on trial, the history repeats the lowest inertia so far.
    np.testing.assert_allclose(np.unique(found.history), np.unique(without.history), rtol=1e-12)
    assert found.converged


def test_swaps_that_promise_too_little_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A promise far below the inertia ends the swaps, and the partition is that of Lloyd."""
    X, _ = draw_blobs(n=300, d=5, k=6, gap=3.0)
    problem = make_problem(X)
    without = run_to_end(LevelSearch(problem, X[:6].copy(), PLAIN, 0))
    rounds = spoil(monkeypatch, promise=1e-9)
    found = run_to_end(LevelSearch(problem, X[:6].copy(), SWAPPING, 0))
    assert len(rounds) == 1
    assert found.history == without.history


def test_a_result_amid_a_trial_is_the_partition_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the search is left while swaps are on trial, what they replaced is the result."""
    X, _ = draw_blobs(n=300, d=5, k=6, gap=3.0)
    spoil(monkeypatch, promise=1e9)
    level = LevelSearch(make_problem(X), X[:6].copy(), SWAPPING, 0)
    while not level.on_trial:
        level.advance()
    before = level.inertia
    found = level.result()
    assert not level.on_trial
    assert not found.converged
    assert found.inertia == pytest.approx(before, rel=1e-12)
    assert found.inertia == pytest.approx(reference.inertia(X, found.labels), rel=1e-12)


def test_rounds_of_swaps_are_limited() -> None:
    """Fewer rounds end higher on rows that need many, and none is Lloyd's method."""
    X, centers = draw_corners(0, 40)
    problem, ends = make_problem(X), []
    for rounds in (0, 1, 24):
        effort = replace(PLAIN, swap_rounds=rounds)
        ends.append(run_to_end(LevelSearch(problem, centers, effort, 0)))
    assert ends[0].inertia > ends[1].inertia >= ends[2].inertia
    plain = run_lloyd(problem, centers, max_iter=300)
    assert ends[0].history == plain.history
    np.testing.assert_array_equal(ends[0].labels, plain.labels)


@pytest.mark.parametrize("n_near", [0, 5])
def test_threads_and_blocks_change_no_bit(n_near: int) -> None:
    """One thread and several, one block and many, give the same bits."""
    X = draw_blobs(n=900, d=6, k=30, gap=0.8)[0].astype(np.float32)
    effort = replace(SWAPPING, n_near=n_near, momentum=0.9, inertia_tol=1e-5)
    runs = [
        run_to_end(LevelSearch(make_problem(X, **options), X[:30].astype(float), effort, 0))
        for options in ({}, {"n_threads": 3}, {"block_rows": 17}, {"block_rows": 1})
    ]
    for other in runs[1:]:
        np.testing.assert_array_equal(other.labels, runs[0].labels)
        assert other.centers.tobytes() == runs[0].centers.tobytes()
        assert other.history == runs[0].history


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"tol": 1.0}])
def test_bounds_change_no_swap(options: dict[str, float]) -> None:
    """Passes that keep bounds and passes that measure all distances lead to the same swaps."""
    for seed in range(12):
        X = draw_blobs(seed, n=700, d=6, k=24, gap=0.7)[0]
        problem, effort = make_problem(X), replace(SWAPPING, key=3, **options)
        bounded, full = (
            run_to_end(
                LevelSearch(
                    problem,
                    X[:24].copy(),
                    effort,
                    2,
                    search=NearestSearch(problem, 24, min_work=min_work, max_drift=1.0),
                )
            )
            for min_work in (0.0, np.inf)
        )
        assert bounded.history == full.history
        np.testing.assert_array_equal(bounded.labels, full.labels)


def test_another_key_or_number_draws_other_swaps() -> None:
    """The key and the number of the level fix the draws of swaps."""
    X = draw_blobs(n=900, d=6, k=30, gap=0.8)[0]

    def end(key: int, number: int) -> tuple[float, ...]:
        effort = replace(SWAPPING, key=key)
        return run_to_end(LevelSearch(make_problem(X), X[:30].copy(), effort, number)).history

    assert end(1, 0) == end(1, 0)
    assert len({end(1, 0), end(2, 0), end(1, 3)}) == 3


# --- when it ends --------------------------------------------------------------------------------


def test_a_slow_pass_ends_the_level() -> None:
    """Without swaps the level ends with the first pass that gains too little."""
    X, _ = draw_blobs(n=400, d=5, k=12, gap=0.5)
    problem, centers = make_problem(X), X[:12].copy()
    whole = run_lloyd(problem, centers, max_iter=300)
    gains = [1 - after / before for before, after in itertools.pairwise(whole.history)]
    tol = 1.01 * gains[4]
    expected = 2 + next(i for i, gain in enumerate(gains) if gain < tol)
    found = run_to_end(LevelSearch(problem, centers, replace(PLAIN, inertia_tol=tol), 0))
    assert (found.n_iter, found.converged) == (expected, True)
    assert found.history == whole.history[:expected]


def test_max_iter_bounds_the_passes_that_count() -> None:
    """The level ends after so many passes, and says that it did not converge."""
    X, _ = draw_blobs(n=400, d=5, k=12, gap=0.5)
    for effort in (replace(PLAIN, max_iter=3), replace(SWAPPING, max_iter=3)):
        found = run_to_end(LevelSearch(make_problem(X), X[:12].copy(), effort, 0))
        assert found.n_iter == len(found.history) == 3
        assert not found.converged


def test_a_start_is_never_made_worse() -> None:
    """From a partition the inertia can only fall, and its ties are kept."""
    X, _ = draw_blobs(n=300, d=5, k=6, gap=3.0)
    problem = make_problem(X)
    start = run_lloyd(problem, X[:6].copy(), max_iter=300)
    level = LevelSearch(problem, start.centers, PLAIN, 0, start=start)
    found = run_to_end(level)
    np.testing.assert_array_equal(found.labels, start.labels)
    assert (found.inertia, found.history, found.converged) == (start.inertia, (), True)
    swapped = run_to_end(LevelSearch(problem, start.centers, SWAPPING, 0, start=start))
    assert swapped.inertia <= start.inertia


def test_limits_of_sizes_hold_with_swaps() -> None:
    """With another assignment, passes and swaps keep limits exactly and end lower than without."""
    X, _ = draw_corners(1, 10)
    stream = np.random.default_rng(0)
    X = np.concatenate([X, X[:100] + stream.normal(size=(100, 3))])
    problem, limits = make_problem(X), SizeLimits(20, 60)
    ends = []
    for effort in (PLAIN, SWAPPING):
        search = LimitedSearch(problem, limits)
        level = LevelSearch(problem, X[:10].copy(), effort, 0, search=search)
        found = run_to_end(level)
        assert found.mass.min() >= 20
        assert found.mass.max() <= 60
        np.testing.assert_array_equal(found.mass, np.bincount(found.labels, minlength=10))
        assert found.inertia == pytest.approx(reference.extended_inertia(X, found.labels))
        ends.append(found.inertia)
    assert ends[1] < 0.5 * ends[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [1, 4, 300])
def test_limits_of_sizes_hold_whatever_swaps_promise(weighted: bool, max_iter: int) -> None:
    """Swaps may leave the limits for a moment, but no partition outside them is ever kept."""
    for seed in range(8):
        stream = np.random.default_rng(seed)
        homes = np.minimum(stream.geometric(0.5, 300), 6) - 1
        X = stream.normal(size=(300, 4)) + 3 * stream.normal(size=(6, 4))[homes]
        weights = stream.uniform(0.5, 1.5, 300) if weighted else None
        problem = make_problem(X, weights)
        limits = SizeLimits(30.0, 70.0) if weighted else SizeLimits(49, 51)
        effort = replace(SWAPPING, max_iter=max_iter)
        search = LimitedSearch(problem, limits)
        found = run_to_end(LevelSearch(problem, X[:6].copy(), effort, 0, search=search))
        mass = np.bincount(found.labels, weights, minlength=6)
        assert mass.min() >= limits.minimum * (1 - 1e-12)
        assert mass.max() <= limits.maximum * (1 + 1e-12)


# --- near centers and all of them ----------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_missed_is_measured_on_few_rows(weighted: bool) -> None:
    """With few rows the share is exactly that by which the nearest of all centers lower it."""
    stream = np.random.default_rng(5)
    X, labels = stream.normal(size=(500, 4)), stream.integers(20, size=500).astype(np.int32)
    weights = stream.integers(0, 3, 500).astype(float) if weighted else None
    mass = np.ones(500) if weights is None else weights
    centers = X[:20] + 0.1
    squared = reference.squared_distances(X, centers).astype(float)
    expected = 1 - mass @ squared.min(axis=0) / (mass @ squared[labels, np.arange(500)])
    problem = make_problem(X, weights)
    assert estimate_missed(problem, centers, labels) == pytest.approx(expected, rel=1e-9)
    problem.label(centers, labels)
    assert estimate_missed(problem, centers, labels) == 0
    assert estimate_missed(make_problem(X[:20]), X[:20], np.arange(20, dtype=np.int32)) == 0


def test_what_is_missed_is_estimated_on_many_rows() -> None:
    """Of many rows some are tried, which tell the share nearly."""
    # Each row misses its center by a coin; some 2,000 rows tell the share to within 10 % of it.
    stream = np.random.default_rng(6)
    X = stream.normal(size=(12_000, 3))
    centers = X[:15]
    problem, labels = make_problem(X), np.zeros(12_000, np.int32)
    problem.label(centers, labels)
    nearest = problem.distances(centers, labels).sum()
    wrong = stream.random(12_000) < 0.3
    labels[wrong] = stream.integers(15, size=12_000)[wrong]
    expected = 1 - nearest / problem.distances(centers, labels).sum()
    assert estimate_missed(problem, centers, labels) == pytest.approx(expected, rel=0.1)


def test_rows_meet_all_centers_where_near_ones_miss_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes among near centers end with a look at all, and then nothing much is missed."""
    stream = np.random.default_rng(7)
    X = stream.normal(size=(1500, 12))  # noise has its nearest centers anywhere
    problem, looks = make_problem(X), []
    look_at_all = NearestSearch.look_at_all
    monkeypatch.setattr(
        NearestSearch, "look_at_all", lambda search: (looks.append(1), look_at_all(search))[1]
    )
    effort = replace(PLAIN, n_near=4)
    level = LevelSearch(problem, X[:40].copy(), effort, 0)
    found = run_to_end(level)
    assert looks
    assert found.converged
    assert estimate_missed(problem, found.centers, found.labels) <= module.MIN_MISSED
    assert (np.diff(found.history) <= 0).all()
    monkeypatch.setattr(module, "MIN_MISSED", 1.0)
    shorter = run_to_end(LevelSearch(problem, X[:40].copy(), effort, 0))
    assert found.inertia < shorter.inertia


def test_near_centers_of_clear_clusters_are_enough() -> None:
    """Where clusters lie apart, lists of near centers lead where a look at all leads."""
    X, home = draw_blobs(n=800, d=4, k=40, gap=9.0)
    problem, centers = make_problem(X), X[[home.tolist().index(j) for j in range(40)]]
    full = run_to_end(LevelSearch(problem, centers, SWAPPING, 0))
    near = run_to_end(LevelSearch(problem, centers, replace(SWAPPING, n_near=6), 0))
    np.testing.assert_array_equal(near.labels, full.labels)
    assert near.inertia == pytest.approx(full.inertia, rel=1e-12)


# --- going on ------------------------------------------------------------------------------------

# Each makes a level of the same rows: what differs, and its effort.
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "swaps": {"swap_rounds": 24},
    "momentum": {"swap_rounds": 24, "momentum": 0.9},
    "tolerance": {"swap_rounds": 24, "tol": 5.0},
    "near": {"swap_rounds": 24, "n_near": 5, "momentum": 0.9},
    "near without swaps": {"n_near": 5},
    "far rows": {"swap_rounds": 24, "splits": False},
    "bounded": {"swap_rounds": 24},
    "bounded near": {"swap_rounds": 24, "n_near": 5},
    "weighted": {"swap_rounds": 24, "momentum": 0.9},
    "sparse": {"swap_rounds": 24, "splits": False},
    "limited": {"swap_rounds": 24},
    "limited weights": {"swap_rounds": 24},
    "few passes": {"swap_rounds": 24, "max_iter": 12},
    "bad swaps": {"swap_rounds": 24},
}


def make_level(kind: str) -> LevelSearch:
    """Return a level of some overlapping groups, always the same for a kind."""
    X = draw_blobs(n=700, d=6, k=24, gap=0.7)[0]
    if KINDS[kind].get("splits") is False:
        X[np.arange(100, 700, 90), np.arange(7) % 6] *= 40
    weights = np.linspace(0, 2, len(X)) if "weight" in kind else None
    rows = scipy.sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0)) if kind == "sparse" else X
    source = open_blocks(rows)
    problem = Problem(source, scan_columns(source), weights, 1)
    effort = replace(PLAIN, key=3, **KINDS[kind])
    search: Any = None
    if "bounded" in kind:
        search = NearestSearch(problem, 24, effort.n_near, min_work=0, max_drift=1.0)
    if "limited" in kind:
        search = LimitedSearch(problem, SizeLimits(15.0, 50.0))
    # Some first centers lose all their rows, so that clusters are refilled.
    refilled = 50 + np.arange(4.0)[:, None] + X[:4]
    centers = np.concatenate([X[:20], refilled if effort.splits else X[20:24]])
    return LevelSearch(problem, centers, effort, 2, search=search)


def store(state: LevelState, level: LevelSearch) -> LevelState:
    """Return a state as it comes back from a file."""
    return Part.of(copy.deepcopy(state)).value(LevelState, level.sizes)


def assert_same(found: Clustering, whole: Clustering) -> None:
    """Compare two partitions bit by bit."""
    np.testing.assert_array_equal(found.labels, whole.labels)
    assert found.centers.tobytes() == whole.centers.tobytes()
    assert (found.inertia, found.history) == (whole.inertia, whole.history)
    assert (found.converged, found.n_iter) == (whole.converged, whole.n_iter)


@pytest.mark.parametrize("kind", KINDS)
def test_every_state_goes_on_to_the_same_bits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that goes on from the state after any step ends with the same bits."""
    if kind == "bad swaps":
        spoil_by_state(monkeypatch)
    level, states = make_level(kind), list[LevelState]()
    while not level.ended:
        level.advance()
        if not level.ended:
            states.append(store(level.state(), level))
    whole = level.result()
    assert len(states) >= 3
    if KINDS[kind].get("swap_rounds") and "limited" not in kind:
        assert any(len(state.labels_before) for state in states)
    for state in states:
        later = make_level(kind)
        assert later.resume(store(state, later))
        assert later.n_passes == state.n_passes
        assert_same(run_to_end(later), whole)


def spoil_by_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let proposals put rows into clusters in a way that depends on the partition alone."""

    def swap_badly(problem: Any, labels: Any, moments: Any, *others: Any) -> Swaps:
        return Swaps(1, 1e9, ((labels * 7 + np.arange(len(labels))) % 24).astype(np.int32))

    monkeypatch.setattr(module, "propose_swaps", swap_badly)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every value at once."""
    monkeypatch.setattr(running_checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(running_checkpoint, "WORK_PER_WRITE", 0.0)


class Left(BaseException):
    """Ends a run as a kill would."""


def open_run(folder: Path, callback: Callable[[FitState], object] | None = None) -> Run:
    """Return a run whose checkpoint lies in a folder."""
    return Run(Monitor(callback), Checkpoint(CheckpointFolder(folder, {"data": "mine"})))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("kind", ["swaps", "near", "limited", "weighted"])
def test_a_killed_search_repeats_no_pass(kind: str, tmp_path: Path) -> None:
    """A search that is killed after every pass ends with the same bits, one pass at a time."""
    whole = search_level(make_level(kind), Run(), "mine")
    told: list[int] = []

    def leave(state: FitState) -> None:
        told.append(state.iteration)
        raise Left

    for _ in whole.history:
        with pytest.raises(Left):
            search_level(make_level(kind), open_run(tmp_path, leave), "mine")
    assert told == list(range(1, whole.n_iter + 1))
    assert_same(search_level(make_level(kind), open_run(tmp_path, leave), "mine"), whole)
    other = search_level(make_level(kind), open_run(tmp_path), "other")
    assert_same(other, whole)  # a state of another owner is not taken


@pytest.mark.parametrize("kind", ["swaps", "near", "limited", "bad swaps"])
def test_a_stopped_search_goes_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that a callback stops after any pass has a result, and goes on to the same bits."""
    if kind == "bad swaps":
        spoil_by_state(monkeypatch)
    whole = search_level(make_level(kind), Run())
    for stop in itertools.count(1):
        run = open_run(tmp_path, lambda state, stop=stop: state.iteration == stop)
        part = search_level(make_level(kind), run, "mine")
        if not run.monitor.stopped:
            break
        assert part.inertia == pytest.approx(part.history[-1], rel=1e-12)
        assert len(part.labels) == len(whole.labels)
        assert part.history == whole.history[: len(part.history)]
    assert stop > 5
    assert_same(part, whole)


def test_an_ended_search_leaves_nothing_to_write(tmp_path: Path) -> None:
    """After the end no state waits; the result is stored by the caller."""
    run = open_run(tmp_path)
    assert search_level(make_level("plain"), run, "mine").converged
    run.checkpoint.flush()
    assert list(tmp_path.iterdir()) == []


def test_the_monitor_hears_of_every_pass() -> None:
    """Passes are counted from one, and each tells the lowest inertia so far."""
    seen: list[FitState] = []
    monitor = Monitor(lambda state: bool(seen.append(state)))
    found = search_level(make_level("swaps"), Run(monitor))
    assert [state.iteration for state in seen] == list(range(1, 1 + found.n_iter))
    assert tuple(state.inertia for state in seen) == found.history
    assert monitor.trace == seen


def test_nothing_is_stored_after_a_stop(tmp_path: Path) -> None:
    """A run that was stopped before makes other passes, which leave the stored state alone."""
    whole = search_level(make_level("swaps"), Run())
    stopped = open_run(tmp_path, lambda state: state.iteration == 5)
    search_level(make_level("swaps"), stopped, "mine")
    stored = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert stored
    again = open_run(tmp_path, lambda state: True)
    again.monitor.report(0)
    short = make_level("few passes")
    search_level(short, again, "mine")
    again.checkpoint.flush()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == stored
    assert_same(search_level(make_level("swaps"), open_run(tmp_path), "mine"), whole)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.full(700, 24, np.int32)},
        {"labels": np.full(700, -1, np.int32)},
        {"labels": np.zeros(699, np.int32)},
        {"references": np.zeros((23, 6))},
        {"references": np.full((24, 6), np.nan)},
        {"references": np.zeros((24, 6), np.float32)},
        {"inertia": 1.0},
        {"inertia": None},
        {"history": (1.0,)},
        {"history": (np.nan,)},
        {"ahead": np.zeros((23, 6))},
        {"ahead": np.full((24, 6), np.inf)},
        {"momentum": np.nan},
        {"remembered": Remembered(lists=np.full((24, 5), 24, np.int32))},
        {"remembered": Remembered(lists=np.zeros((24, 5), np.int32))},
        {"remembered": Remembered(lists=np.arange(15, dtype=np.int32).reshape(3, 5))},
        {"remembered": Remembered(prices=np.zeros(3))},
        {"labels_before": np.full(700, 24, np.int32)},
        {"labels_before": np.zeros(3, np.int32)},
        {"n_passes": -1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_state_that_does_not_fit_is_not_used(change: dict[str, Any], tmp_path: Path) -> None:
    """A state of other rows, or one that was damaged, costs time and nothing else."""
    kind = "near" if "remembered" in change else "swaps"
    whole = search_level(make_level(kind), Run())
    level, run = make_level(kind), open_run(tmp_path)
    for _ in range(4):
        level.advance()
    state = copy.deepcopy(level.state())
    outside = {name: value for name, value in change.items() if hasattr(state, name)}
    inside = {name: value for name, value in change.items() if name not in outside}
    state = replace(state, lloyd=replace(state.lloyd, **inside), **outside)
    run.checkpoint.keep_running("mine", state)
    run.checkpoint.flush()
    with pytest.warns(UserWarning, match="damaged and is ignored"):
        found = search_level(make_level(kind), open_run(tmp_path), "mine")
    assert_same(found, whole)
