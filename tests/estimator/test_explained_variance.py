"""``explained_variance_ratio_`` and ``mean_cosine_`` of all kinds of fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, load_model, save_model
from projected_kmeans.estimator.fit_document import describe_fit


def draw_rows() -> NDArray[np.float64]:
    """Return rows in four groups, far from zero."""
    stream = np.random.default_rng(2)
    return (
        np.repeat(stream.normal(size=(4, 20)), 50, axis=0) + 0.7 * stream.normal(size=(200, 20)) + 5
    )


def explained(X: Any, model: ProjectedKMeans, weights: Any = None) -> float:
    """Return the share by its definition."""
    weights = np.ones(len(X)) if weights is None else weights
    mean = np.average(X, axis=0, weights=weights)
    return 1 - model.inertia_ / float(np.sum(weights[:, None] * (X - mean) ** 2))


def test_dense_sparse_weighted_and_dask_rows() -> None:
    """The share is that of its definition, and the same for rows in other forms."""
    X = draw_rows()
    model = ProjectedKMeans(4, random_state=0).fit(X)
    assert model.explained_variance_ratio_ == pytest.approx(explained(X, model), rel=1e-10)
    assert 0.3 < model.explained_variance_ratio_ < 0.9
    sparse = ProjectedKMeans(4, random_state=0).fit(scipy.sparse.csr_array(X))
    assert sparse.explained_variance_ratio_ == pytest.approx(explained(X, sparse), rel=1e-10)
    with dask.config.set(scheduler="threads"):
        spread = ProjectedKMeans(4, random_state=0).fit(da.from_array(X, chunks=(60, -1)))
    assert spread.explained_variance_ratio_ == model.explained_variance_ratio_
    weights = np.arange(200.0)
    weighted = ProjectedKMeans(4, random_state=0).fit(X, sample_weight=weights)
    wanted = explained(X, weighted, weights)
    assert weighted.explained_variance_ratio_ == pytest.approx(wanted, rel=1e-10)


def test_one_cluster_explains_nothing() -> None:
    """About their mean rows have all their inertia, in both metrics."""
    X = draw_rows()
    for metric in ("euclidean", "cosine"):
        model = ProjectedKMeans(1, metric=metric, random_state=0).fit(X)
        assert model.explained_variance_ratio_ == pytest.approx(0.0, abs=1e-12)


def test_rows_that_were_set_aside_do_not_count() -> None:
    """With ``trim`` the mean and the inertia are those of the rows that were kept."""
    X = np.concatenate([draw_rows(), np.full((5, 20), 1000.0)])
    model = ProjectedKMeans(4, trim=0.03, random_state=0).fit(X)
    kept = model.labels_ >= 0
    assert model.explained_variance_ratio_ == pytest.approx(explained(X[kept], model), rel=1e-10)


def test_streams() -> None:
    """A stream explains the share that its inertia leaves of the inertia about the mean."""
    X = np.concatenate([draw_rows()] * 40)
    model = ProjectedKMeans(4, random_state=0)
    for part in np.array_split(X, 7):
        model.partial_fit(part)
    assert model.explained_variance_ratio_ == pytest.approx(explained(X, model), rel=1e-9)


@pytest.mark.parametrize("streamed", [False, True])
def test_cosine(streamed: bool) -> None:
    """The share is one of the inertia about the best single direction; cosines are averaged."""
    X = np.concatenate([draw_rows() - 5] * (30 if streamed else 1))
    model = ProjectedKMeans(4, metric="cosine", random_state=0)
    model = model.partial_fit(X) if streamed else model.fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    center = unit.sum(axis=0) / np.linalg.norm(unit.sum(axis=0))
    total = float(np.sum((unit - center) ** 2))
    assert model.explained_variance_ratio_ == pytest.approx(1 - model.inertia_ / total, rel=1e-9)
    assert model.mean_cosine_ == pytest.approx(1 - model.inertia_ / 2 / len(X), rel=1e-9)
    if not streamed:
        cosines = np.sum(unit * model.cluster_centers_[model.labels_], axis=1)
        assert model.mean_cosine_ == pytest.approx(cosines.mean(), rel=1e-9)


def test_documents_and_files_hold_it(tmp_path: Path) -> None:
    """result.json and model.json say it, and a loaded model has it."""
    X = draw_rows()
    for metric in ("euclidean", "cosine"):
        model = ProjectedKMeans(4, metric=metric, random_state=0).fit(X)
        results = describe_fit(model, X, name="X")["results"]
        assert results["explained_variance_ratio"] == model.explained_variance_ratio_
        assert results["mean_cosine"] == model.mean_cosine_
        assert (model.mean_cosine_ is None) == (metric == "euclidean")
        save_model(model, tmp_path)
        loaded = load_model(tmp_path)
        assert loaded.explained_variance_ratio_ == model.explained_variance_ratio_
        assert loaded.mean_cosine_ == model.mean_cosine_


def test_it_is_listed_once_it_is_known() -> None:
    """Before a fit there is no such attribute."""
    model = ProjectedKMeans(2)
    assert not {"mean_cosine_", "explained_variance_ratio_"} & set(dir(model))
    assert not hasattr(model, "explained_variance_ratio_")
    assert {"mean_cosine_", "explained_variance_ratio_"} <= set(dir(model.fit(draw_rows())))
