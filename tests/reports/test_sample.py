"""What a report measures on a sample agrees with NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.sample import MAX_SILHOUETTE_ROWS
from projected_kmeans.reports.values import Report


def test_the_map_is_a_random_sample_along_principal_directions() -> None:
    """Many rows are sampled by the key, and the axes are those of an exact decomposition."""
    X = np.random.default_rng(1).normal(size=(5000, 6)) * [9, 5, 1, 1, 1, 1]
    model = ProjectedKMeans(4, projection=None, random_state=2).fit(X)
    points = describe_report(model, X).row_map
    again = describe_report(model, X).row_map
    assert points == again
    assert points is not None
    rows = np.array(points.rows)
    assert len(rows) == 3000 == len(set(rows.tolist()))
    # The mean of 3000 of 5000 indices has a standard deviation of 17; 5 of them are exceeded once
    # in a million.
    assert abs(rows.mean() - 2499.5) < 85
    assert points.clusters == tuple(model.labels_[rows].tolist())
    centred = X[rows] - X[rows].mean(axis=0)
    exact = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
    assert abs(np.corrcoef(exact, points.x)[0, 1]) > 0.999
    assert 0.7 < points.kept < 1


def test_fewer_dimensions_cost_more(report: Report) -> None:
    """The curve ends near 1 at the dimensions of the sketch; one dimension costs much more."""
    curve = report.curve
    assert curve is not None
    assert curve.dimensions == (1, 2, 4, 8, 16, 20)
    np.testing.assert_allclose(curve.ratios[-1], 1.0, atol=0.02)
    assert curve.ratios[0] > 1.2


def test_silhouettes_are_those_of_scikit_learn(
    report: Report, fitted: ProjectedKMeans, wide: NDArray[np.float64]
) -> None:
    """All rows fit into the sample, so that the means are those of all rows."""
    expected = silhouette_samples(wide, fitted.labels_)
    assert report.silhouette is not None
    assert report.silhouette.rows == len(wide)
    assert report.silhouette.mean == pytest.approx(expected.mean(), abs=1e-4)
    for one in report.clusters:
        own = expected[fitted.labels_ == one.cluster].mean()
        assert one.silhouette == pytest.approx(own, abs=1e-4)


def test_many_rows_are_sampled_and_sparse_ones_stay_sparse() -> None:
    """Of many sparse rows at most the stated number is compared."""
    rows = scipy.sparse.random(2500, 30, density=0.2, format="csr", random_state=0)
    model = ProjectedKMeans(3, random_state=0, n_init=1).fit(rows)
    found = describe_report(model, rows)
    assert found.silhouette is not None
    assert found.silhouette.rows == MAX_SILHOUETTE_ROWS


def test_a_single_cluster_has_no_silhouette() -> None:
    """With one cluster there is nothing to compare."""
    rows = np.random.default_rng(0).normal(size=(20, 3))
    found = describe_report(ProjectedKMeans(1, random_state=0).fit(rows), rows)
    assert found.silhouette is None
    assert found.clusters[0].silhouette is None
    assert found.clusters[0].nearest is None
