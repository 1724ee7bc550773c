"""Near centers: exact where all are compared, and nearly exact where only near groups are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.passes.center_graph import (
    MAX_UNGROUPED,
    find_middles,
    find_neighbours,
    group_centers,
    list_near_groups,
)
from projected_kmeans.passes.frame import Frame
from tests import reference


def compare_all(centers: NDArray[Any], n_neighbours: int) -> NDArray[Any]:
    """Return the nearest centers of every center, by comparing all with all."""
    gaps = np.sum(centers * centers, axis=1)[:, None] - 2 * centers @ centers.T
    gaps += np.sum(centers * centers, axis=1)
    np.fill_diagonal(gaps, -1)
    return np.argsort(gaps, axis=1, kind="stable")[:, :n_neighbours]


def draw_bunches(n_bunches: int, size: int, d: int = 4) -> NDArray[np.float64]:
    """Return centers in bunches that overlap a little."""
    stream = np.random.default_rng(3)
    middles = np.repeat(5 * stream.normal(size=(n_bunches, d)), size, axis=0)
    return middles + stream.normal(size=middles.shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_neighbours_of_few_centers_are_the_nearest(dtype: str, n_threads: int) -> None:
    """Up to 1,024 centers the lists are those of a full comparison, lower indices first."""
    centers = np.random.default_rng(1).integers(0, 9, size=(40, 6)).astype(float)
    found = find_neighbours(Frame.around(centers, np.dtype(dtype)), 12, n_threads)
    everyone = [np.arange(40)]
    expected = reference.center_neighbours(centers, everyone, np.zeros(40, int), 12)
    np.testing.assert_array_equal(found, expected)


def test_as_many_neighbours_as_centers() -> None:
    """No center has more neighbours than there are centers, and each is its own first."""
    frame = Frame.around(np.arange(5.0)[:, None], np.dtype(np.float64))
    found = find_neighbours(frame, 64)
    np.testing.assert_array_equal(found[:, 0], np.arange(5))
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(5), (5, 1)))


def test_all_are_compared_up_to_the_limit() -> None:
    """With as many centers as are compared at once, every list is exact."""
    centers = draw_bunches(MAX_UNGROUPED // 16, 16)
    assert len(centers) == MAX_UNGROUPED
    found = find_neighbours(Frame.around(centers, np.dtype(np.float64)), 8)
    np.testing.assert_array_equal(found, compare_all(centers, 8))


@pytest.mark.parametrize(("n_bunches", "d"), [(60, 4), (300, 30)])
def test_most_neighbours_of_many_centers_are_found_in_near_groups(n_bunches: int, d: int) -> None:
    """Beyond 1,024 centers most of the nearest are found, and each center is its own first."""
    centers = draw_bunches(n_bunches, 30, d)
    assert len(centers) > MAX_UNGROUPED
    found = find_neighbours(Frame.around(centers, np.dtype(np.float32)), 8)
    np.testing.assert_array_equal(found[:, 0], np.arange(len(centers)))
    expected = compare_all(centers, 8)
    shared = [len(set(a) & set(b)) / 8 for a, b in zip(found, expected, strict=True)]
    assert np.mean(shared) > 0.9


def test_threads_change_no_list() -> None:
    """Groups and lists have the same bits for any number of threads."""
    centers = draw_bunches(60, 30)
    frame = Frame.around(centers, np.dtype(np.float32))
    one = find_neighbours(frame, 8, 1)
    np.testing.assert_array_equal(find_neighbours(frame, 8, 3), one)


@pytest.mark.parametrize("n_groups", [1, 7, 50])
def test_no_group_is_empty(n_groups: int) -> None:
    """Groups are numbered from 0 without gaps, also where many points are equal."""
    points = draw_bunches(30, 10).astype(np.float32)
    points[50:120] = points[50]
    groups = group_centers(points, n_groups)
    assert len(groups) == 300
    assert 1 <= len(np.unique(groups)) <= n_groups
    np.testing.assert_array_equal(np.unique(groups), np.arange(groups.max() + 1))


def test_middles_are_means_of_groups() -> None:
    """The middle of a group is the mean of its centers, in the units of the rows."""
    centers = 1e3 + draw_bunches(10, 10)
    frame = Frame.around(centers, np.dtype(np.float64))
    groups = group_centers(frame.centers, 7)
    middles = find_middles(frame, groups)
    expected = reference.means(centers, groups, int(groups.max()) + 1)
    np.testing.assert_allclose(middles, expected, rtol=1e-12)


def test_lists_hold_whole_groups_the_nearest_first() -> None:
    """A group lists its own centers, then those of the next groups, until there are enough."""
    centers = np.arange(12.0)[:, None] * 10
    frame = Frame.around(centers, np.dtype(np.float64))
    groups = np.repeat(np.arange(4), 3).astype(np.int32)
    lists = list_near_groups(frame, groups, 2, n_searched_centers=4)
    parts = [part.tolist() for part in np.split(lists.members, lists.starts[1:-1])]
    assert parts[0] == [0, 1, 2, 3, 4, 5]
    assert parts[3] == [9, 10, 11, 6, 7, 8]
    assert all(set(part) >= set(range(3 * i, 3 * i + 3)) for i, part in enumerate(parts))
    everything = list_near_groups(frame, groups, 2)
    assert [len(part) for part in np.split(everything.members, everything.starts[1:-1])] == [12] * 4
