"""The search with bounds: the same labels as a pass that measures everything, always."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans.passes.bounded_search import PATIENCE, NearestSearch, group_centers
from projected_kmeans.passes.problem import Problem
from projected_kmeans.solvers.lloyd import run_lloyd
from tests import reference
from tests.support.layouts import draw_rows, seeds, types
from tests.support.problems import make_problem


def make_search(
    X: NDArray[Any], k: int, *, block_rows: int | None = None, n_threads: int = 1
) -> NearestSearch:
    """Return a search that keeps bounds even for rows as few as here."""
    problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
    return NearestSearch(problem, k, min_work=0)


def walk(seed: int, first: NDArray[Any], n_passes: int, step: float) -> list[NDArray[Any]]:
    """Return centers that move at random, a few of them far, and some not at all."""
    stream = np.random.default_rng(seed)
    path = [first]
    for _ in range(n_passes - 1):
        sizes = step * stream.choice([0.0, 0.01, 0.1, 1.0], size=(len(first), 1))
        path.append(path[-1] + sizes * stream.normal(size=first.shape))
    return path


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


@pytest.mark.parametrize("typical", [1e-306, 1e-300, 1e-3, 4.0, 1e6, np.inf])
def test_bounds_from_the_first_pass_on(typical: float) -> None:
    """With a typical distance, right or wrong, the first pass keeps bounds; labels are right."""
    stream = np.random.default_rng(0)
    X, centers = stream.normal(size=(600, 20)), stream.normal(size=(16, 20))
    search = NearestSearch(make_problem(X), 16, typical, min_work=0)
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


@given(k=st.integers(1, 1200), seed=seeds)
def test_groups_hold_every_center_once(k: int, seed: int) -> None:
    """There are at most 16 groups of equal size, a multiple of four, with every center in one."""
    groups = group_centers(np.random.default_rng(seed).normal(size=(k, 3)))
    assert len(groups) <= 16
    assert groups.shape[1] % 4 == 0
    assert (np.sort(groups[groups >= 0]) == np.arange(k)).all()
    assert (groups.max(axis=1) >= 0).all()


def test_groups_are_of_neighbours() -> None:
    """Centers in separate bunches are grouped by bunch, and equal centers can be grouped, too."""
    stream = np.random.default_rng(0)
    bunch = np.repeat(np.arange(8), 8)
    order = stream.permutation(64)
    groups = group_centers((100.0 * bunch[:, None] + stream.normal(size=(64, 8)))[order])
    assert groups.shape == (16, 4)
    for group in groups:
        assert len(set(bunch[order][group])) == 1
    assert group_centers(np.zeros((40, 2))).shape == (10, 4)
