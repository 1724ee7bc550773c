"""A report is made from every kind of rows, with names of its rows and a line for each start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from numpy.typing import NDArray
from PIL import Image
from sklearn.decomposition import PCA

from projected_kmeans import FitState, ProjectedKMeans, open_rows
from projected_kmeans.reports.build import collect_passes, describe_report, name_data
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


def make_state(start: int, iteration: int, inertia: float) -> FitState:
    """Return the state after a pass on the sketch."""
    return FitState("cluster", start, iteration, 9, inertia, 0.0)


def test_starts_have_a_line_each() -> None:
    """The line with the kept inertia is the best; inertias are those of a row."""
    trace = [make_state(0, 1, 900.0), make_state(0, 2, 300.0), make_state(1, 1, 600.0)]
    lines = collect_passes(trace, [900.0, 300.0], [300])
    assert [(line.restart, line.passes, line.won) for line in lines] == [
        (0, (1, 2), True),
        (1, (1,), False),
    ]
    assert lines[0].inertia == (3.0, 1.0)


def test_further_levels_begin_further_lines() -> None:
    """After starts on 100 rows, the best one has a line with 200 rows and one with all 300."""
    trace = [
        make_state(0, 1, 50.0),
        make_state(1, 1, 40.0),
        make_state(0, 1, 90.0),
        make_state(0, 1, 150.0),
        make_state(0, 2, 120.0),
    ]
    lines = collect_passes(trace, [150.0, 120.0], [100, 200, 300])
    assert [(line.rows, line.won) for line in lines] == [
        (100, False),
        (100, False),
        (200, False),
        (300, True),
    ]
    assert [line.inertia for line in lines] == [(0.5,), (0.4,), (0.45,), (0.5, 0.4)]


def test_other_steps_are_left_out() -> None:
    """Only passes on the sketch with an inertia are drawn."""
    trace = [
        FitState("seed", 0, 1, 9, None, 0.0),
        make_state(0, 1, 600.0),
        FitState("polish", 0, 1, 9, 5.0, 0.0),
    ]
    assert [line.inertia for line in collect_passes(trace, [600.0], [300])] == [(2.0,)]
    assert collect_passes([], [], [300]) == ()


def list_names(report: Report) -> dict[int, str | None]:
    """Return the names of all members by their rows."""
    members = [one for group in report.members for one in (*group.typical, *group.outlying)]
    return {one.row: one.name for one in members}


@pytest.fixture
def rows() -> np.ndarray:
    """Return 40 rows in two clusters."""
    return np.random.default_rng(0).normal(size=(40, 3)) + 9 * (np.arange(40) % 2)[:, None]


def test_images_are_shown_and_named(tmp_path: Path) -> None:
    """Colour images of any shape are pictures without a flag, called by their files."""
    for number in range(12):
        tone = np.full((6, 5, 3), 20 * number, np.uint8)
        Image.fromarray(tone).save(tmp_path / f"{number:02}.png")
    source = open_rows(tmp_path)
    report = describe_report(ProjectedKMeans(2, random_state=0).fit(source), source)
    assert report.image_shape == (6, 5, 3)
    assert all(one.picture for one in report.clusters)
    assert list_names(report) == {row: f"{row:02}.png" for row in list_names(report)}
    assert report.row_map is not None
    assert report.row_map.names == tuple(f"{row:02}.png" for row in report.row_map.rows)


def test_names_come_from_the_index_or_the_caller(rows: np.ndarray, tmp_path: Path) -> None:
    """An index of its own names rows, a plain numbering does not; stored reports keep names."""
    model = ProjectedKMeans(2, random_state=0).fit(rows)
    plain = pd.DataFrame(rows)
    named = plain.set_axis([f"r{row}" for row in range(40)])
    assert set(list_names(describe_report(model, plain)).values()) == {None}
    for report in (
        describe_report(model, named),
        describe_report(model, rows, ids=list(named.index)),
        describe_report(model, rows, ids=lambda some: {row: f"r{row}" for row in some}),
    ):
        assert list_names(report) == {row: f"r{row}" for row in list_names(report)}
    assert load_report(save_report(report, tmp_path)) == report
    with pytest.raises(ValueError, match="ids has 3 entries for 40 rows"):
        describe_report(model, rows, ids=["a", "b", "c"])


def test_columns_get_the_names_that_are_given(rows: np.ndarray) -> None:
    """to_html takes the words of a vocabulary, one for each column."""
    model = ProjectedKMeans(2, random_state=0).fit(rows)
    page = model.to_html(rows, feature_names=["apple", "pear", "plum"])
    assert "apple" in page
    with pytest.raises(ValueError, match="feature_names has 1 entries for 3 columns"):
        model.to_html(rows, feature_names=["apple"])


def test_rows_on_dask_are_reported(rows: np.ndarray) -> None:
    """The report of Dask's rows, weighted or not, is that of the same rows in memory."""
    lazy, weights = da.from_array(rows, chunks=(11, 3)), np.arange(1.0, 41.0)
    model = ProjectedKMeans(2, random_state=0).fit(lazy, sample_weight=weights)
    held = ProjectedKMeans(2, random_state=0).fit(rows, sample_weight=weights)
    found = describe_report(model, lazy, sample_weight=da.from_array(weights, chunks=11))
    expected = describe_report(held, rows, sample_weight=weights)
    assert found.members == expected.members
    inertias = [[one.inertia for one in report.clusters] for report in (found, expected)]
    np.testing.assert_allclose(inertias[0], inertias[1], rtol=1e-12)
    assert found.facts.data.shape == (40, 3)


def test_the_rows_are_called_by_their_file(tmp_path: Path) -> None:
    """The title of a report is the name of the file or folder of the rows; arrays have none."""
    rows = np.random.default_rng(0).normal(size=(30, 4))
    (tmp_path / "parts").mkdir()
    for name in ("a", "b"):
        np.save(tmp_path / "parts" / f"{name}.npy", rows)
    assert name_data(open_rows(tmp_path / "parts" / "a.npy")) == "a.npy"
    assert name_data(open_rows(tmp_path / "parts")) == "parts"
    assert name_data(rows) == "X"
    with open_rows(tmp_path / "parts" / "b.npy") as source:
        model = ProjectedKMeans(2, random_state=0).fit(source)
        assert describe_report(model, source).facts.data.name == "b.npy"


def test_pictures_of_mat_files_stand_upright(tmp_path: Path) -> None:
    """MATLAB stores pictures column by column, so that a row of a .mat file is turned."""
    stream = np.random.default_rng(0)
    pictures = np.cumsum(stream.normal(size=(30, 9, 9)), axis=1).cumsum(axis=2)
    wide = pictures.reshape(30, 81)
    scipy.io.savemat(tmp_path / "rows.mat", {"fea": pictures.transpose(0, 2, 1).reshape(30, 81)})
    model = ProjectedKMeans(2, random_state=0).fit(wide)
    seen = describe_report(model, wide, image_shape=(9, 9)).clusters
    with open_rows(tmp_path / "rows.mat") as source:
        again = ProjectedKMeans(2, init=turn_centers(model)).fit(source)
        found = describe_report(again, source, image_shape=(9, 9)).clusters
    assert [one.picture for one in found] == [one.picture for one in seen]


def turn_centers(model: ProjectedKMeans) -> np.ndarray:
    """Return the centers of a model, as its pictures are stored in the .mat file."""
    return model.cluster_centers_.reshape(-1, 9, 9).transpose(0, 2, 1).reshape(-1, 81)
