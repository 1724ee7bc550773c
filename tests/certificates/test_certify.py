"""Certificates of labels for centers of length one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, certify


def test_cosine_is_the_certificate_of_unit_rows() -> None:
    """The inertia is that of a fit with the metric, the bound holds, and lengths do not matter."""
    stream = np.random.default_rng(0)
    X = np.repeat(np.abs(stream.normal(size=(3, 8))), 20, axis=0) + 0.1 * stream.random((60, 8))
    X *= stream.uniform(1, 9, (60, 1))
    model = ProjectedKMeans(3, metric="cosine", certificate="auto", random_state=0).fit(X)
    found = certify(X, model.labels_, metric="cosine")
    assert found.inertia == pytest.approx(model.inertia_, rel=1e-9)
    assert found.lower_bound <= found.inertia
    assert found.ratio < 1.5
    assert model.certificate_ is not None
    assert found.ratio == pytest.approx(model.certificate_.ratio, rel=0.05)
    sparse = certify(scipy.sparse.csr_array(5 * X), model.labels_, metric="cosine")
    assert sparse.inertia == pytest.approx(found.inertia, rel=1e-9)
    worse = certify(X, np.arange(60) % 3, metric="cosine")
    assert worse.ratio > 2 * found.ratio


def test_unknown_metrics_are_refused() -> None:
    """The sentence names those that there are."""
    with pytest.raises(ValueError, match="metric='cos'"):
        certify([[0.0], [1.0]], [0, 1], metric="cos")


def test_rows_without_a_cluster_or_with_a_hole_take_no_part() -> None:
    """The label -1 is no cluster; better labels are those of all rows, with -1 where it was."""
    stream = np.random.default_rng(0)
    rows = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 10, axis=0) + stream.normal(size=(30, 2))
    labels = np.repeat(np.arange(3), 10)
    labels[12] = 0  # a bad label, which a proof finds
    inside = np.ones(30, dtype=bool)
    inside[[4, 20]] = False
    expected = certify(rows[inside], labels[inside], method="semidefinite", random_state=0)
    holes = rows.copy()
    holes[4, 1] = np.nan
    given = np.where(np.arange(30) == 20, -1, labels)
    found = certify(holes, given, method="semidefinite", on_missing="skip", random_state=0)
    assert (found.inertia, found.lower_bound) == (expected.inertia, expected.lower_bound)
    assert expected.better_labels is not None
    assert found.better_labels is not None
    np.testing.assert_array_equal(found.better_labels[inside], expected.better_labels)
    assert found.better_labels[[4, 20]].tolist() == [-1, -1]
    with pytest.raises(ValueError, match="NaN"):
        certify(holes, given)
    with pytest.raises(ValueError, match="no row is complete and has a cluster"):
        certify(rows, np.full(30, -1))
    with pytest.raises(ValueError, match="on_missing='drop'"):
        certify(rows, labels, on_missing="drop")
