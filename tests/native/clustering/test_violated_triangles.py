"""Certificates: the triangle cuts that a matrix breaks most."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans import _native
from tests import reference
from tests.support.layouts import seeds


def find_triangles(matrix: Any, floor: float, most: int, n_threads: int = 1) -> list[Any]:
    """Return the lists of all rows."""
    n = len(matrix)
    others, violations = np.empty((n, most, 2), np.int32), np.empty((n, most), np.float32)
    counts = np.empty(n, np.int32)
    _native.violated_triangles(matrix, floor, others, violations, counts, n_threads)
    return [
        [(violations[i, at], *others[i, at].tolist()) for at in range(counts[i])] for i in range(n)
    ]


@given(
    seed=seeds,
    n=st.integers(1, 24),
    most=st.integers(1, 12),
    floor=st.sampled_from([0.0, 0.5]),
    whole=st.booleans(),
)
def test_triangles_equal_the_twin(seed: int, n: int, most: int, floor: float, whole: bool) -> None:
    """The most violated triangles come in descending order, also among equal violations."""
    matrix = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32)
    matrix = matrix + matrix.T
    if whole:
        matrix = np.round(matrix)
    assert find_triangles(matrix, floor, most) == reference.violated_triangles(matrix, floor, most)


def test_many_rows_are_searched_by_vectors() -> None:
    """With more rows than a stretch of vectors has, nothing is missed, on any threads."""
    matrix = np.random.default_rng(1).random((290, 290)).astype(np.float32)
    matrix = matrix + matrix.T
    found = find_triangles(matrix, 0.0, 5)
    for i in (0, 17, 144, 289):
        excess = matrix[i][:, None] + matrix[i] - matrix[i, i] - matrix
        excess[np.tril_indices(290)] = -1
        excess[i], excess[:, i] = -1, -1
        largest = np.sort(excess.ravel())[:-6:-1]
        np.testing.assert_allclose([one[0] for one in found[i]], largest, rtol=1e-5)
    assert find_triangles(matrix, 0.0, 5, 3) == found


def test_numbers_that_are_not_finite_break_no_cut() -> None:
    """A matrix of NaN gives empty lists."""
    assert find_triangles(np.full((40, 40), np.nan, np.float32), 0.0, 3) == [[]] * 40
