"""Labels of the nearest centers in the end, where a further step gains next to nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.passes.nearest import NearestSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import FitState
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.lloyd import Lloyd, run_lloyd
from projected_kmeans.search.settling import MAX_ROUNDS, MIN_GAIN, settle, settle_labels
from projected_kmeans.sources.open_rows import open_rows
from tests import reference
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem


def measure_gain(X: Any, labels: Any, inertia: float, k: int) -> float:
    """Return by which share the inertia falls if centers move to the means of the labels."""
    means = np.nan_to_num(reference.means(X, labels, k))
    gaps = X.astype(np.float64) - means[labels]
    return 1 - float(np.sum(gaps * gaps)) / inertia


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_get_their_nearest_centers(dtype: str) -> None:
    """The centers stay, labels are of the nearest ones, and the inertia is about these centers."""
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(dtype)
    problem = make_problem(X)
    found = run_lloyd(problem, X[:5].astype(np.float64), max_iter=1)
    settled = settle_labels(problem, found)
    np.testing.assert_array_equal(settled.centers.astype(dtype), found.centers.astype(dtype))
    squared = np.sum((X[:, None] - settled.centers) ** 2, axis=2)
    np.testing.assert_array_equal(settled.labels, np.argmin(squared, axis=1))
    assert not np.array_equal(settled.labels, found.labels)
    assert settled.inertia == pytest.approx(squared.min(axis=1).sum(), rel=1e-12)
    assert settled.inertia < found.inertia
    np.testing.assert_array_equal(settled.mass, np.bincount(settled.labels, minlength=5))
    assert settled.settled


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("max_iter", [3, 8, 300])
def test_a_further_step_gains_next_to_nothing(dtype: str, max_iter: int) -> None:
    """Centers move to the means, and rows to their nearest centers, until that gains too little."""
    X = draw_blobs(n=2000, d=6, k=14, gap=0.8)[0].astype(dtype)
    problem = make_problem(X)
    found = run_lloyd(problem, X[:14].astype(np.float64), max_iter=max_iter)
    told: list[FitState] = []
    run = Run(Monitor(lambda state: told.append(state) and False))
    settled = settle(problem, found, run, done=max_iter)
    np.testing.assert_array_equal(settled.labels, reference.nearest_center(X, settled.centers))
    squared = reference.own_distances(X, settled.centers, settled.labels)
    assert settled.inertia == pytest.approx(float(squared.sum()), rel=1e-10)
    assert settled.inertia <= found.inertia * (1 + 1e-7)
    rounds = [state.iteration for state in told]
    assert rounds == list(range(max_iter + 1, max_iter + 1 + len(rounds)))
    gain = measure_gain(X, settled.labels, settled.inertia, 14)
    assert gain <= MIN_GAIN or len(rounds) == MAX_ROUNDS - 1


def test_centers_stay_if_they_may_not_move() -> None:
    """Without moves only labels change."""
    X = draw_blobs(n=600, d=4, k=8, gap=0.8)[0]
    problem = make_problem(X)
    found = run_lloyd(problem, X[:8].copy(), max_iter=2)
    settled = settle(problem, found, Run(), moves=False)
    np.testing.assert_array_equal(settled.centers, found.centers)
    np.testing.assert_array_equal(settled.labels, reference.nearest_center(X, found.centers))


def test_a_stopped_run_is_settled_once() -> None:
    """A run that was asked to stop gets labels of the nearest centers, and no further step."""
    X = draw_blobs(n=600, d=4, k=8, gap=0.8)[0]
    problem = make_problem(X)
    found = run_lloyd(problem, X[:8].copy(), max_iter=2)
    run = Run(Monitor(lambda state: True))
    run.monitor.report(1)
    settled = settle(problem, found, run)
    np.testing.assert_array_equal(settled.centers, found.centers)
    np.testing.assert_array_equal(settled.labels, reference.nearest_center(X, found.centers))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("moves", [False, True])
def test_known_sums_follow_the_rows_that_move(dtype: str, offset: float, moves: bool) -> None:
    """With the sums of the partition, only rows that move are summed; the result is the same."""
    X = (np.random.default_rng(0).normal(size=(300, 3)) + offset).astype(dtype)
    problem = make_problem(X)
    lloyd = Lloyd(problem, X[:5].astype(np.float64), max_iter=1)
    assert lloyd.step()
    expected = settle(problem, lloyd.result(), Run(), moves=moves)
    settled = settle(problem, lloyd.result(), Run(), sums=lloyd.sums, moves=moves)
    np.testing.assert_array_equal(settled.labels, expected.labels)
    np.testing.assert_allclose(settled.centers, expected.centers, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(settled.mass, expected.mass)
    assert settled.inertia == pytest.approx(expected.inertia, rel=1e-12)


def test_a_converged_partition_stays() -> None:
    """What a further pass would not change is returned as it is, also if nobody says so."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    problem = make_problem(X)
    found = run_lloyd(problem, X[:5], max_iter=300)
    assert found.settled
    assert settle_labels(problem, found).labels is found.labels
    again = settle(problem, replace(found, settled=False), Run())
    assert again.settled
    assert again.labels is found.labels
    assert again.inertia == found.inertia


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("max_iter", [1, 3, 100])
def test_the_result_does_not_depend_on_the_search(dtype: str, max_iter: int) -> None:
    """Labels, centers and inertia have the bits of a look at all rows, bounds or not."""
    X = draw_blobs(n=3000, d=8, k=14, gap=3.0)[0].astype(dtype)
    problem, first = make_problem(X), X[:14].astype(np.float64)
    search = NearestSearch(problem, 14, min_work=0)
    search._choose_quantum(1.0)  # bounds begin with the first pass
    found = run_lloyd(problem, first, max_iter=max_iter, search=search)
    plain = run_lloyd(problem, first, max_iter=max_iter)
    np.testing.assert_array_equal(found.labels, plain.labels)
    settled = settle(problem, found, Run(), search=search)
    expected = settle(problem, plain, Run())
    np.testing.assert_array_equal(settled.labels, expected.labels)
    np.testing.assert_array_equal(settled.centers, expected.centers)
    assert settled.inertia == expected.inertia


def test_a_search_knows_of_a_pass_that_was_taken_back() -> None:
    """Bounds of a pass that did not lower the inertia do not mislead the last look at all rows."""
    stream = np.random.default_rng(0)
    X, labels = stream.normal(size=(500, 4)), np.sort(stream.integers(14, size=500))
    problem, labels = make_problem(X), labels.astype(np.int32)
    start = replace(problem.sum(labels, X[:14]).describe(labels), inertia=1e-9)
    search = NearestSearch(problem, 14, min_work=0)
    search._choose_quantum(1.0)  # bounds begin with the first pass
    lloyd = Lloyd(problem, start.centers, max_iter=5, start=start, search=search)
    assert not lloyd.step()
    found = lloyd.result()
    np.testing.assert_array_equal(found.labels, labels)
    expected = settle_labels(problem, found)
    assert not np.array_equal(expected.labels, labels)
    np.testing.assert_array_equal(settle_labels(problem, found, search).labels, expected.labels)


def test_of_equally_near_centers_the_lowest_wins() -> None:
    """A row between two centers gets the label that ``predict`` gives it, whatever it had."""
    X = np.array([[0.0], [2.0], [1.0]])
    problem = make_problem(X)
    found = problem.sum(np.array([0, 1, 1], np.int32), X[:2]).describe(
        np.array([0, 1, 1], np.int32)
    )
    tied = replace(found, centers=np.array([[0.0], [2.0]]), inertia=1.0)
    settled = settle_labels(problem, tied)
    np.testing.assert_array_equal(settled.labels, [0, 1, 0])
    assert settled.inertia == 1.0


def test_clusters_that_lose_all_rows_get_others() -> None:
    """Two centers in one place leave one cluster empty; it gets the row that is farthest away."""
    X = np.array([[0.0], [0.1], [5.0], [9.0]])
    problem = make_problem(X)
    labels = np.array([0, 1, 2, 2], np.int32)
    found = problem.sum(labels, X[:3]).describe(labels)
    stacked = replace(found, centers=np.array([[0.05], [0.05], [7.0]]))
    assert settle_labels(problem, stacked).mass.tolist() == [2.0, 0.0, 2.0]
    for moves in (False, True):
        filled = settle(problem, stacked, Run(), moves=moves)
        assert filled.mass.min() == 1.0
        assert filled.inertia == pytest.approx(0.005)
        squared = (X - filled.centers.T) ** 2
        np.testing.assert_array_equal(filled.labels, np.argmin(squared, axis=1))


@pytest.mark.parametrize("moves", [False, True])
def test_stored_rows_give_the_bits_of_memory(moves: bool, tmp_path: Path) -> None:
    """Rows in a file are summed as they are labelled, to the same bits."""
    X = draw_blobs(n=600, d=4, k=8, gap=0.8)[0]
    np.save(tmp_path / "rows.npy", X)
    stored = StoredBlocks(open_rows(tmp_path / "rows.npy"))
    problems = [make_problem(X), Problem(stored, scan_columns(stored))]
    found = run_lloyd(problems[0], X[:8].copy(), max_iter=2)
    settled = [settle(problem, found, Run(), moves=moves) for problem in problems]
    np.testing.assert_array_equal(np.asarray(settled[1].labels), settled[0].labels)
    assert settled[1].centers.tobytes() == settled[0].centers.tobytes()
    assert settled[1].inertia == settled[0].inertia


def test_centers_of_length_one_are_settled() -> None:
    """Rows of length one get the nearest of centers of length one, and their true inertia."""
    X = draw_blobs(n=600, d=4, k=8, gap=0.8)[0]
    unit = UnitRows(make_problem(X).source)
    problem = Problem(unit, unit.bound(make_problem(X).ranges), spherical=True)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = run_lloyd(problem, rows[:8].copy(), max_iter=2)
    settled = settle(problem, found, Run())
    np.testing.assert_allclose(np.linalg.norm(settled.centers, axis=1), 1.0)
    squared = reference.squared_distances(rows, settled.centers).astype(float)
    np.testing.assert_array_equal(settled.labels, squared.argmin(axis=0))
    assert settled.inertia == pytest.approx(squared.min(axis=0).sum(), rel=1e-10)


@pytest.mark.parametrize(
    ("k", "options"),
    [
        (40, {}),
        (200, {}),
        (40, {"projection": None}),
        (200, {"projection": None}),
        (40, {"init": "random", "projection": "sign"}),
    ],
)
def test_a_fit_ends_where_a_step_gains_nothing(k: int, options: dict[str, Any]) -> None:
    """One mean step after a fit lowers its inertia by next to nothing; labels are predictions."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(5000, 150)) @ np.diag(np.linspace(3, 0.5, 150))
    X = (X + 2 * stream.normal(size=(k, 150))[stream.integers(k, size=5000)]).astype(np.float32)
    model = ProjectedKMeans(k, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert measure_gain(X, model.labels_, model.inertia_, k) <= MIN_GAIN < 1e-3
