"""Curves over the number of clusters: inertia never rises, and gaps are what is known of rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from projected_kmeans.choosing_k.curves import (
    N_REFERENCES,
    Sweep,
    draw_sample,
    measure_gap,
    sweep_counts,
)
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


def test_few_rows_are_not_sampled() -> None:
    """Up to 2,048 rows, or 20 a cluster, the statistic is measured on all rows."""
    few, more = make_problem(np.zeros((2048, 2))), make_problem(np.zeros((2200, 2)))
    assert draw_sample(few, 10, 0) is few
    assert draw_sample(more, 110, 0) is more
    assert draw_sample(more, 109, 0).source.shape == (2180, 2)


def test_a_sample_is_drawn_by_weight() -> None:
    """Rows of weight 0 are never drawn, and drawn rows have no weights: each counts once."""
    X = np.arange(5000.0)[:, None]
    weights = np.where(X[:, 0] < 2500, 0.0, 3.0)
    sample = draw_sample(make_problem(X, weights), 2, 0)
    assert sample.source.shape == (2048, 1)
    assert sample.weights is None
    assert sample.source.select().min() >= 2500


def test_blobs_have_a_gap_and_a_box_has_none() -> None:
    """Three blobs have a gap of many standard errors at 3; uniform rows in a box have about 0."""
    blobs = make_problem(draw_blobs(0, n=150, d=4, k=3, gap=4.0)[0])
    box = make_problem(np.random.default_rng(0).random((150, 4)))
    calls: list[None] = []
    gaps = []
    for problem in (blobs, box):
        found = sweep_counts(problem, [1, 2, 3], 0, 0)
        gaps.append(measure_gap(problem, found, 0, lambda: calls.append(None)))
    assert len(calls) == 2 * N_REFERENCES
    assert [gap.values[0] for gap in gaps] == pytest.approx([0, 0], abs=1e-12)
    assert gaps[0].values[2] > 10 * gaps[0].errors[2]
    # 5 standard errors of the difference of one sweep and the mean of eight.
    assert abs(gaps[1].values[2]) < 5 * gaps[1].errors[2]
