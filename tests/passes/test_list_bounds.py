"""Passes with lists that stay: rows that are left out keep the labels that a look would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.list_bounds import BoundedLists
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from tests.support.problems import make_problem


def draw(far: float, dtype: str) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]]:
    """Return rows, centers among them, and four near centers for each; one row may be far away."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(2000, 5)).astype(dtype)
    X[7] *= far
    centers = X[:30].astype(np.float64)
    gaps = ((centers[:, None] - centers) ** 2).sum(axis=2)
    return X, centers, np.argsort(gaps, axis=1, kind="stable")[:, :4].astype(np.int32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("far", [1.0, 1e6])
def test_labels_are_those_of_passes_that_look_at_all_rows(
    far: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over passes with smaller and smaller moves, and after rows were given other labels."""
    X, centers, near = draw(far, dtype)
    problem, stream = make_problem(X), np.random.default_rng(1)
    looked: list[int] = []
    kernel = _native.nearest_listed

    def count_rows(*arguments: Any) -> None:
        if arguments[5] is not None:
            looked.append(int((arguments[5] >= 0).sum()))
        kernel(*arguments)

    monkeypatch.setattr(_native, "nearest_listed", count_rows)
    bounded, lists = BoundedLists(problem, near), CenterLists.of_rows(near)
    labels = np.arange(2000, dtype=np.int32) % 30
    for step in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        expected = labels.copy()
        assign_listed(problem, centers, lists, expected, measured=False)
        frame = Frame.around(centers, np.dtype(dtype), problem.ranges)
        bounded.assign(frame, centers, labels)
        np.testing.assert_array_equal(labels, expected)
        rows = stream.choice(2000, 3, replace=False)
        labels[rows] = 5
        bounded.forget(rows)
        centers = centers + step * stream.normal(size=centers.shape)
    assert looked[0] == 2000
    if far == 1.0 or dtype == "float64":  # else rounding of the far row allows no bounds
        assert looked[-1] < 500
