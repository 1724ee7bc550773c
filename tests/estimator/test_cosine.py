"""Spherical k-means: rows count by their direction, and centers are directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, certify
from projected_kmeans.blocks.unit_length import to_unit_rows


def draw_directions(
    n: int = 400, d: int = 60, k: int = 5, noise: float = 0.6, key: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows around k directions, of lengths from 0.01 to 100, and their kinds."""
    stream = np.random.default_rng(key)
    means = stream.normal(size=(k, d))
    kinds = stream.integers(k, size=n)
    rows = means[kinds] + noise * stream.normal(size=(n, d))
    return rows * 10.0 ** stream.uniform(-2, 2, size=(n, 1)), kinds


def spherical_inertia(X: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the sum of 2 (1 - cosine) between rows and the direction of their cluster's sum."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    total = 0.0
    for label in np.unique(labels):
        members = unit[labels == label]
        direction = members.sum(axis=0) / np.linalg.norm(members.sum(axis=0))
        total += float(np.sum(2 - 2 * members @ direction))
    return total


def spherical_lloyd(X: NDArray[Any], centers: NDArray[Any], n_iter: int) -> NDArray[Any]:
    """Return the labels after some passes of textbook spherical k-means."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    labels = np.zeros(len(X), dtype=int)
    for _ in range(n_iter):
        labels = np.argmax(unit @ centers.T, axis=1)
        sums = np.array([unit[labels == j].sum(axis=0) for j in range(len(centers))])
        centers = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return labels


def test_lloyd_is_the_textbook_s() -> None:
    """Without projection, passes from given centers give the labels of the textbook."""
    X, _ = draw_directions(noise=1.5)
    start = X[:5] / np.linalg.norm(X[:5], axis=1, keepdims=True)
    model = ProjectedKMeans(
        5, metric="cosine", projection=None, init=start, max_iter=4, tol=0, solver="lloyd"
    ).fit(X)
    np.testing.assert_array_equal(model.labels_, spherical_lloyd(X, start, model.n_iter_))
    assert model.inertia_ == pytest.approx(spherical_inertia(X, model.labels_), rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=1e-14)
    assert list(model.history_) == sorted(model.history_, reverse=True)


@pytest.mark.parametrize("projection", ["auto", "sign", "svd", None])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_directions_are_found(projection: str | None, kind: Any) -> None:
    """Planted directions are found for rows of any length, dense and sparse."""
    X, kinds = draw_directions(d=200)
    model = ProjectedKMeans(5, metric="cosine", projection=projection, random_state=0).fit(kind(X))
    assert len(np.unique(np.column_stack([kinds, model.labels_]), axis=0)) == 5
    assert model.inertia_ == pytest.approx(spherical_inertia(X, model.labels_), rel=1e-9)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(kind(7 * X)), model.labels_)
    assert model.score(kind(X)) == pytest.approx(-model.inertia_, rel=1e-9)
    cosines = 1 - model.transform(kind(X)) ** 2 / 2
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(cosines, unit @ model.cluster_centers_.T, atol=1e-9)


@pytest.mark.parametrize("projection", ["svd", None])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_normalized_inertia_is_the_mean_of_1_minus_cosine(projection: Any, kind: Any) -> None:
    """F~ is the mean of 1 - cosine, also where unit rows lie farther than 1 from their centers."""
    X = np.random.default_rng(0).normal(size=(200, 30))
    model = ProjectedKMeans(3, metric="cosine", projection=projection, random_state=0).fit(kind(X))
    assert model.inertia_ > len(X)
    own = np.take_along_axis(model.transform(X), model.labels_[:, None], axis=1)
    assert model.normalized_inertia_ == pytest.approx(np.mean(own**2) / 2, rel=1e-9)
    stream = ProjectedKMeans(3, metric="cosine", projection=projection, random_state=0)
    stream.partial_fit(kind(X))
    assert stream.normalized_inertia_ == pytest.approx(model.normalized_inertia_, rel=1e-9)


def test_normalized_inertia_is_at_most_1() -> None:
    """Rows that cancel, and rows of zeros, are almost as far from any center as rows can be."""
    X = np.concatenate([np.eye(4), -np.eye(4), np.eye(1, 4), np.zeros((20, 4))])
    model = ProjectedKMeans(1, metric="cosine", random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(2 * 8 + 20)
    assert model.normalized_inertia_ == pytest.approx(36 / 38)
    stream = ProjectedKMeans(1, metric="cosine", random_state=0).partial_fit(X)
    assert stream.normalized_inertia_ == pytest.approx(36 / 38)


def test_lengths_do_not_matter() -> None:
    """Rows scaled by powers of two give the same bits."""
    X, _ = draw_directions(noise=1.5, d=200)
    scale = 2.0 ** np.random.default_rng(1).integers(-9, 9, size=(len(X), 1))
    one, other = (
        ProjectedKMeans(7, metric="cosine", random_state=0).fit(rows) for rows in (X, X * scale)
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.inertia_ == other.inertia_


def test_a_certificate_holds_for_directions() -> None:
    """What is proven of unit rows is proven of directions, which are worse centers than means."""
    X, _ = draw_directions(n=150)
    model = ProjectedKMeans(5, metric="cosine", certificate="auto", random_state=0).fit(X)
    unit = to_unit_rows(X)
    assert model.certificate_ is not None
    about_means = certify(unit, model.labels_, random_state=0)
    assert about_means.lower_bound < model.certificate_.lower_bound <= model.inertia_
    assert 1 <= model.certificate_.ratio < 1.01


def test_what_directions_cannot_do() -> None:
    """An unknown metric, and solvers that move single rows to means, get a sentence."""
    X, _ = draw_directions()
    with pytest.raises(ValueError, match="metric='manhattan' is not known; use one of"):
        ProjectedKMeans(3, metric="manhattan").fit(X)
    with pytest.raises(ValueError, match="needs a projection with metric='cosine', got none; use"):
        ProjectedKMeans(3, metric="cosine", projection=None, solver="hartigan").fit(X)
