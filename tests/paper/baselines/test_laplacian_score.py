"""The Laplacian score agrees with an independent computation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.paper import (
    LaplacianScore,
)
from projected_kmeans.results import Floats
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.normal_rows import draw_normal_rows


def laplacian_scores_2007(rows: Floats) -> Floats:
    """Return the scores of May 2007 column by column, straight from the recipe."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T
    graph = np.zeros_like(cosines)
    for index, row in enumerate(cosines):
        graph[index, np.argsort(-row)[:6]] = 1
    return scores_by_columns(rows, np.maximum(graph, graph.T))


def laplacian_scores_today(rows: Floats) -> Floats:
    """Return the scores with heat kernel weights between five nearest rows, without loops."""
    squared = np.stack([np.sum((rows - row) ** 2, axis=1) for row in rows])
    width = np.sqrt(squared).mean()
    graph = np.zeros_like(squared)
    for index, row in enumerate(squared):
        nearest = [other for other in np.argsort(row) if other != index][:5]
        graph[index, nearest] = np.exp(-row[nearest] / (2 * width**2))
    return scores_by_columns(rows, np.maximum(graph, graph.T))


def scores_by_columns(rows: Floats, graph: Floats) -> Floats:
    """Return the ratio of the recipe for every column, by a loop."""
    degrees = graph.sum(axis=1)
    scores = []
    for x in rows.T:
        shift = (degrees @ x) ** 2 / degrees.sum()
        spread = x @ (degrees * x) - shift
        scores.append((x @ graph @ x - shift) / spread if spread > 1e-9 else 0.0)
    return np.array(scores)


@pytest.mark.parametrize(
    ("graph", "reference"), [("2007", laplacian_scores_2007), ("today", laplacian_scores_today)]
)
def test_laplacian_score_on_real_images(
    graph: str, reference: Callable[[Floats], Floats], find_data: Callable[[str], Path]
) -> None:
    """On a third of COIL20 both scores agree with an independent computation to 1e-10."""
    rows = read_matrix(find_data("COIL20.mat")).rows[::3].astype(np.float64)
    found = LaplacianScore(graph=graph).fit(rows).scores_
    wanted = reference(rows)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    best = np.sort(np.argsort(-wanted, kind="stable")[:10])
    np.testing.assert_array_equal(
        np.flatnonzero(LaplacianScore(10, graph=graph).fit(rows).get_support()), best
    )


def test_laplacian_scores_do_not_lose_digits_to_an_offset() -> None:
    """A common offset, a million times the spread, leaves today's scores as they are."""
    rows = draw_normal_rows(40, 6)
    shifted = LaplacianScore(1).fit(rows + 1e6).scores_
    np.testing.assert_allclose(shifted, LaplacianScore(1).fit(rows).scores_, atol=1e-6)


def test_constant_columns_come_last() -> None:
    """A constant column scores zero, and no warning is given."""
    rows = draw_normal_rows(30, 3)
    rows[:, 1] = 4.0
    assert LaplacianScore(1).fit(rows).scores_[1] == 0


def test_impossible_selections_are_refused() -> None:
    """Too many columns and too few rows give one sentence each."""
    rows = draw_normal_rows(8, 3)
    with pytest.raises(ValueError, match="n_features_to_select=4 exceeds n_features=3"):
        LaplacianScore(4).fit(rows)
    with pytest.raises(ValueError, match="n_neighbors=8 is not below n_samples=8"):
        LaplacianScore(1, n_neighbors=8).fit(rows)
