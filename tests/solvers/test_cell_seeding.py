"""Seeding by cells: which rows are chosen, and in which cells they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.solvers.cell_seeding import CellSeeds, count_cells, seed_by_cells
from projected_kmeans.solvers.seeding import seed_centers
from tests.support.problems import make_problem


def draw_rows(n: int = 2000, d: int = 8) -> NDArray[Any]:
    """Return rows of a normal distribution."""
    return np.random.default_rng(4).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("n_held", [2000, 700])
def test_seeds_are_distinct_rows_in_their_cells(n_held: int) -> None:
    """Every center is another row, its cell is that of the row, and cells follow each other."""
    X = draw_rows()
    seeds = seed_by_cells(make_problem(X), 100, n_held, 3)
    assert seeds.centers.shape == (100, 8)
    rows = [int(np.flatnonzero((center == X).all(axis=1))[0]) for center in seeds.centers]
    assert len(set(rows)) == 100
    np.testing.assert_array_equal(seeds.rows[rows], seeds.cells)
    assert (np.diff(seeds.cells) >= 0).all()
    assert len(np.unique(seeds.cells)) == count_cells(100) == 16


def test_seeds_depend_on_key_and_restart_only() -> None:
    """Threads and blocks change nothing, another key or restart does."""
    X = draw_rows()
    first = seed_by_cells(make_problem(X), 90, 1500, 3)
    for problem in (make_problem(X, n_threads=2), make_problem(X, block_rows=13)):
        again = seed_by_cells(problem, 90, 1500, 3)
        assert again.centers.tobytes() == first.centers.tobytes()
        np.testing.assert_array_equal(again.rows, first.rows)
    for key, restart in ((4, 0), (3, 1)):
        other = seed_by_cells(make_problem(X), 90, 1500, key, restart)
        assert other.centers.tobytes() != first.centers.tobytes()


def test_rows_without_weight_are_not_chosen() -> None:
    """A row of weight zero never becomes a center while others are left."""
    X = draw_rows()
    weights = (np.arange(2000) % 4 == 0).astype(float)
    for n_held in (2000, 300):
        seeds = seed_by_cells(make_problem(X, weights), 60, n_held, 3)
        for center in seeds.centers:
            assert weights[(center == X).all(axis=1)].all()


def test_all_distinct_rows_are_chosen_and_some_repeat() -> None:
    """If there are fewer distinct rows than clusters, all are chosen, and the rest repeats them."""
    X = np.repeat(draw_rows(n=10), 6, axis=0)
    seeds = seed_by_cells(make_problem(X), 25, 60, 3)
    assert len(np.unique(seeds.centers, axis=0)) == 10
    assert seeds.centers.shape == (25, 8)
    assert (np.diff(seeds.cells) >= 0).all()


def test_far_rows_are_chosen_as_greedy_seeding_would() -> None:
    """With heavy tails, cells spend their centers where the potential is, as seeding of all does.

    The mean inertia after seeding over five keys differs by less than 10 %; its relative standard
    deviation is about 2 %, so a failure by chance is below one in a million.
    """
    stream = np.random.default_rng(0)
    X = stream.normal(size=(3000, 5)) / np.sqrt(stream.chisquare(2, size=(3000, 1)) / 2)
    problem = make_problem(X)
    found, whole = [], []
    for key in range(5):
        labels = np.zeros(len(X), np.int32)
        centers = seed_by_cells(problem, 150, 3000, key).centers
        found.append(problem.assign(centers, labels, keep_ties=False).nearest.sum())
        centers = seed_centers("k-means++", problem, 150, np.random.default_rng(key))
        whole.append(problem.assign(centers, labels, keep_ties=False).nearest.sum())
    assert np.mean(found) < 1.1 * np.mean(whole)


def test_a_cell_without_centers_lists_those_of_another() -> None:
    """Every cell has a list, so that each of its rows gets a label."""
    cells, rows = np.array([1, 1, 3], np.int32), np.array([0, 1, 2, 3, 4], np.int32)
    lists = CellSeeds(np.zeros((3, 2)), cells, rows).list_cells()
    parts = np.split(lists.members, lists.starts[1:-1])
    assert [part.tolist() for part in parts] == [[0, 1], [0, 1], [2], [2], [2]]
