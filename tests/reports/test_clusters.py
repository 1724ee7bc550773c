"""Facts and members of clusters agree with NumPy, and with `describe_clusters` to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, open_rows
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.clusters import N_MEMBERS, find_majorities, find_nearest_clusters
from projected_kmeans.reports.sentences import write_map_note
from projected_kmeans.reports.values import Report
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.protocol import RowSource


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


def test_columns_in_which_a_center_stands_out_come_first() -> None:
    """The column that was moved for one cluster is the first that its members show."""
    X = np.random.default_rng(0).normal(size=(90, 5))
    X[:30, 3] += 50
    table = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    model = ProjectedKMeans(2, random_state=0).fit(table)
    found = describe_report(model, table)
    moved = next(one for one in found.members if one.cluster == model.labels_[0])
    assert moved.columns[0].name == "d"
    assert moved.typical[0].values[0] == X[moved.typical[0].row, 3]


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


STREAM = np.random.default_rng(5)
HOMES = STREAM.integers(4, size=600)
ROWS = 3 * STREAM.normal(size=(4, 12))[HOMES] + STREAM.normal(size=(600, 12))
WEIGHTS = STREAM.uniform(0.1, 3.0, size=600)
HOLED, HOLED_WEIGHTS = ROWS.copy(), WEIGHTS.copy()
HOLED[STREAM.choice(600, 40, replace=False), 3] = np.nan
HOLED_WEIGHTS[STREAM.choice(600, 20, replace=False)] = np.nan
WORDS = np.where(ROWS > 1, ROWS, 0.0)


def store(rows: NDArray[np.float64], folder: Path) -> RowSource:
    """Return rows that are read from a file."""
    np.save(folder / "rows.npy", rows)
    return open_rows(folder / "rows.npy")


@pytest.mark.parametrize("kind", ["array", "file", "dask"])
@pytest.mark.parametrize(
    ("rows", "weights", "options"),
    [
        (ROWS, None, {}),
        (HOLED, HOLED_WEIGHTS, {"on_missing": "skip"}),
        (HOLED, None, {"on_missing": "skip", "trim": 0.05}),
        (ROWS, WEIGHTS, {"trim": 0.1}),
        (ROWS, WEIGHTS, {"metric": "cosine"}),
        (ROWS, WEIGHTS, {"max_cluster_size": 400.0}),
    ],
    ids=["plain", "weights and holes", "trimmed and holes", "trimmed", "cosine", "limited"],
)
def test_reports_and_descriptions_have_the_same_numbers(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    options: dict[str, Any],
    kind: str,
    tmp_path: Path,
) -> None:
    """Rows, shares, spreads, names, columns and nearest rows are the same to the bit."""
    given: Any = rows
    if kind == "file":
        given = store(rows, tmp_path)
    elif kind == "dask":
        given = da.from_array(rows, chunks=(170, 12))
    model = ProjectedKMeans(4, random_state=0, **options).fit(given, sample_weight=weights)
    check_same(model, given, weights)
    labels = np.asarray(model.labels_)
    mass = np.ones(len(rows)) if weights is None else weights
    expected = np.bincount(labels[labels >= 0], mass[labels >= 0], minlength=4)
    shares = [one.share for one in describe_report(model, given, sample_weight=weights).clusters]
    np.testing.assert_allclose(shares, expected / expected.sum())


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_reports_and_descriptions_have_the_same_numbers(metric: str) -> None:
    """Terms of sparse rows with weights are the same, too."""
    rows = scipy.sparse.csr_array(WORDS)
    model = ProjectedKMeans(4, metric=metric, random_state=0).fit(rows, sample_weight=WEIGHTS)
    check_same(model, rows, WEIGHTS)


def check_same(model: ProjectedKMeans, rows: Any, weights: NDArray[np.float64] | None) -> None:
    """Compare the report of a fit with the descriptions of the same rows, weights and labels."""
    report = describe_report(model, rows, sample_weight=weights)
    table = model.describe_clusters(
        rows, sample_weight=weights, labels=model.labels_, n_representatives=N_MEMBERS
    )
    lines = table.to_dict("records")
    for one, members, line in zip(report.clusters, report.members, lines, strict=True):
        assert (one.rows, one.share, one.spread) == (line["rows"], line["share"], line["spread"])
        assert one.summary == line["name"]
        assert [column.name for column in members.columns] == line["columns"]
        assert [column.value for column in members.columns] == line["values"]
        assert [column.mean for column in members.columns] == line["means"]
        assert [member.row for member in members.typical] == line["representatives"]
        assert [member.distance for member in members.typical] == line["distances"]
    assert tuple(one.rows for one in report.clusters) == report.facts.results.cluster_sizes
    inertias = [one.inertia for one in report.clusters]
    np.testing.assert_allclose(sum(map(float, inertias)), model.inertia_, rtol=1e-9)


def test_labels_take_the_place_of_predict() -> None:
    """Rows below 0 take no part; labels that do not fit the rows get a sentence."""
    model = ProjectedKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [8.0]])
    rows, labels = [[0.0], [1.0], [9.0], [8.0]], [1, 0, 0, -5]
    table = model.describe_clusters(rows, labels=labels)
    assert table["rows"].tolist() == [2, 1]
    assert table["share"].tolist() == [2 / 3, 1 / 3]
    for wrong in ([0, 1], [0.0, 1.0, 0.0, 1.0], [0, 1, 2, 0]):
        with pytest.raises(ValueError, match="give each of the 4 rows its cluster, below 2"):
            model.describe_clusters(rows, labels=wrong)
    with pytest.raises(ValueError, match="no row of X is in a cluster"):
        model.describe_clusters(rows, labels=[-1] * 4)


def test_a_row_very_far_away_has_a_distance() -> None:
    """A row whose squared distance overflows in float32 is measured correctly."""
    rows = np.array([[1.0], [1.0], [1e20]], dtype=np.float32)
    model = ProjectedKMeans(1, random_state=0).fit(rows)
    found = describe_report(model, rows).clusters[0]
    np.testing.assert_allclose(found.farthest, 2e20 / 3, rtol=1e-6)


def test_the_map_tells_how_many_rows_there_are() -> None:
    """If all rows that are in a cluster are shown, the note does not call them drawn at random."""
    model = ProjectedKMeans(4, random_state=0, on_missing="skip").fit(HOLED)
    note = write_map_note(describe_report(model, HOLED))
    assert note.startswith("All 560 rows that are in a cluster, along the two directions")
    page = model.to_html(HOLED)
    assert "40 of 600 rows are in no cluster" in page
