"""Facts and members of clusters agree with NumPy, within a memory limit too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.rows import N_MEMBERS
from projected_kmeans.reports.values import Report
from projected_kmeans.sources.array_source import as_row_source


def test_clusters_are_measured_as_numpy_measures_them(
    report: Report, fitted: ProjectedKMeans, wide: NDArray[np.float64]
) -> None:
    """Rows, inertia, spread and farthest of every cluster agree with plain NumPy."""
    squares = np.sum((wide - fitted.cluster_centers_[fitted.labels_]) ** 2, axis=1)
    for one in report.clusters:
        own = squares[fitted.labels_ == one.cluster]
        assert one.rows == len(own)
        np.testing.assert_allclose(one.inertia, own.sum())
        np.testing.assert_allclose(one.spread, np.sqrt(own.mean()))
        np.testing.assert_allclose(one.farthest, np.sqrt(own.max()))
    total = sum(one.inertia for one in report.clusters if one.inertia is not None)
    np.testing.assert_allclose(total, fitted.inertia_)


def test_members_are_the_nearest_and_the_farthest(
    report: Report, fitted: ProjectedKMeans, wide: NDArray[np.float64]
) -> None:
    """Typical rows have the smallest distances of their cluster, outlying rows the largest."""
    distances = np.sqrt(np.sum((wide - fitted.cluster_centers_[fitted.labels_]) ** 2, axis=1))
    for one in report.members:
        own = np.flatnonzero(fitted.labels_ == one.cluster)
        order = own[np.argsort(distances[own])]
        assert [member.row for member in one.typical] == order[:N_MEMBERS].tolist()
        assert [member.row for member in one.outlying] == order[::-1][:N_MEMBERS].tolist()
        for member in (*one.typical, *one.outlying):
            np.testing.assert_allclose(member.distance, distances[member.row])


def test_a_memory_limit_holds_for_the_report() -> None:
    """Under a limit fewer rows are sampled, and the report is still complete."""
    source = as_row_source(np.random.default_rng(0).normal(size=(6000, 400)).astype(np.float32))
    model = ProjectedKMeans(3, projection="sign", random_state=0, memory_limit="8MB").fit(source)
    found = describe_report(model, source)
    assert found.row_map is not None
    assert len(found.row_map.rows) == 8_000_000 // 8 // (8 * 400)
    assert len(found.members) == 3
