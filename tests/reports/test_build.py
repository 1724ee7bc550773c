"""A report is made from every kind of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.files import load_report, save_report
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.values import Report
from projected_kmeans.sources.array_source import as_row_source


def total_inertia(report: Report) -> float:
    """Return the sum of the inertias of all clusters."""
    return sum(one.inertia for one in report.clusters if one.inertia is not None)


def test_weights_count(wide: NDArray[np.float64]) -> None:
    """With the weights of the fit, the inertias of clusters add up to the inertia of the fit."""
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=300)
    model = ProjectedKMeans(5, random_state=0).fit(wide, sample_weight=weights)
    report = describe_report(model, wide, sample_weight=weights)
    np.testing.assert_allclose(total_inertia(report), model.inertia_)


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sparse": (scipy.sparse.csr_array, {}),
    "stored": (as_row_source, {}),
    "float32": (lambda X: X.astype(np.float32), {}),
    "list": (lambda X: X.tolist(), {}),
    "cosine": (np.asarray, {"metric": "cosine"}),
    "transformer": (np.asarray, {"projection": PCA(3, random_state=0)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows_is_reported(kind: str, wide: NDArray[np.float64]) -> None:
    """Sparse rows, row sources, other types, directions and other maps give complete reports."""
    convert, options = KINDS[kind]
    X = convert(np.where(wide > 3, wide, 0))
    model = ProjectedKMeans(5, random_state=0, **options).fit(X)
    found = describe_report(model, X)
    np.testing.assert_allclose(total_inertia(found), model.inertia_, rtol=1e-5)
    assert found.row_map is not None
    assert found.members[0].columns
    assert render_report(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("rows", "n_clusters"),
    [([[1.0, 2.0]] * 5 + [[3.0, 4.0]], 3), ([[5.0]], 1), ([[0.0] * 3] * 4, 2)],
    ids=["an empty cluster", "one row", "equal rows"],
)
def test_small_data_is_reported(rows: Any, n_clusters: int, tmp_path: Path) -> None:
    """Empty clusters, a single row and equal rows give complete reports."""
    model = ProjectedKMeans(n_clusters, random_state=0).fit(rows)
    found = describe_report(model, rows)
    assert sum(one.rows for one in found.clusters) == len(rows)
    assert [one.farthest for one in found.clusters] == [0.0] * n_clusters
    assert load_report(save_report(found, tmp_path)) == found
    assert render_report(found)


def test_the_passes_are_those_of_the_fit(fitted: ProjectedKMeans, report: Report) -> None:
    """The best line ends at the inertia of the fit's history; exactly one line is the best."""
    best = next(line for line in report.passes if line.won)
    np.testing.assert_allclose(best.inertia[-1] * 300, fitted.history_[-1])
    assert sum(line.won for line in report.passes) == 1
    assert report.original_inertia[-1] == fitted.inertia_


def test_to_html_writes_and_returns_the_page(
    fitted: ProjectedKMeans, wide: NDArray[np.float64], tmp_path: Path
) -> None:
    """The same page is returned and written; without rows it says what is missing."""
    page = fitted.to_html(wide, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == page
    assert "5 clusters of 300 rows" in page
    assert 'id="map"' in page
    bare = fitted.to_html()
    assert 'id="map"' not in bare
    assert "made without the rows" in bare


def test_rows_of_another_fit_are_refused(
    fitted: ProjectedKMeans, wide: NDArray[np.float64]
) -> None:
    """Too few rows and an unknown shape give one sentence each."""
    with pytest.raises(ValueError, match="X has 10 rows and the model was fitted to 300"):
        fitted.to_html(wide[:10])
    with pytest.raises(ValueError, match="image_shape='square' is not known"):
        fitted.to_html(wide, image_shape="square")
