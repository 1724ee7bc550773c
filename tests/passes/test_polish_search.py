"""The search of polish passes: the labels of a pass that measures everything, with fewer looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import SparseBlocks
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.passes.bounded_search import NearestSearch
from projected_kmeans.passes.polish_search import PolishSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.settling import settle_labels
from tests import reference
from tests.support.layouts import draw_rows, seeds
from tests.support.problems import make_problem
from tests.support.sparse_rows import both_forms


def make_groups(seed: int, n: int, d: int, k: int) -> tuple[Any, Any]:
    """Return rows around k means that overlap a little, and the means."""
    stream = np.random.default_rng(seed)
    means = 3 * stream.normal(size=(k, d))
    return means[stream.integers(k, size=n)] + stream.normal(size=(n, d)), means


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 80),
    d=st.sampled_from([1, 3, 40]),
    k=st.integers(1, 9),
    dtype=st.sampled_from(["float32", "float64"]),
    step=st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 10.0]),
    offset=st.sampled_from([0.0, 1e4]),
)
def test_labels_are_those_of_the_twin(
    seed: int, n: int, d: int, k: int, dtype: str, step: float, offset: float
) -> None:
    """Every pass, dense or sparse, gives the nearest centers, however far centers have moved."""
    rows, centers = both_forms(draw_rows(seed, n, d, dtype)), np.empty((k, d))
    stream = np.random.default_rng(seed)
    centers[:] = rows.dense[stream.integers(n, size=k)] + offset * (stream.random() < 0.3)
    sparse = SparseBlocks(rows.sparse)
    problems = [make_problem(rows.dense), Problem(sparse, scan_columns(sparse))]
    searches = [PolishSearch(problem) for problem in problems]
    labels = np.zeros((2, n), np.int32)
    spread = float(np.abs(rows.dense.astype(float)).max(initial=1.0))
    for keep_ties in (False, True, False):
        present = labels[0].copy() if keep_ties else None
        expected = reference.nearest_center(rows.dense, centers, present)
        for search, own in zip(searches, labels, strict=True):
            search.assign(centers, own, keep_ties=keep_ties)
            np.testing.assert_array_equal(own, expected)
        centers = centers + step * spread * stream.normal(size=(k, d))


@pytest.mark.parametrize("kind", ["dense", "sparse", "unit"])
def test_rows_that_are_sure_are_not_measured_again(kind: str) -> None:
    """After centers moved a little, few distances are computed; after far moves all are."""
    X, means = make_groups(0, 2000, 20, 5)
    source: Any = make_problem(X).source
    if kind == "sparse":
        source = SparseBlocks(both_forms(X).sparse)
    problem = Problem(source, scan_columns(source))
    if kind == "unit":
        unit = UnitRows(source)
        problem = Problem(unit, unit.bound(problem.ranges), spherical=True)
        means = means / np.linalg.norm(means, axis=1)[:, None]
    search, labels = PolishSearch(problem), np.zeros(2000, np.int32)
    search.assign(means, labels, keep_ties=False)
    assert search.n_distances == 5 * 2000
    moved = means * 1.001
    search.assign(moved, labels, keep_ties=False)
    assert 5 * 2000 <= search.n_distances < 1.2 * 5 * 2000
    assert search.proves(moved, labels, 0.0) == (search.n_distances == 5 * 2000)
    before = search.n_distances
    search.assign(means[::-1].copy(), labels, keep_ties=False)
    assert search.n_distances == before + 5 * 2000
    exact = np.zeros(2000, np.int32)
    problem.assign(means[::-1].copy(), exact, keep_ties=False)
    np.testing.assert_array_equal(labels, exact)


def test_a_proof_needs_the_labels_and_a_margin() -> None:
    """Labels of the nearest centers are proven, but no others, and not against large errors."""
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    problem, centers = make_problem(X), np.array([[0.5], [9.5]])
    search, labels = PolishSearch(problem), np.zeros(4, np.int32)
    assert not search.proves(centers, labels, 0.0)  # before a pass nothing is known
    search.assign(centers, labels, keep_ties=False)
    assert labels.tolist() == [0, 0, 1, 1]
    assert search.proves(centers, labels, 1e-7)
    assert not search.proves(centers, labels[::-1].copy(), 1e-7)
    assert not search.proves(centers, labels, 0.5)
    assert search.proves(np.array([[4.0], [6.0]]), labels, 0.0)
    assert not search.proves(np.array([[4.6], [5.4]]), labels, 0.0)


@pytest.mark.parametrize("kind", [PolishSearch, NearestSearch])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("max_iter", [1, 3, 100])
def test_settled_partitions_do_not_depend_on_the_search(
    kind: type, dtype: str, max_iter: int
) -> None:
    """Labels, centers and inertia after the last look have the bits of a look at all rows."""
    X = make_groups(1, 3000, 8, 14)[0].astype(dtype)
    problem = make_problem(X)
    first = X[:14].astype(np.float64)
    search: NearestSearch | PolishSearch = PolishSearch(problem)
    if kind is NearestSearch:
        search = NearestSearch(problem, 14, 1.0, min_work=0)
    found = run_lloyd(problem, first, max_iter=max_iter, search=search)
    plain = run_lloyd(problem, first, max_iter=max_iter)
    np.testing.assert_array_equal(found.labels, plain.labels)
    assert (found.inertia, found.settled) == (plain.inertia, plain.settled)
    settled, expected = settle_labels(problem, found, search), settle_labels(problem, plain)
    np.testing.assert_array_equal(settled.labels, expected.labels)
    np.testing.assert_array_equal(settled.centers, expected.centers)
    assert settled.inertia == expected.inertia
    assert replace(settled, settled=False).settled != settled.settled
