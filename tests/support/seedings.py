"""Rows and checks for everything that draws first centers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from tests import reference

ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [4.0, 3.0], [10.0, 1.0]])


def assert_distribution(counts: NDArray[Any], chances: NDArray[Any]) -> None:
    """Check counts against chances by a chi-square test with failure probability 1e-6."""
    assert not counts[chances == 0].any()
    order = np.argsort(chances, axis=None)
    counts, chances = counts.ravel()[order], chances.ravel()[order]
    expected = chances / chances.sum() * counts.sum()
    rare = max(1, int(np.searchsorted(np.cumsum(expected), 5, side="right")) + 1)
    counts, expected = (np.append(t[:rare].sum(), t[rare:]) for t in (counts, expected))
    assert scipy.stats.chisquare(counts, expected).pvalue > 1e-6


def seed_inertia(X: Any, chosen: Any) -> float:
    """Return the sum of squared distances to the nearest of the chosen rows."""
    return float(np.sum(reference.lower_distances(X, X[chosen], np.inf)))
