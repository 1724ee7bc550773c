"""What a report measures on the rows agrees with NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.rows import walk_clusters
from projected_kmeans.reports.values import Report
from projected_kmeans.sources.array_source import as_row_source


def test_blocks_do_not_matter(wide: NDArray[np.float64]) -> None:
    """A walk over many small blocks finds the same as a walk over one block."""
    centers, labels = wide[:7].copy(), (np.arange(300) % 7).astype(np.int32)
    weights = np.random.default_rng(0).uniform(size=300)
    source = as_row_source(wide)
    one, many = (
        walk_clusters(StoredBlocks(source, block_rows=size), centers, labels, weights)
        for size in (300, 11)
    )
    for first, second in zip(one, many, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)


def test_a_row_very_far_away_has_a_distance() -> None:
    """A row whose squared distance overflows at the scale of the centers is measured correctly."""
    rows = np.array([[1.0], [1.0], [1e20]])
    walk = walk_clusters(
        StoredBlocks(as_row_source(rows)), np.array([[1.0]]), np.zeros(3, np.int32)
    )
    np.testing.assert_allclose(walk.far[0, 0], 1e40)


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
