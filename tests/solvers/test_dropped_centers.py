"""The cost of dropping a center, by trying all of them, and the choice of spare ones."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.solvers.dropped_centers import find_spare_centers, measure_drop_costs
from tests import reference
from tests.support.problems import make_problem


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_are_what_the_inertia_rises_by(dtype: str, weighted: bool) -> None:
    """The cost of a center is the inertia without it, less the inertia with it."""
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
    costs = measure_drop_costs(make_problem(X, weights), centers)
    np.testing.assert_allclose(costs, np.array(left) - whole, rtol=1e-4, atol=1e-2)
    spare = find_spare_centers(make_problem(X, weights), centers, 1)
    assert spare.tolist() == [int(np.argmin(left))]


def test_neighbours_are_not_spared_together() -> None:
    """Of two centers in one cluster only one is spare, though both would cost least."""
    X = np.repeat([[0.0], [0.1], [50.0], [54.0], [90.0]], 10, axis=0)
    centers = np.array([[0.0], [0.1], [50.0], [54.0], [90.0]])
    spare = find_spare_centers(make_problem(X), centers, 2)
    assert set(spare.tolist()) in ({0, 2}, {0, 3}, {1, 2}, {1, 3})
