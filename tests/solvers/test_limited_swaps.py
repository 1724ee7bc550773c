"""Swaps of centers between passes that keep limits of cluster sizes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.fit import limited_sizes
from projected_kmeans.results import Clustering
from projected_kmeans.solvers.limited_swaps import swap_one_center
from tests.support.problems import make_problem

PLACES = np.array([[0.0, 0.0], [50.0, 0.0], [100.0, 0.0], [103.0, 0.0]])


def draw_groups() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows around four places, the last two of which are near each other."""
    groups = np.repeat(np.arange(4), 30)
    return PLACES[groups] + np.random.default_rng(0).normal(size=(120, 2)), groups


def describe(X: NDArray[np.float64], labels: NDArray[np.int64]) -> Clustering:
    """Return a partition and its means."""
    labels = labels.astype(np.int32)
    means = np.stack([X[labels == j].mean(axis=0) for j in range(labels.max() + 1)])
    return make_problem(X).sum(labels, means).describe(labels)


def test_a_spare_center_moves_to_a_cluster_of_two_groups() -> None:
    """Of three centers, that of two near groups is spared for two groups that share a center."""
    X, groups = draw_groups()
    found = describe(X, np.array([0, 0, 1, 2])[groups])
    centers = swap_one_center(make_problem(X), found, (0, 0))
    assert centers is not None
    gaps = np.linalg.norm(PLACES[:, None] - centers, axis=2).min(axis=1)
    assert gaps[:2].max() < 1  # each of the groups that shared a center has one of its own
    assert gaps[2:].max() < 4


def test_no_center_moves_where_all_are_needed() -> None:
    """Where every group has its center, a second one would gain less than a removal costs."""
    X, groups = draw_groups()
    X[groups == 3] += 50
    assert swap_one_center(make_problem(X), describe(X, groups), (0, 0)) is None


def test_swaps_lower_the_inertia_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit of uneven groups ends lower with swaps, with sizes within the limits on any threads."""
    stream = np.random.default_rng(0)
    means = stream.normal(size=(40, 50))
    groups = stream.choice(40, 5000, p=stream.dirichlet(np.full(40, 5.0)))
    X = means[groups] + stream.normal(size=(5000, 50))
    monkeypatch.setattr(limited_sizes, "count_starts", lambda *sizes: 1)

    def fit(key: int, n_threads: int = 1) -> ProjectedKMeans:
        model = ProjectedKMeans(40, min_cluster_size=100, max_cluster_size=150, random_state=key)
        return model.set_params(n_threads=n_threads).fit(X)

    swapped = [fit(key) for key in range(3)]
    assert fit(0, n_threads=2).labels_.tobytes() == swapped[0].labels_.tobytes()
    for model in swapped:
        assert 100 <= np.bincount(model.labels_).min() <= np.bincount(model.labels_).max() <= 150
    monkeypatch.setattr(limited_sizes, "MAX_SWAPS", 0)
    plain = [fit(key).inertia_ for key in range(3)]
    pairs = list(zip([model.inertia_ for model in swapped], plain, strict=True))
    assert all(one <= other * (1 + 1e-12) for one, other in pairs)
    assert any(one < other * (1 - 1e-3) for one, other in pairs)
