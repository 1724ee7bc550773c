"""Which rows go to clusters that a pass left empty."""

from __future__ import annotations

import numpy as np

from projected_kmeans.solvers.empty_clusters import choose_refills
from tests.support.problems import make_problem


def test_the_farthest_rows_that_differ_are_taken() -> None:
    """Equal rows are taken once, and a row never leaves a cluster without other rows."""
    X = np.array([[0.0], [1.0], [9.0], [9.0], [50.0]])
    problem, centers = make_problem(X), np.array([[0.0], [90.0], [80.0], [20.0]])
    labels = np.array([0, 0, 0, 0, 3], np.int32)
    rows, targets = choose_refills(problem, problem.sum(labels, centers), centers, labels)
    np.testing.assert_array_equal(rows, [1, 2])  # row 4 is alone, and row 3 equals row 2
    np.testing.assert_array_equal(targets, [2, 1])
