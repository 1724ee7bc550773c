"""The exact solver finds the optimum of small instances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from projected_kmeans import inertia
from projected_kmeans.paper import solve_exactly
from projected_kmeans.search.paper_solvers import MAX_ROWS
from tests.support.normal_rows import draw_normal_rows


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_exact_solver_against_enumeration(n_clusters: int) -> None:
    """The exact solver finds the minimum inertia among all labellings of six rows."""
    for path in range(2):
        rows = draw_normal_rows(6, 3, path)
        every = product(range(n_clusters), repeat=5)
        minimum = min(inertia(rows, [0, *labels]) for labels in every)
        found = solve_exactly(rows, n_clusters)
        assert found.inertia == pytest.approx(minimum, rel=1e-12)
        assert inertia(rows, found.labels) == pytest.approx(found.inertia, rel=1e-12)


def test_exact_solver_with_repeated_rows() -> None:
    """Where rows repeat, the optimum is zero and clusters may stay empty."""
    found = solve_exactly([[1.0], [1.0], [2.0]], 3)
    assert found.inertia == 0
    assert found.centers.shape == (3, 1)


def test_exact_solver_with_an_offset() -> None:
    """A large common offset does not change the optimal partition."""
    rows = draw_normal_rows(10, 2, 9)
    np.testing.assert_array_equal(
        solve_exactly(rows, 3).labels, solve_exactly(rows + 1e5, 3).labels
    )


def test_exact_solver_refuses_many_rows() -> None:
    """Too many rows, and more clusters than rows, give one sentence each."""
    with pytest.raises(ValueError, match="too many for the exact solver; use at most 15 rows"):
        solve_exactly(np.zeros((MAX_ROWS + 1, 2)), 2)
    with pytest.raises(ValueError, match="n_clusters=4 exceeds n_samples=3"):
        solve_exactly(np.zeros((3, 2)), 4)
