"""The optimum of small instances is exact, and that of real data lies between its bounds."""

from __future__ import annotations

import numpy as np

from projected_kmeans.paper.data_sets import find_data_sets
from projected_kmeans.paper.known_optima import (
    FAMILIES,
    draw_instance,
    enclose_optimum,
    enclose_sketch,
    solve_exactly,
)
from projected_kmeans.search.paper_solvers import find_optimum
from tests.support.problems import make_problem

ROUNDING = 1e-9


def test_instances_are_values_of_their_key() -> None:
    """An instance depends on key and index alone, and all families take turns."""
    first, again = draw_instance(1, 4), draw_instance(1, 4)
    np.testing.assert_array_equal(first.rows, again.rows)
    assert {draw_instance(1, index).family for index in range(6)} == set(FAMILIES)
    assert {draw_instance(1, index).n_clusters for index in range(12)} == {2, 3}


def test_small_instances_are_solved_exactly() -> None:
    """The optimum has the labels and the inertia that the search over all partitions finds."""
    for index in range(12):
        instance = draw_instance(5, index)
        best = find_optimum(make_problem(instance.rows), instance.n_clusters)
        solution = solve_exactly(instance.rows, instance.n_clusters)
        np.testing.assert_array_equal(solution.labels, best.labels)
        assert solution.inertia == best.inertia


def test_the_enclosure_holds_the_optimum() -> None:
    """On small instances the exact optimum lies inside the enclosure."""
    for index in range(12):
        instance = draw_instance(5, index)
        best = solve_exactly(instance.rows, instance.n_clusters).inertia
        found = enclose_sketch(instance.rows, instance.n_clusters, 0)
        assert found["lower_bound"] <= best * (1 + ROUNDING)
        assert best <= found["inertia"] * (1 + ROUNDING)


def test_iris_is_known_to_a_millionth() -> None:
    """The best inertia of iris with three clusters is 78.85144, and it is proven."""
    (iris,) = find_data_sets(["iris"], None).sets
    found = enclose_optimum(iris, 0)
    assert round(found["inertia"], 5) == 78.85144
    assert 1 <= found["ratio"] < 1 + 1e-6
