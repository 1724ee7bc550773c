"""The sample that principal directions are found from: its size, and which rows are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.projections.direction_sample import (
    LOSS_ROWS,
    count_sample_rows,
    draw_direction_sample,
)


@pytest.mark.parametrize(
    ("n_rows", "n_directions", "expected"),
    [(90_000, 64, 5120), (90_000, 2, 5000), (10_000, 2, 5000), (9_999, 2, 9_999), (10, 2, 10)],
)
def test_the_sample_has_80_rows_a_direction(n_rows: int, n_directions: int, expected: int) -> None:
    """80 rows a direction and at least 5,000; all rows if that is more than half of them."""
    assert count_sample_rows(n_rows, n_directions) == expected


def test_rows_are_drawn_once() -> None:
    """Without weights no row is drawn twice, and none is both learnt from and measured."""
    sample = draw_direction_sample(5000, 2000, None, key=1)
    assert sample.learnt is not None
    assert sample.left_out is not None
    assert (len(sample.learnt), len(sample.left_out)) == (2000, LOSS_ROWS)
    assert (np.diff(sample.learnt) > 0).all()
    assert not set(sample.learnt) & set(sample.left_out)


def test_all_rows_are_learnt_from() -> None:
    """If as many rows are wanted as there are, all are learnt from and some are measured."""
    sample = draw_direction_sample(5000, 5000, None, key=1)
    assert sample.learnt is None
    assert sample.left_out is not None
    assert len(sample.left_out) == LOSS_ROWS
    assert draw_direction_sample(1000, 1000, None, key=1) == (None, None)


def test_rows_without_weight_are_not_drawn() -> None:
    """Rows are drawn by weight; if the sample has all rows of weight, all rows are measured."""
    weights = np.arange(3000) % 2.0
    sample = draw_direction_sample(3000, 1000, weights, key=1)
    assert sample.learnt is not None
    assert sample.left_out is not None
    assert (sample.learnt % 2 == 1).all()
    assert (sample.left_out % 2 == 1).all()
    single = np.zeros(3000)
    single[7] = 1.0
    sample = draw_direction_sample(3000, 5, single, key=1)
    assert sample.learnt is not None
    assert sample.learnt.tolist() == [7] * 5
    assert sample.left_out is None
