"""Labels of the nearest centers after a solver that ended early."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.settling import settle_labels
from tests.support.problems import make_problem


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


def test_a_converged_partition_stays() -> None:
    """What a further pass would not change is returned as it is, also if nobody says so."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    problem = make_problem(X)
    found = run_lloyd(problem, X[:5], max_iter=300)
    assert found.settled
    assert settle_labels(problem, found) is found
    again = settle_labels(problem, replace(found, settled=False))
    assert again.settled
    assert again.labels is found.labels
    assert again.inertia == found.inertia
