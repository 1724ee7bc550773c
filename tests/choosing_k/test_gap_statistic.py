"""The gap statistic: which rows it is measured on, and what it says of known rows."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.choosing_k.gap_statistic import N_REFERENCES, draw_sample, measure_gap
from projected_kmeans.choosing_k.sweep import sweep_counts
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem


def test_few_rows_are_not_sampled() -> None:
    """Up to 2,048 rows, or 20 a cluster, the statistic is measured on all rows."""
    few, more = make_problem(np.zeros((2048, 2))), make_problem(np.zeros((2200, 2)))
    assert draw_sample(few, 10, 0) is few
    assert draw_sample(more, 110, 0) is more
    assert draw_sample(more, 109, 0).source.shape == (2180, 2)


def test_a_sample_is_drawn_by_weight() -> None:
    """Rows of weight 0 are never drawn, and drawn rows have no weights: each counts once."""
    X = np.arange(5000.0)[:, None]
    weights = np.where(X[:, 0] < 2500, 0.0, 3.0)
    sample = draw_sample(make_problem(X, weights), 2, 0)
    assert sample.source.shape == (2048, 1)
    assert sample.weights is None
    assert sample.source.select().min() >= 2500


def test_blobs_have_a_gap_and_a_box_has_none() -> None:
    """Three blobs have a gap of many standard errors at 3; uniform rows in a box have about 0."""
    blobs = make_problem(draw_blobs(0, n=150, d=4, k=3, gap=4.0)[0])
    box = make_problem(np.random.default_rng(0).random((150, 4)))
    calls: list[None] = []
    gaps = []
    for problem in (blobs, box):
        found = sweep_counts(problem, [1, 2, 3], 0, 0)
        gaps.append(measure_gap(problem, found, 0, lambda: calls.append(None)))
    assert len(calls) == 2 * N_REFERENCES
    assert [gap.values[0] for gap in gaps] == pytest.approx([0, 0], abs=1e-12)
    assert gaps[0].values[2] > 10 * gaps[0].errors[2]
    # 5 standard errors of the difference of one sweep and the mean of eight.
    assert abs(gaps[1].values[2]) < 5 * gaps[1].errors[2]
