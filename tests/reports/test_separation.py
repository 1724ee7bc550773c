"""Silhouettes, nearest clusters, explained variance and true labels agree with plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.separation import (
    MAX_SILHOUETTE_ROWS,
    find_majorities,
    find_nearest_clusters,
)
from projected_kmeans.reports.values import Report


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
    """With one cluster there is nothing to compare, and no variance is explained."""
    rows = np.random.default_rng(0).normal(size=(20, 3))
    found = describe_report(ProjectedKMeans(1, random_state=0).fit(rows), rows)
    assert found.silhouette is None
    assert found.clusters[0].silhouette is None
    assert found.clusters[0].nearest is None
    assert found.explained_variance == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_explained_variance_is_that_of_the_means(metric: str) -> None:
    """It is one minus the variance about the clusters' means divided by all variance."""
    stream = np.random.default_rng(3)
    rows = stream.normal(size=(200, 5)) + 3 * stream.normal(size=(4, 5))[np.arange(200) % 4]
    model = ProjectedKMeans(4, metric=metric, random_state=0).fit(rows)
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    labels = model.labels_
    means = np.array([rows[labels == c].mean(axis=0) for c in range(4)])
    within = np.sum((rows - means[labels]) ** 2)
    total = np.sum((rows - rows.mean(axis=0)) ** 2)
    found = describe_report(model, rows)
    assert found.explained_variance == pytest.approx(1 - within / total)
    assert found.row_map is not None
    assert found.members[0].columns[0].value == pytest.approx(
        means[0][int(found.members[0].columns[0].name.split()[1])]
    )


def test_nearest_clusters_leave_out_empty_ones() -> None:
    """The nearest center is that of another cluster with rows."""
    centers = np.random.default_rng(0).normal(size=(9, 4))
    sizes = np.array([1, 0, 2, 3, 0, 4, 5, 6, 7])
    found = find_nearest_clusters(centers, sizes)
    for label, other in enumerate(found):
        distances = np.sum((centers - centers[label]) ** 2, axis=1)
        distances[label] = distances[sizes == 0] = np.inf
        assert other == (None if sizes[label] == 0 else int(np.argmin(distances)))


def test_true_labels_are_counted() -> None:
    """Each cluster has its most frequent label; rows that were set aside do not count."""
    labels = np.array([0, 0, 0, 2, 2, -1])
    found = find_majorities(labels, ["b", "a", "b", "c", "c", "a"], 3)
    assert found[0] == ("b", pytest.approx(2 / 3))
    assert found[1] is None
    assert found[2] == ("c", 1.0)
