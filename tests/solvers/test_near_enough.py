"""How many centers around its own a row has to meet."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.solvers.near_enough import count_enough
from tests.support.problems import make_problem


@pytest.mark.parametrize(("spread", "expected"), [(0.05, 16), (3.0, 0)])
def test_clear_clusters_need_few_centers(spread: float, expected: int) -> None:
    """Rows around their centers meet 16; of rows of noise too many miss their nearest center."""
    stream = np.random.default_rng(0)
    centers = stream.normal(size=(200, 20))
    labels = stream.integers(200, size=3000).astype(np.int32)
    X = centers[labels] + spread * stream.normal(size=(3000, 20))
    gaps = ((centers[:, None] - centers) ** 2).sum(axis=2)
    near = np.argsort(gaps, axis=1, kind="stable")[:, :64].astype(np.int32)
    problem = make_problem(X)
    assert count_enough(problem, centers, labels, near) == expected
    assert count_enough(problem, centers, labels, near[:, :8]) == min(expected, 8)
