"""Passes among listed centers: labels are exact among them, whatever rows, blocks and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_kmeans.passes.problem import CenterLists
from tests import reference
from tests.support.layouts import seeds, types
from tests.support.problems import make_problem


def draw(seed: int, n: int, d: int, k: int, dtype: str) -> tuple[Any, Any, Any, list[Any], Any]:
    """Return small integers as rows and centers, labels, a list for each group, and groups."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 5, size=(n, d)).astype(dtype)
    centers = stream.integers(0, 5, size=(k, d)).astype(float)
    n_groups = int(stream.integers(1, 5))
    lists = [stream.permutation(k)[: stream.integers(1, k + 1)] for _ in range(n_groups)]
    groups = stream.integers(n_groups, size=n).astype(np.int32)
    return X, centers, stream.integers(k, size=n).astype(np.int32), lists, groups


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 700),
    d=st.integers(1, 40),
    k=st.integers(1, 90),
    dtype=types,
    n_threads=st.integers(1, 3),
    block_rows=st.integers(1, 800),
)
def test_labels_are_those_of_the_twin(
    seed: int, n: int, d: int, k: int, dtype: str, n_threads: int, block_rows: int
) -> None:
    """Every row gets the nearest center of its group's list; its present one among equals."""
    X, centers, labels, lists, groups = draw(seed, n, d, k, dtype)
    problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
    found = labels.copy()
    near = problem.assign_listed(centers, CenterLists.join(lists), found, groups)
    expected = reference.nearest_listed(X, centers, lists, groups, labels).astype(float)
    np.testing.assert_array_equal(found, expected[:, 0])
    np.testing.assert_allclose(near.nearest, expected[:, 1], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(near.second, expected[:, 2], rtol=1e-4, atol=1e-3)


def test_a_row_gets_the_same_bits_alone_and_among_others() -> None:
    """Distances and labels of a row do not depend on the rows beside it."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(900, 33)).astype(np.float32)
    centers = stream.normal(size=(50, 33))
    labels = stream.integers(50, size=900).astype(np.int32)
    lists = CenterLists.of_rows(np.array([stream.permutation(50)[:37] for _ in range(50)]))
    everything = labels.copy()
    near = make_problem(X).assign_listed(centers, lists, everything)
    order = stream.permutation(900)[:200]
    some = labels[order].copy()
    frame = near.frame
    again = make_problem(X[order]).assign_listed(centers, lists, some, frame=frame)
    np.testing.assert_array_equal(some, everything[order])
    for one, other in zip(again.inside, near.inside, strict=True):
        assert one.tobytes() == other[order].tobytes()


def test_full_lists_are_a_full_pass() -> None:
    """If every list holds all centers, labels and distances are those of a look at all."""
    stream = np.random.default_rng(5)
    X = stream.normal(size=(300, 4))
    problem, centers = make_problem(X), X[:20] + 0.1
    labels = stream.integers(20, size=300).astype(np.int32)
    full = labels.copy()
    lists = CenterLists.of_rows(np.tile(np.arange(20), (20, 1)))
    near = problem.assign_listed(centers, lists, labels)
    expected = problem.assign(centers, full, keep_ties=True)
    np.testing.assert_array_equal(labels, full)
    np.testing.assert_allclose(near.nearest, expected.nearest, rtol=1e-9)
    np.testing.assert_allclose(near.second, expected.second, rtol=1e-9)


def test_rows_of_no_group_stay_as_they_are() -> None:
    """Rows of the group -1 keep their labels; the others are looked at."""
    stream = np.random.default_rng(6)
    X, labels = stream.normal(size=(50, 3)), np.arange(50, dtype=np.int32) % 4
    groups = np.where(np.arange(50) % 3 == 0, -1, 0).astype(np.int32)
    found = labels.copy()
    make_problem(X).assign_listed(X[:4], CenterLists.join([np.arange(4)]), found, groups)
    expected = np.where(groups < 0, labels, reference.nearest_center(X, X[:4], labels))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ties_between_far_centers_are_settled(dtype: str) -> None:
    """A row halfway between two centers keeps its label, or gets the lower one, exactly."""
    X = np.full((3, 5), 1e3, dtype=dtype)
    centers = np.vstack([np.full(5, 1e3 - 0.25), np.full(5, 1e3 + 0.25), np.zeros(5)])
    lists = CenterLists.join([np.array([1, 0, 2])])
    labels = np.array([1, 0, 2], np.int32)
    make_problem(X).assign_listed(centers, lists, labels, np.zeros(3, np.int32))
    np.testing.assert_array_equal(labels, [1, 0, 0])
