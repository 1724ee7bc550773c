"""The optimum of real data lies between the lower bound and the best inertia."""

from __future__ import annotations

from projected_kmeans.paper.baselines.exact import solve_exactly
from projected_kmeans.paper.baselines.instances import draw_instance
from projected_kmeans.paper.experiments.data_sets import find_data_sets
from projected_kmeans.paper.experiments.optima import enclose_optimum, enclose_sketch

ROUNDING = 1e-9


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
