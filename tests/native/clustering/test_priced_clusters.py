"""The best and the second best cluster of every row at given prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from projected_kmeans import _native
from tests import reference


def choose(distances: Any, prices: Any, n_threads: int = 1) -> tuple[Any, ...]:
    """Return what the kernel finds."""
    n_rows = len(distances)
    labels, seconds = np.empty((2, n_rows), np.int32)
    least, following = np.empty((2, n_rows), distances.dtype)
    _native.priced_clusters(distances, prices, labels, seconds, least, following, n_threads)
    return labels, seconds, least, following


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "k"), [(0, 3), (1, 1), (40, 1), (7, 2), (300, 17), (90, 200)])
def test_it_is_the_twins(dtype: Any, n_rows: int, k: int) -> None:
    """Labels and costs are those of the twin to the bit, on any number of threads."""
    stream = np.random.default_rng(n_rows + k)
    distances = stream.exponential(size=(n_rows, k)).astype(dtype)
    prices = stream.normal(size=k).astype(dtype)
    expected = reference.priced_clusters(distances, prices)
    for n_threads in (1, 3):
        for found, wanted in zip(choose(distances, prices, n_threads), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_the_lower_of_equal_clusters_comes_first() -> None:
    """Of equal costs the first is the label, and the first of the others is the second."""
    distances = np.array([[3.0, 3.0, 1.0, 1.0], [2.0, 3.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    labels, seconds, *_ = choose(distances, np.zeros(4))
    assert (labels.tolist(), seconds.tolist()) == ([2, 0, 0], [3, 2, 1])


def test_one_cluster_has_no_second() -> None:
    """With one cluster the second is 0 and costs infinity."""
    _, seconds, least, following = choose(np.array([[2.0]]), np.array([1.5]))
    assert (seconds[0], least[0], following[0]) == (0, 3.5, np.inf)
