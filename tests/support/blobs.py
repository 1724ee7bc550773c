"""Rows around a few means, and what every fit of them must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import (
    ProjectedKMeans,
    inertia,
    normalized_inertia,
)
from tests import reference


def draw_blobs(
    seed: int = 0, n: int = 150, d: int = 200, k: int = 5, gap: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows around k means and the mean of each row, k different ones first."""
    stream = np.random.default_rng(seed)
    home = np.concatenate([np.arange(k), stream.integers(k, size=n - k)])
    return stream.normal(size=(n, d)) + gap * stream.normal(size=(k, d))[home], home


def assert_same_fit(one: ProjectedKMeans, other: ProjectedKMeans) -> None:
    """Compare two fits bit by bit."""
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
    assert one.inertia_ == other.inertia_
    assert one.normalized_inertia_ == other.normalized_inertia_
    assert one.history_ == other.history_


def assert_consistent(model: ProjectedKMeans, X: NDArray[Any]) -> None:
    """Check that centers, labels and inertia belong together, in the original space.

    Labels are those of the nearest centers. If rows were projected and not polished, labels are the
    paper's partition, and centers are its means.
    """
    ended = model.stopped_ in ("converged", "max_iter")
    if model.projection_ is None or (model.approach_.polish_iter > 0 and ended):
        np.testing.assert_array_equal(model.labels_, model.predict(X))
        assert model.inertia_ == pytest.approx(-model.score(X), rel=1e-10)
        squares = float(np.sum(X.astype(float) ** 2))
        assert model.normalized_inertia_ == pytest.approx(model.inertia_ / squares, rel=1e-10)
        return
    k = model.n_clusters
    filled = np.bincount(model.labels_, minlength=k) > 0
    means = reference.means(X, model.labels_, k)
    size = np.abs(X.astype(float)).max()
    eps = np.finfo(model.cluster_centers_.dtype).eps
    np.testing.assert_allclose(
        model.cluster_centers_[filled], means[filled], rtol=0, atol=4 * eps * size
    )
    assert model.inertia_ == pytest.approx(inertia(X, model.labels_), rel=1e-10)
    assert model.normalized_inertia_ == pytest.approx(
        normalized_inertia(X, model.labels_), rel=1e-10
    )
