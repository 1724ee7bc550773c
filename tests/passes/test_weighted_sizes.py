"""Labels within limits of weight."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.passes.cluster_prices import find_prices
from projected_kmeans.passes.size_limits import SizeLimits, resolve_limits
from projected_kmeans.passes.weighted_sizes import fit_weights


@pytest.mark.parametrize("seed", range(6))
def test_limits_are_kept_at_a_small_cost(seed: int) -> None:
    """Weights are within limits, and the inertia is at most 2 % above the bound of the prices."""
    stream = np.random.default_rng(seed)
    rows, weights = stream.normal(size=(2000, 3)), stream.pareto(3, size=2000)
    distances = ((rows[:, None] - rows[:8]) ** 2).sum(axis=2)
    limits = resolve_limits(None, None, balanced=True, n_clusters=8, n_rows=2000, weights=weights)
    assert limits is not None
    labels = fit_weights(distances, weights, limits, np.zeros(2000, np.int32))
    assert limits.hold(np.bincount(labels, weights, minlength=8))
    inertia = float(weights @ distances[np.arange(2000), labels])
    assert inertia <= 1.02 * find_prices(distances, weights, limits).value


def test_packing_where_single_moves_end() -> None:
    """Rows that only fit together in one way are packed: 3 + 3 and 2 + 2 + 2."""
    distances = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    weights = np.array([3.0, 3.0, 2.0, 2.0, 2.0])
    labels = fit_weights(distances, weights, SizeLimits(6, 6), np.array([0, 0, 1, 1, 1], np.int32))
    assert np.bincount(labels, weights).tolist() == [6.0, 6.0]


def test_rows_without_weight_go_to_their_nearest_center() -> None:
    """A row of weight 0 counts nowhere, whatever the prices."""
    distances = np.array([[0.0, 5.0]] * 6)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    labels = fit_weights(distances, weights, SizeLimits(2, 2), np.zeros(6, np.int32))
    assert labels[4:].tolist() == [0, 0]
    assert np.bincount(labels, weights).tolist() == [2.0, 2.0]


def test_impossible_packings_raise_one_sentence() -> None:
    """Three rows of weight 2 do not make two clusters of weight 3."""
    with pytest.raises(ValueError, match="found no 2 clusters of weight 3 to 3 each; use wider"):
        fit_weights(np.zeros((3, 2)), np.full(3, 2.0), SizeLimits(3, 3), np.zeros(3, np.int32))
