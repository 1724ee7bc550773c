"""Nearest centers over many passes: labels are those of a pass that measures everything."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import SparseBlocks
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.passes import pruned_search
from projected_kmeans.passes.center_graph import MAX_UNGROUPED, find_neighbours
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.nearest import NOTHING, PATIENCE, NearestSearch, divide_centers
from projected_kmeans.passes.problem import Problem
from projected_kmeans.search.lloyd import run_lloyd
from tests import reference
from tests.support.layouts import draw_rows, seeds, types
from tests.support.problems import make_problem
from tests.support.sparse_rows import both_forms

K, NEAR = 30, 4


def make_search(
    X: NDArray[Any], k: int, *, block_rows: int | None = None, n_threads: int = 1
) -> NearestSearch:
    """Return a search that keeps bounds even for rows as few as here."""
    problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
    return NearestSearch(problem, k, min_work=0)


def open_sparse(X: Any) -> Problem:
    """Return sparse rows as a problem."""
    source = SparseBlocks(scipy.sparse.csr_array(X))
    return Problem(source, scan_columns(source), n_threads=1)


def walk(seed: int, first: NDArray[Any], n_passes: int, step: float) -> list[NDArray[Any]]:
    """Return centers that move at random, a few of them far, and some not at all."""
    stream = np.random.default_rng(seed)
    path = [first]
    for _ in range(n_passes - 1):
        sizes = step * stream.choice([0.0, 0.01, 0.1, 1.0], size=(len(first), 1))
        path.append(path[-1] + sizes * stream.normal(size=first.shape))
    return path


# --- all centers ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 90),
    d=st.integers(1, 20),
    k=st.integers(12, 80),
    dtype=types,
    block_rows=st.integers(1, 91),
    n_threads=st.integers(1, 3),
)
def test_labels_are_those_of_full_passes(
    seed: int, n: int, d: int, k: int, dtype: str, block_rows: int, n_threads: int
) -> None:
    """However centers move, labels are the twin's after every pass, for any blocks and threads."""
    X = draw_rows(seed, n, d, dtype)
    first = draw_rows(seed + 1, k, d, dtype).astype(float)
    search = make_search(X, k, block_rows=block_rows, n_threads=n_threads)
    labels = np.zeros(n, np.int32)
    present = None
    for centers in walk(seed, first, 6, float(np.abs(first).max())):
        search.assign(centers, labels, keep_ties=present is not None)
        present = reference.nearest_center(X, centers, present)
        np.testing.assert_array_equal(labels, present)


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=st.integers(1, 6),
    k=st.integers(12, 40),
    unit=st.sampled_from([1e-30, 1e-3, 1.0, 1e30]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_ties_are_kept_as_in_full_passes(
    seed: int, n: int, d: int, k: int, unit: float, dtype: str
) -> None:
    """Among rows and centers of few integers, where most distances tie, labels are the twin's."""
    stream = np.random.default_rng(seed)
    unit = 2.0 ** np.round(np.log2(unit))
    X = (stream.integers(0, 3, size=(n, d)) * unit).astype(dtype)
    search = make_search(X, k)
    labels = np.zeros(n, np.int32)
    present = None
    centers = stream.integers(0, 3, size=(k, d)).astype(float)
    for _ in range(6):
        search.assign(centers * unit, labels, keep_ties=present is not None)
        present = reference.nearest_center(X / unit, centers, present)
        np.testing.assert_array_equal(labels, present)
        moved = stream.random(k) < 0.2
        centers = np.where(moved[:, None], stream.integers(0, 3, size=(k, d)), centers)


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 80),
    d=st.sampled_from([1, 3, 40]),
    k=st.integers(1, 20),
    dtype=st.sampled_from(["float32", "float64"]),
    step=st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 10.0]),
    offset=st.sampled_from([0.0, 1e4]),
)
def test_dense_and_sparse_rows_get_the_same_labels(
    seed: int, n: int, d: int, k: int, dtype: str, step: float, offset: float
) -> None:
    """Every pass over dense or sparse rows gives the nearest centers, however these moved."""
    rows, centers = both_forms(draw_rows(seed, n, d, dtype)), np.empty((k, d))
    stream = np.random.default_rng(seed)
    centers[:] = rows.dense[stream.integers(n, size=k)] + offset * (stream.random() < 0.3)
    problems = [make_problem(rows.dense), open_sparse(rows.sparse)]
    searches = [NearestSearch(problem, k, min_clusters=1, min_work=0) for problem in problems]
    labels = np.zeros((2, n), np.int32)
    spread = float(np.abs(rows.dense.astype(float)).max(initial=1.0))
    for keep_ties in (False, True, False):
        expected = labels[0].copy()
        problems[0].assign(centers, expected, keep_ties=keep_ties)
        if step != 1e-9:  # else the twin sees differences that float64 does not
            present = labels[0] if keep_ties else None
            twin = reference.nearest_center(rows.dense, centers, present)
            np.testing.assert_array_equal(expected, twin)
        for search, own in zip(searches, labels, strict=True):
            search.assign(centers, own, keep_ties=keep_ties)
            np.testing.assert_array_equal(own, expected)
        centers = centers + step * spread * stream.normal(size=(k, d))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("d", [255, 256, 257, 600])
def test_labels_of_wide_rows(d: int, dtype: str) -> None:
    """Rows that are multiplied a part of their columns at a time get the twin's labels."""
    stream = np.random.default_rng(d)
    X = (stream.normal(size=(1100, d)) * 20 + 100).astype(dtype)
    search, labels = make_search(X, 30, n_threads=2), np.zeros(1100, np.int32)
    for centers in walk(d, X[:30].astype(float), 4, 5.0):
        search.assign(centers, labels, keep_ties=False)
        np.testing.assert_array_equal(labels, reference.nearest_center(X, centers))


def test_rows_of_length_one_get_their_nearest_centers() -> None:
    """Rows that are divided by their lengths as they are read get the labels of unit rows."""
    stream = np.random.default_rng(3)
    X = stream.normal(size=(700, 6))
    unit = UnitRows(make_problem(X).source)
    problem = Problem(unit, unit.bound(make_problem(X).ranges), spherical=True)
    search, labels = NearestSearch(problem, 14, min_work=0), np.zeros(700, np.int32)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    for centers in walk(3, rows[:14].copy(), 5, 0.05):
        search.assign(centers, labels, keep_ties=False)
        np.testing.assert_array_equal(labels, reference.nearest_center(rows, centers))


@pytest.mark.parametrize("typical", [1e-306, 1e-300, 1e-3, 4.0, 1e6, np.inf])
def test_bounds_from_the_first_pass_on(typical: float) -> None:
    """With a typical distance, right or wrong, the first pass keeps bounds; labels are right."""
    stream = np.random.default_rng(0)
    X, centers = stream.normal(size=(600, 20)), stream.normal(size=(16, 20))
    search = NearestSearch(make_problem(X), 16, min_work=0)
    search._choose_quantum(typical)
    assert search.keeps_bounds == (1e-306 < typical < np.inf)
    labels = np.zeros(600, np.int32)
    for step in walk(0, centers, 4, 0.1):
        search.assign(step, labels, keep_ties=False)
        np.testing.assert_array_equal(labels, reference.nearest_center(X, step))
    if typical == 4.0:
        assert search.n_distances < 3 * 600 * 16


class CountingSearch(NearestSearch):
    """A search that notes how many distances each pass computes."""

    def __init__(self, problem: Problem, k: int, **options: Any) -> None:
        super().__init__(problem, k, **options)
        self.spent: list[int] = []

    def assign(self, *arguments: Any, **options: Any) -> None:
        """Make a pass, and note what it computed."""
        before = self.n_distances
        super().assign(*arguments, **options)
        self.spent.append(self.n_distances - before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("k", [12, 33, 100])
def test_a_run_has_the_bits_of_one_without_bounds(k: int, dtype: str) -> None:
    """Lloyd's method with bounds gives every bit of the run without, and saves most distances."""
    stream = np.random.default_rng(k)
    means = stream.integers(40, 200, size=(k, 24))
    X = (means[stream.integers(k, size=3000)] + 12 * stream.normal(size=(3000, 24))).astype(dtype)
    problem, centers = make_problem(X), X[:k].astype(float)
    bounded = CountingSearch(problem, k, min_work=0, max_drift=1.0)
    full = CountingSearch(problem, k, min_clusters=k + 1)
    quick = run_lloyd(problem, centers, max_iter=60, search=bounded)
    plain = run_lloyd(problem, centers, max_iter=60, search=full)
    np.testing.assert_array_equal(quick.labels, plain.labels)
    assert quick.history == plain.history
    assert quick.centers.tobytes() == plain.centers.tobytes()
    assert set(full.spent) == {3000 * k}
    assert sum(bounded.spent[2:]) < 0.5 * sum(full.spent[2:])


def test_bounds_begin_when_centers_move_little() -> None:
    """Passes measure all distances while centers move far, and keep bounds from then on."""
    stream = np.random.default_rng(0)
    X, centers = stream.normal(size=(600, 20)), stream.normal(size=(16, 20))
    search = CountingSearch(make_problem(X), 16, min_work=0, max_drift=0.01)
    labels, full = np.zeros(600, np.int32), 600 * 16
    # Typical distances are about 4, so that bounds begin at a step of at most 0.64.
    for step in (0.0, 2.0, 0.8, 0.5, 0.01, 2.0):
        centers = centers + step * np.eye(16, 20)[::-1]
        search.assign(centers, labels, keep_ties=False)
        np.testing.assert_array_equal(labels, reference.nearest_center(X, centers))
    assert search.spent[:3] == [full] * 3
    assert search.spent[3] >= full  # the first pass with bounds measures all, and own centers
    assert search.spent[4] < full / 2


def test_bounds_that_save_nothing_are_dropped() -> None:
    """Where centers move far in each pass, bounds are dropped after a while; labels stay right."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(400, 30))
    search = make_search(X, 20)
    labels = np.zeros(400, np.int32)
    spent: list[int] = []
    for _ in range(9):
        centers = stream.normal(size=(20, 30))
        before = search.n_distances
        search.assign(centers, labels, keep_ties=False)
        np.testing.assert_array_equal(labels, reference.nearest_center(X, centers))
        spent.append(search.n_distances - before)
    assert set(spent[PATIENCE + 1 :]) == {400 * 20}


def test_rows_equal_to_their_centers() -> None:
    """Labels are right if all first distances are zero, so that there is no unit for bounds."""
    X = np.repeat(np.arange(14.0)[:, None], 3, axis=0)
    search = make_search(X, 14)
    labels = np.zeros(42, np.int32)
    for shift in (0.0, 0.0, 0.4, 1.0):
        search.assign(np.arange(14.0)[:, None] + shift, labels, keep_ties=False)
        expected = reference.nearest_center(X, np.arange(14.0)[:, None] + shift)
        np.testing.assert_array_equal(labels, expected)


def test_a_row_whose_label_was_changed_is_looked_at_again() -> None:
    """A row that was given another label from outside finds its nearest center again."""
    stream = np.random.default_rng(1)
    X = stream.normal(size=(100, 5))
    centers = stream.normal(size=(16, 5))
    search = make_search(X, 16)
    labels = np.zeros(100, np.int32)
    for _ in range(3):
        search.assign(centers, labels, keep_ties=True)
    changed = np.array([3, 50])
    labels[changed] = (labels[changed] + 1) % 16
    search.rows_reassigned(changed, labels[changed])
    search.assign(centers, labels, keep_ties=True)
    np.testing.assert_array_equal(labels, reference.nearest_center(X, centers))


def test_a_restart_forgets_bounds() -> None:
    """After a restart any centers and labels give the labels of a full pass."""
    stream = np.random.default_rng(2)
    X = stream.normal(size=(300, 5))
    search, labels = make_search(X, 16), np.zeros(300, np.int32)
    for centers in walk(2, X[:16].copy(), 4, 0.01):
        search.assign(centers, labels, keep_ties=True)
    search.restart()
    labels[:] = stream.integers(16, size=300)
    centers, before = X[100:116].copy(), labels.copy()
    search.assign(centers, labels, keep_ties=True)
    np.testing.assert_array_equal(labels, reference.nearest_center(X, centers, before))


@pytest.mark.parametrize("sparse", [False, True])
def test_the_distances_of_a_pass_are_those_of_the_twin(sparse: bool) -> None:
    """A pass that measured all rows tells their distances to the nearest two centers."""
    X = np.random.default_rng(4).normal(size=(80, 7))
    centers = X[:9] + 0.1
    problem = open_sparse(X) if sparse else make_problem(X)
    search, labels = NearestSearch(problem, 9), np.zeros(80, np.int32)
    assert search.near is None
    search.assign(centers, labels, keep_ties=False)
    two = np.sort(reference.squared_distances(X, centers), axis=0)[:2].astype(float)
    assert search.near is not None
    np.testing.assert_allclose(search.near.nearest, two[0], rtol=1e-9)
    np.testing.assert_allclose(search.near.second, two[1], rtol=1e-9)


@pytest.mark.parametrize("kind", ["full", "bounded", "sparse", "near"])
def test_distances_can_be_asked_for_after_any_pass(kind: str) -> None:
    """They are those to the centers of that pass, whether it measured them or saved them."""
    X = np.random.default_rng(4).normal(size=(300, 7))
    problem = open_sparse(X) if kind == "sparse" else make_problem(X)
    n_near, min_work = 5 if kind == "near" else 0, 0.0 if kind == "bounded" else np.inf
    search = NearestSearch(problem, 14, n_near, min_work=min_work, max_drift=1.0)
    labels = np.zeros(300, np.int32)
    for index, centers in enumerate(walk(4, X[:14].copy(), 4, 0.01)):
        groups = labels.copy()
        search.assign(centers, labels, keep_ties=index > 0)
    assert (search.near is None) == (kind == "bounded")
    near, homes = search.measure(labels, None)
    np.testing.assert_array_equal(homes, labels)
    lists = [np.arange(14)] * 14
    if kind == "near":
        assert search.neighbours is not None
        lists = list(search.neighbours)
    expected = reference.nearest_listed(X, centers, lists, groups, groups).astype(float)
    np.testing.assert_allclose(near.nearest, expected[:, 1], rtol=1e-6)
    np.testing.assert_allclose(near.second, expected[:, 2], rtol=1e-6)
    other, _ = search.measure(labels, centers + 1)
    own = reference.own_distances(X, centers + 1, reference.nearest_center(X, centers + 1))
    if kind != "near":
        np.testing.assert_allclose(other.nearest, own.astype(float), rtol=1e-6)


@given(k=st.integers(1, 1200), seed=seeds)
def test_groups_hold_every_center_once(k: int, seed: int) -> None:
    """There are at most 16 groups of equal size, a multiple of four, with every center in one."""
    groups = divide_centers(np.random.default_rng(seed).normal(size=(k, 3)))
    assert len(groups) <= 16
    assert groups.shape[1] % 4 == 0
    assert (np.sort(groups[groups >= 0]) == np.arange(k)).all()
    assert (groups.max(axis=1) >= 0).all()


def test_groups_are_of_neighbours() -> None:
    """Centers in separate bunches are grouped by bunch, and equal centers can be grouped, too."""
    stream = np.random.default_rng(0)
    bunch = np.repeat(np.arange(8), 8)
    order = stream.permutation(64)
    groups = divide_centers((100.0 * bunch[:, None] + stream.normal(size=(64, 8)))[order])
    assert groups.shape == (16, 4)
    for group in groups:
        assert len(set(bunch[order][group])) == 1
    assert divide_centers(np.zeros((40, 2))).shape == (10, 4)


# --- a sketch of the centers ---------------------------------------------------------------------


@pytest.mark.parametrize("block_rows", [5000, 1700])
def test_a_sketch_rules_out_most_centers(block_rows: int) -> None:
    """With a sketch of the centers, labels are those of all centers, with few distances."""
    stream = np.random.default_rng(3)
    places = np.repeat(8 * stream.normal(size=(30, 140)), 10, axis=0)
    centers = (places + stream.normal(size=(300, 140))).astype(np.float32).astype(np.float64)
    X = centers[stream.integers(300, size=5000)] + 0.2 * stream.normal(size=(5000, 140))
    problem = make_problem(X.astype(np.float32), block_rows=block_rows, n_threads=2)
    assert pruned_search.is_worthwhile(5000, 300, 140)
    expected = np.zeros(5000, np.int32)
    problem.label(centers, expected)
    search = NearestSearch(problem, 300, rules_out=True)
    labels = np.where(np.arange(5000) % 50, expected, 0).astype(np.int32)
    search.assign(centers, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, expected)
    assert search.sees_all
    assert search.n_distances < 5000 * 60


def test_a_sketch_is_not_made_where_it_saves_nothing() -> None:
    """Few clusters, sparse rows and huge numbers take a pass that measures everything."""
    stream = np.random.default_rng(3)
    X = stream.normal(size=(400, 140))
    for problem, k in ((make_problem(X), 8), (open_sparse(X), 300), (make_problem(1e20 * X), 300)):
        search, labels = NearestSearch(problem, k, rules_out=True), np.zeros(400, np.int32)
        expected = labels.copy()
        centers = problem.source.take(np.arange(k))
        search.assign(centers, labels, keep_ties=False)
        problem.label(centers, expected)
        np.testing.assert_array_equal(labels, expected)
        assert search.n_distances == 400 * k


# --- near centers --------------------------------------------------------------------------------


def draw_near(
    dtype: str = "float64", far: float = 1.0
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]]:
    """Return rows of which one may be far away, centers among them, and labels of no meaning."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(2000, 5)).astype(dtype)
    X[7] *= far
    return X, X[:K].astype(np.float64), (np.arange(2000) % K).astype(np.int32)


def list_neighbours(problem: Problem, centers: NDArray[Any]) -> list[NDArray[np.int32]]:
    """Return the list of near centers of every cluster."""
    dtype = compute_type(problem.source.dtype)
    return list(find_neighbours(Frame.around(centers, dtype, problem.ranges), NEAR))


def expect(
    X: NDArray[Any], centers: NDArray[Any], lists: list[Any], labels: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the nearest of the centers that the list of each row's cluster names."""
    found = reference.nearest_listed(X, centers, lists, labels, labels)
    return found[:, 0].astype(np.int32)


def move(seed: int, centers: NDArray[Any], *sizes: float) -> Iterator[NDArray[Any]]:
    """Yield centers that move by less and less."""
    stream = np.random.default_rng(seed)
    for size in sizes:
        yield centers
        centers = centers + size * stream.normal(size=centers.shape)


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
@pytest.mark.parametrize("block_rows", [None, 77])
def test_rows_meet_the_centers_around_their_cluster(kind: str, block_rows: int | None) -> None:
    """Every pass gives the nearest center of the present cluster's list, which follows centers."""
    X, first, labels = draw_near("float64" if kind == "sparse" else kind)
    problem = open_sparse(X) if kind == "sparse" else make_problem(X, block_rows=block_rows)
    search = NearestSearch(problem, K, NEAR)
    assert not search.sees_all
    for centers in move(1, first, 0.3, 0.3, 0.1):
        expected = expect(X, centers, list_neighbours(problem, centers), labels)
        search.assign(centers, labels, keep_ties=True)
        np.testing.assert_array_equal(labels, expected)
        assert search.remembered is NOTHING
    assert search.n_distances == 3 * 2000 * NEAR


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("far", [1.0, 1e6])
def test_lists_that_stay_skip_rows_and_change_no_label(
    dtype: str, far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over smaller and smaller moves labels are the twin's among the first lists, for few looks."""
    X, first, labels = draw_near(dtype, far)
    problem, stream = make_problem(X), np.random.default_rng(1)
    looked: list[int] = []
    kernel = _native.nearest_listed

    def count_rows(*arguments: Any) -> None:
        looked.append(int((arguments[5] >= 0).sum()))
        kernel(*arguments)

    monkeypatch.setattr(_native, "nearest_listed", count_rows)
    search, lists = NearestSearch(problem, K, NEAR), list_neighbours(problem, first)
    search.keep_lists()
    for centers in move(2, first, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        expected = expect(X, centers, lists, labels)
        search.assign(centers, labels, keep_ties=True)
        np.testing.assert_array_equal(labels, expected)
        rows = stream.choice(2000, 3, replace=False)
        labels[rows] = 5
        search.rows_reassigned(rows, labels[rows])
    assert looked[0] == 2000
    if far == 1.0 or dtype == "float64":  # else rounding of the far row allows no bounds
        assert looked[-1] < 500


def test_ties_among_lists_are_kept() -> None:
    """With integers, where most distances tie, rows keep their labels as in the twin."""
    stream = np.random.default_rng(6)
    X = stream.integers(0, 3, size=(500, 3)).astype(float)
    centers = stream.integers(0, 3, size=(K, 3)).astype(float)
    labels = stream.integers(K, size=500).astype(np.int32)
    search, problem = NearestSearch(make_problem(X), K, NEAR), make_problem(X)
    search.keep_lists()
    lists = list_neighbours(problem, centers)
    for _ in range(5):
        expected = expect(X, centers, lists, labels)
        search.assign(centers, labels, keep_ties=True)
        np.testing.assert_array_equal(labels, expected)
        moved = stream.random(K) < 0.2
        centers = np.where(moved[:, None], stream.integers(0, 3, size=(K, 3)), centers)


def test_what_is_remembered_goes_on_in_another_search() -> None:
    """Lists that stay are told and taken over, so that a later search gives the same labels."""
    X, first, labels = draw_near()
    problem = make_problem(X)
    search, later = NearestSearch(problem, K, NEAR), NearestSearch(problem, K, NEAR)
    search.keep_lists()
    search.assign(first, labels, keep_ties=True)
    np.testing.assert_array_equal(search.remembered.lists, list_neighbours(problem, first))
    later.keep_lists()
    later.remembered = copy.deepcopy(search.remembered)
    other, anew = labels.copy(), labels.copy()
    fresh = NearestSearch(problem, K, NEAR)
    for centers in move(3, X[500 : 500 + K].copy(), 0.1, 0.01, 0.01):
        search.assign(centers, labels, keep_ties=True)
        later.assign(centers, other, keep_ties=True)
        fresh.assign(centers, anew, keep_ties=True)
        np.testing.assert_array_equal(other, labels)
    assert not np.array_equal(anew, labels)  # lists of other centers, as this test wants them
    later.remembered = NOTHING
    assert later.remembered is NOTHING


def test_a_look_at_all_centers_is_followed_by_new_lists() -> None:
    """The next pass has the labels of all centers, and the one after it lists of its own."""
    X, first, labels = draw_near()
    problem = make_problem(X)
    search = NearestSearch(problem, K, NEAR)
    search.keep_lists()
    search.assign(first, labels, keep_ties=True)
    missed = reference.nearest_center(X, first, labels)
    assert not np.array_equal(missed, labels)  # or this test would show nothing
    search.look_at_all()
    assert search.looks_at_all
    assert search.remembered is NOTHING
    search.assign(first, labels, keep_ties=True)
    assert not search.looks_at_all
    np.testing.assert_array_equal(labels, missed)
    centers = X[900 : 900 + K].copy()
    expected = expect(X, centers, list_neighbours(problem, centers), labels)
    search.assign(centers, labels, keep_ties=True)
    np.testing.assert_array_equal(labels, expected)


def test_a_restart_makes_new_lists() -> None:
    """After a restart lists are those of the centers of the next pass."""
    X, first, labels = draw_near()
    problem = make_problem(X)
    search = NearestSearch(problem, K, NEAR)
    search.keep_lists()
    search.assign(first, labels, keep_ties=True)
    search.restart()
    assert search.remembered is NOTHING
    centers = X[900 : 900 + K].copy()
    expected = expect(X, centers, list_neighbours(problem, centers), labels)
    search.assign(centers, labels, keep_ties=True)
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("n_near", [K, K + 5, 0])
def test_as_many_near_centers_as_there_are_is_all(n_near: int) -> None:
    """A list of all centers is a full pass."""
    X, centers, labels = draw_near()
    search = NearestSearch(make_problem(X), K, n_near)
    assert search.sees_all
    expected = reference.nearest_center(X, centers, labels)
    search.assign(centers, labels, keep_ties=True)
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_first_pass_of_few_centers_sees_all(kind: str) -> None:
    """Rows without labels meet all centers, of equally near ones the lowest wins."""
    X, centers, labels = draw_near()
    problem = make_problem(X) if kind == "dense" else open_sparse(X)
    NearestSearch(problem, K, NEAR).assign(centers, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, reference.nearest_center(X, centers))


def draw_many(d: int = 6) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return rows around more centers than are compared at once."""
    stream = np.random.default_rng(8)
    k = MAX_UNGROUPED + 300
    centers = 6 * stream.normal(size=(40, d))[stream.integers(40, size=k)]
    centers += stream.normal(size=(k, d))
    rows = centers[stream.integers(k, size=4000)] + 0.2 * stream.normal(size=(4000, d))
    return rows.astype(np.float32), centers.astype(np.float32).astype(np.float64)


def test_the_first_pass_of_many_centers_looks_into_near_groups() -> None:
    """Nearly all rows get their nearest center, and none a far one, for few distances a row."""
    X, centers = draw_many()
    problem = make_problem(X)
    search, labels = NearestSearch(problem, len(centers), NEAR), np.zeros(4000, np.int32)
    search.assign(centers, labels, keep_ties=False)
    expected = np.zeros(4000, np.int32)
    problem.label(centers, expected)
    assert np.mean(labels == expected) > 0.97
    found, best = problem.distances(centers, labels), problem.distances(centers, expected)
    assert found.sum() < 1.1 * best.sum()
    assert search.n_distances < 4000 * len(centers) / 4
    assert search.near is not None
    np.testing.assert_allclose(search.near.nearest, found, rtol=1e-2, atol=1e-3)


def test_threads_and_blocks_change_no_label() -> None:
    """The first pass by groups, passes with lists and a look at all give the same labels."""
    X, first = draw_many()
    runs = []
    for block_rows, n_threads in ((None, 1), (13, 3), (1000, 2)):
        problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
        search, labels = NearestSearch(problem, len(first), 8), np.zeros(4000, np.int32)
        found = []
        for index, centers in enumerate(move(4, first, 0.1, 0.05, 0.02, 0.01, 0.01)):
            search.assign(centers, labels, keep_ties=index > 0)
            found.append(labels.copy())
            if index == 1:
                search.keep_lists()
            if index == 3:
                search.look_at_all()
        runs.append(np.array(found))
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])
