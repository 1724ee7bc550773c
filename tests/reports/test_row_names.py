"""The names of rows in a report: of files, of a table's index, or those that the caller gives."""

from __future__ import annotations

from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.io
from PIL import Image

from projected_kmeans import ProjectedKMeans, open_rows
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.files import load_report, save_report
from projected_kmeans.reports.row_names import name_data
from projected_kmeans.reports.values import Report


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
