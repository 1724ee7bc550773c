"""A problem: rows with their ranges, weights and threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.problems import make_problem


def test_a_problem_assigns_and_sums() -> None:
    """A problem's two passes use its rows, weights and ranges."""
    X = np.array([[0.0], [1.0], [10.0]])
    problem = make_problem(X, np.array([1.0, 3.0, 2.0]))
    labels = np.zeros(3, np.int32)
    distances = problem.assign(np.array([[0.0], [9.0]]), labels, keep_ties=False).nearest
    np.testing.assert_array_equal(distances, [0, 1, 1])
    moments = problem.sum(labels, np.array([[0.0], [9.0]]))
    np.testing.assert_array_equal(moments.means, [[0.75], [10.0]])
    np.testing.assert_array_equal(moments.mass, [4, 2])


def test_the_mean_variance_counts_weights() -> None:
    """The variance is that of the weighted rows, the mean over columns."""
    X, weights = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30.0)
    problem = make_problem(X, weights)
    mean = np.average(X, axis=0, weights=weights)
    expected = np.mean(np.average((X - mean) ** 2, axis=0, weights=weights))
    assert problem.mean_variance == pytest.approx(expected, rel=1e-12)
