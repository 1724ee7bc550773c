"""Near centers: exact where few cells are searched, and close to exact where many are left out."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.passes.center_graph import find_neighbours
from projected_kmeans.passes.frame import Frame
from tests import reference


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours_are_the_nearest_if_all_cells_are_searched(dtype: str) -> None:
    """With few centers all cells are searched, and the lists are those of a full comparison."""
    stream = np.random.default_rng(1)
    centers = stream.integers(0, 9, size=(40, 6)).astype(float)
    cells = stream.integers(3, 9, size=40).astype(np.int32)  # some numbers are not in use
    frame = Frame.around(centers, np.dtype(dtype))
    for n_threads in (1, 3):
        found = find_neighbours(frame, cells, 12, n_threads)
        everyone = [np.arange(40)]
        expected = reference.center_neighbours(centers, everyone, np.zeros(40, int), 12)
        np.testing.assert_array_equal(found, expected)


def test_as_many_neighbours_as_centers() -> None:
    """No center has more neighbours than there are centers, and each is its own first."""
    frame = Frame.around(np.arange(5.0)[:, None], np.dtype(np.float64))
    found = find_neighbours(frame, np.array([0, 0, 1, 1, 2], np.int32), 64)
    np.testing.assert_array_equal(found[:, 0], np.arange(5))
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(5), (5, 1)))


def test_most_neighbours_are_found_in_near_cells() -> None:
    """With many cells, most of the nearest centers are found without looking at all centers."""
    stream = np.random.default_rng(3)
    middles = 5 * stream.normal(size=(60, 4))
    cells = np.repeat(np.arange(60, dtype=np.int32), 20)
    centers = middles[cells] + stream.normal(size=(1200, 4))
    frame = Frame.around(centers, np.dtype(np.float32))
    found = find_neighbours(frame, cells, 8)
    expected = reference.center_neighbours(centers, [np.arange(1200)], np.zeros(1200, int), 8)
    shared = [len(set(a) & set(b)) / 8 for a, b in zip(found, expected, strict=True)]
    assert np.mean(shared) > 0.9
