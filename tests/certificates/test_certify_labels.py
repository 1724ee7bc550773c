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
