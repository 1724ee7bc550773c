"""``labels_`` are what ``predict`` gives the rows of the fit, and the inertia is what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, open_rows
from projected_kmeans.passes import pruned_search


def draw_rows(n_rows: int = 1500, n_columns: int = 90) -> NDArray[np.float32]:
    """Return rows without clear clusters, so that many are about as near to two centers."""
    stream = np.random.default_rng(5)
    rows = stream.normal(size=(n_rows, 12)) @ stream.normal(size=(12, n_columns))
    rows += 0.5 * stream.normal(size=rows.shape)
    return np.asarray(rows, dtype=np.float32)


def assert_settled(model: ProjectedKMeans, X: Any, sample_weight: Any = None) -> None:
    """Check that labels are those of ``predict`` and the inertia that of ``score``."""
    np.testing.assert_array_equal(np.asarray(model.labels_), np.asarray(model.predict(X)))
    score = model.score(X, sample_weight=sample_weight)
    assert model.inertia_ == pytest.approx(-score, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "k"),
    [
        *[
            (kind, k)
            for kind in ("float32", "float64", "csr", "cosine", "weights")
            for k in (3, 60)
        ],
        ("float32", 600),
    ],
)
def test_labels_are_predictions(kind: str, k: int) -> None:
    """For few and many clusters, in memory: dense, sparse, by direction, and with weights."""
    X, weights, options = draw_rows(5000 if k == 600 else 1500), None, dict[str, Any]()
    rows: Any = X.astype(np.float64) if kind == "float64" else X
    if kind == "csr":
        rows = scipy.sparse.csr_array(X * (X > 3))
    if kind == "cosine":
        options["metric"] = "cosine"
    if kind == "weights":
        weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(np.float64)
    model = ProjectedKMeans(k, projection="svd", n_components=6, random_state=0, **options)
    assert_settled(model.fit(rows, sample_weight=weights), rows, weights)
    assert model.approach_.polish_iter > 0


@pytest.mark.parametrize("projection", ["sign", "sparse-sign", "hadamard", "columns", None])
def test_labels_are_predictions_after_every_map(projection: str | None) -> None:
    """Labels are those of predict after any map, and without one."""
    X = draw_rows()
    model = ProjectedKMeans(40, projection=projection, n_init=1, max_iter=4, random_state=0)
    assert_settled(model.fit(X), X)


def test_labels_are_predictions_for_files_and_dask(tmp_path: Path) -> None:
    """Rows from a file and from Dask, by blocks, get the labels of the same rows in memory."""
    X = draw_rows(3000)
    np.save(tmp_path / "rows.npy", X)
    options: dict[str, Any] = {"projection": "svd", "n_components": 6, "random_state": 0}
    inside = ProjectedKMeans(70, **options).fit(X)
    stored = ProjectedKMeans(70, memory_limit="8MB", **options).fit(
        open_rows(tmp_path / "rows.npy")
    )
    assert_settled(stored, open_rows(tmp_path / "rows.npy"))
    np.testing.assert_array_equal(stored.labels_, inside.labels_)
    with dask.config.set(scheduler="threads"):
        spread = da.from_array(X, chunks=(700, -1))
        there = ProjectedKMeans(70, **options).fit(spread)
        assert_settled(there, spread)
        np.testing.assert_array_equal(there.labels_.compute(), inside.labels_)


def test_bounds_from_a_sketch_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit whose last pass rules centers out by a sketch is the fit with a full last pass."""
    X = draw_rows(4000, 200)
    assert pruned_search.is_worthwhile(4000, 150, 200)
    model = ProjectedKMeans(150, projection="svd", n_components=8, random_state=0).fit(X)
    monkeypatch.setattr(pruned_search, "MAX_SHARE", 0.0)
    assert not pruned_search.is_worthwhile(4000, 150, 200)
    full = ProjectedKMeans(150, projection="svd", n_components=8, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, full.labels_)
    assert model.cluster_centers_.tobytes() == full.cluster_centers_.tobytes()
    assert model.inertia_ == full.inertia_


def test_without_polishing_labels_are_the_papers_partition() -> None:
    """``polish_iter=0`` keeps the partition of the sketch, whose means are the centers."""
    X = draw_rows()
    model = ProjectedKMeans(40, projection="sign", polish_iter=0, random_state=0).fit(X)
    assert np.count_nonzero(model.labels_ != model.predict(X)) > 0
    means = np.stack([X[model.labels_ == j].mean(axis=0, dtype=np.float64) for j in range(40)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-4, atol=1e-4)
    assert model.inertia_ > -model.score(X)
