"""Arrays from a checkpoint are used only if kernels can rely on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from projected_kmeans.passes.stored_partitions import are_labels, are_lists, is_partition
from projected_kmeans.results import Clustering

GOOD = Clustering(np.array([0, 1, 1], np.int32), np.zeros((2, 4)), np.ones(2), 1.5, 9.0, 1, True)


def test_a_partition_of_the_rows_is_taken() -> None:
    """A partition with the right shapes and ranges is usable."""
    assert is_partition(GOOD, (3, 4), 2)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.array([0, 1, 2], np.int32)},
        {"labels": np.array([0, -1, 1], np.int32)},
        {"labels": np.array([0, 1], np.int32)},
        {"labels": np.array([[0, 1, 1]], np.int32)},
        {"centers": np.zeros((2, 3))},
        {"centers": np.full((2, 4), np.nan)},
        {"mass": np.ones(3)},
        {"inertia": -1.0},
        {"inertia": np.inf},
        {"sum_of_squares": np.nan},
        {"n_iter": -1},
        {"history": (1.0, np.nan)},
    ],
)
def test_anything_else_is_refused(change: dict[str, Any]) -> None:
    """Each wrong shape, number or label is noticed."""
    assert not is_partition(replace(GOOD, **change), (3, 4), 2)


def test_no_labels_are_in_range() -> None:
    """An empty array of labels has no label out of range."""
    assert are_labels(np.empty(0, np.int32), (0,), 1)


def test_lists_name_different_clusters() -> None:
    """A cluster lists no cluster twice, and there may be no lists at all."""
    assert are_lists(np.empty((0, 0), np.int64), 2)
    assert are_lists(np.array([[0, 1], [1, 0]]), 2)
    assert not are_lists(np.array([[0, 0], [1, 0]]), 2)
    assert not are_lists(np.array([[0, 1]]), 2)
