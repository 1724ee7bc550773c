"""The Fisher score agrees with an independent computation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.paper import (
    FisherScore,
)
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.normal_rows import draw_normal_rows


def test_fisher_score_on_real_images(find_data: Callable[[str], Path]) -> None:
    """On COIL20 the Fisher score agrees with an independent computation to 1e-10."""
    matrix = read_matrix(find_data("COIL20.mat"))
    rows = matrix.rows.astype(np.float64)
    between, within = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for one in np.unique(matrix.labels):
        members = rows[matrix.labels == one]
        between += len(members) * (members.mean(axis=0) - rows.mean(axis=0)) ** 2
        within += len(members) * members.var(axis=0)
    wanted = np.divide(between, within, out=np.zeros_like(between), where=within > 0)
    found = FisherScore().fit(rows, matrix.labels).scores_
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_constant_columns_come_last() -> None:
    """A constant column scores zero, and no warning is given."""
    rows = draw_normal_rows(30, 3)
    rows[:, 1] = 4.0
    classes = (rows[:, 0] > 0).astype(int)
    assert FisherScore(1).fit(rows, classes).scores_[1] == 0


def test_useless_classes_are_refused() -> None:
    """A single class, and a class for every row, give one sentence each."""
    rows = draw_normal_rows(8, 3)
    with pytest.raises(ValueError, match="y holds one class"):
        FisherScore(1).fit(rows, np.zeros(8, dtype=int))
    with pytest.raises(ValueError, match="a class of its own"):
        FisherScore(1).fit(rows, np.arange(8))
