"""Clusterings into many numbers of clusters: low inertia that never rises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from projected_kmeans.choosing_k.sweep import Sweep, sweep_counts
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem


def sweep(X: NDArray[np.float64], counts: list[int], key: int = 0, n_threads: int = 0) -> Sweep:
    """Return the curves of some rows."""
    return sweep_counts(make_problem(X, n_threads=n_threads), counts, key, 0)


def test_inertia_is_that_of_good_clusterings() -> None:
    """On digits inertia is within 2 % of the best of ten runs of scikit-learn."""
    X = load_digits().data
    found = sweep(X, [1, 2, 5, 10, 20, 40])
    assert found.inertia[0] == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2), rel=1e-12)
    for count, inertia in zip(found.counts[1:], found.inertia[1:], strict=True):
        peer = KMeans(int(count), n_init=10, random_state=0).fit(X).inertia_
        assert inertia <= 1.02 * peer


def test_inertia_never_rises() -> None:
    """With as many clusters as rows the inertia is 0, and it never rises before."""
    X = draw_blobs(0, n=40, d=3, k=4)[0]
    found = sweep(X, list(range(1, 41)))
    assert (np.diff(found.inertia) <= 0).all()
    assert found.inertia[-1] == pytest.approx(0, abs=1e-12 * found.inertia[0])


def test_walks_down_find_what_walks_up_missed() -> None:
    """At 20 clusters the inertia is at most that of the 20 planted clusters.

    One seeding rarely finds all 20 in 30 dimensions. On the way up, 24 centers are the first to
    cover all of them, and the way down removes the four that are too many.
    """
    X, home = draw_blobs(1, n=2000, d=30, k=20, gap=0.7)
    planted = sum(
        float(np.sum((X[home == one] - X[home == one].mean(axis=0)) ** 2)) for one in range(20)
    )
    assert sweep(X, [1, 10, *range(18, 27)]).inertia[4] <= planted


def test_silhouettes_are_by_distance_to_centers() -> None:
    """The simplified silhouette is the mean of 1 - a / b, as NumPy computes it."""
    X = draw_blobs(3, n=200, d=4, k=3, gap=4.0)[0]
    found = sweep(X, [1, 3])
    centers = KMeans(3, n_init=10, random_state=0).fit(X).cluster_centers_
    distances = np.sort(np.linalg.norm(X[:, None] - centers, axis=2), axis=1)
    assert found.silhouette[0] == 0
    assert found.silhouette[1] == pytest.approx(
        np.mean(1 - distances[:, 0] / distances[:, 1]), rel=1e-6
    )


def test_weights_are_numbers_of_copies() -> None:
    """Weighted rows have the curves of their copies."""
    X = draw_blobs(3, n=60, d=4, k=3, gap=6.0)[0]
    weights = np.arange(60) % 3 + 1.0
    one = sweep_counts(make_problem(X, weights), [1, 2, 3], 0, 0)
    other = sweep(np.repeat(X, weights.astype(int), axis=0), [1, 2, 3])
    np.testing.assert_allclose(one.inertia, other.inertia, rtol=1e-9)
    np.testing.assert_allclose(one.silhouette, other.silhouette, rtol=1e-6)


def test_curves_follow_from_the_key() -> None:
    """The number of threads does not change a bit, another key changes the curves."""
    X = draw_blobs(0, n=3000, d=10, k=30, gap=0.3)[0]
    counts = [1, 5, 25, 30]
    one, two = sweep(X, counts, n_threads=1), sweep(X, counts, n_threads=2)
    np.testing.assert_array_equal(one.inertia, two.inertia)
    np.testing.assert_array_equal(one.silhouette, two.silhouette)
    assert (sweep(X, counts, key=1).inertia != one.inertia)[1:].any()


def test_equal_rows_are_no_obstacle() -> None:
    """With fewer distinct rows than clusters the inertia is 0."""
    X = np.repeat(np.eye(3), 5, axis=0)
    found = sweep(X, [1, 2, 3, 4, 6])
    assert found.inertia[1] > 0
    np.testing.assert_allclose(found.inertia[2:], 0, atol=1e-12)
    assert found.silhouette[2] == pytest.approx(1.0)
