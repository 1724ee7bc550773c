"""Passes that set far rows aside: exact selection, and what the result satisfies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.solvers.trimming import keep_near, run_trimmed

STREAM = np.random.default_rng(0)
ROWS = STREAM.normal(size=(200, 4)) + 9 * np.eye(3, 4)[STREAM.integers(3, size=200)]


@pytest.mark.parametrize("share", [0.0, 0.004, 0.29, 0.5])
def test_the_selection_is_that_of_a_sort(share: float) -> None:
    """Exactly the farthest rows are set aside, as many as the share allows, later rows first."""
    squared = STREAM.integers(5, size=100).astype(np.float64)  # many ties
    kept = keep_near(squared, None, share)
    far = sorted(range(100), key=lambda row: (-squared[row], -row))[: round(share * 100 - 0.001)]
    assert np.flatnonzero(~kept).tolist() == sorted(far)
    weights = STREAM.random(100)
    set_aside = ~keep_near(squared, weights, share)
    assert weights[set_aside].sum() <= share * weights.sum() * (1 + 1e-9)
    assert squared[set_aside].min(initial=9) >= squared[~set_aside].max()


def test_passes_end_at_means_of_kept_rows() -> None:
    """Centers are the means of kept rows, labels the nearest centers, inertia that of kept rows."""
    source = ArrayBlocks(ROWS)
    problem = Problem(source, scan_columns(source))
    found, kept, distance = run_trimmed(problem, ROWS[:3].copy(), 0.1, 50)
    squared = ((ROWS[:, None] - found.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.labels, squared.argmin(axis=1))
    assert np.count_nonzero(~kept) == 20
    nearest = squared.min(axis=1)
    assert nearest[kept].max() <= nearest[~kept].min()
    assert distance == pytest.approx(np.sqrt(nearest[kept].max()))
    assert found.inertia == pytest.approx(nearest[kept].sum())
    for cluster in range(3):
        inside = kept & (found.labels == cluster)
        np.testing.assert_allclose(found.centers[cluster], ROWS[inside].mean(axis=0))


def test_more_passes_never_raise_the_inertia() -> None:
    """Each further pass ends at an inertia that is at most that of the pass before."""
    source = ArrayBlocks(ROWS)
    problem = Problem(source, scan_columns(source))
    ends = [run_trimmed(problem, ROWS[:3].copy(), 0.1, n).found.inertia for n in range(8)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(ends))
