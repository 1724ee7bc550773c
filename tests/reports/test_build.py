"""The report of a fit: what it measures, how it is kept, and that all its texts stay texts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.demo.glyphs import draw_glyphs
from projected_kmeans.reports.build import describe_report, tell_passes
from projected_kmeans.reports.files import load_report, read_value, save_report
from projected_kmeans.reports.members import check_image_shape, guess_image_shape
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.plots import guarantee
from projected_kmeans.reports.rows import FEW, walk_clusters
from projected_kmeans.reports.sentences import tell_answer, tell_snippet
from projected_kmeans.reports.values import Report
from projected_kmeans.sources.array_source import as_row_source
from tests.support.commands import ROWS

EVIL = "<script>alert(1)</script>"
STREAM = np.random.default_rng(7)
WIDE = STREAM.normal(size=(300, 200)) + 4 * STREAM.normal(size=(5, 200))[np.arange(300) % 5]


@pytest.fixture(scope="module")
def fitted() -> ProjectedKMeans:
    """Return a model of five clear clusters, found in a sketch."""
    return ProjectedKMeans(5, projection="sign", n_components=20, random_state=3).fit(WIDE)


@pytest.fixture(scope="module")
def report(fitted: ProjectedKMeans) -> Report:
    """Return its report."""
    return describe_report(fitted, WIDE, name="wide")


# --- what is measured ----------------------------------------------------------------------------


def test_clusters_are_measured_as_numpy_measures_them(
    report: Report, fitted: ProjectedKMeans
) -> None:
    """Rows, inertia, spread and farthest of every cluster are those of plain NumPy."""
    squares = np.sum((WIDE - fitted.cluster_centers_[fitted.labels_]) ** 2, axis=1)
    for one in report.clusters:
        own = squares[fitted.labels_ == one.cluster]
        assert one.rows == len(own)
        np.testing.assert_allclose(one.inertia, own.sum())
        np.testing.assert_allclose(one.spread, np.sqrt(own.mean()))
        np.testing.assert_allclose(one.farthest, np.sqrt(own.max()))
    total = sum(one.inertia for one in report.clusters if one.inertia is not None)
    np.testing.assert_allclose(total, fitted.inertia_)


def test_members_are_the_nearest_and_the_farthest(report: Report, fitted: ProjectedKMeans) -> None:
    """Typical rows have the least distances of their cluster, outlying rows the largest."""
    distances = np.sqrt(np.sum((WIDE - fitted.cluster_centers_[fitted.labels_]) ** 2, axis=1))
    for one in report.members:
        own = np.flatnonzero(fitted.labels_ == one.cluster)
        order = own[np.argsort(distances[own])]
        assert [member.row for member in one.typical] == order[:FEW].tolist()
        assert [member.row for member in one.outlying] == order[::-1][:FEW].tolist()
        for member in (*one.typical, *one.outlying):
            np.testing.assert_allclose(member.distance, distances[member.row])


def test_blocks_do_not_matter() -> None:
    """A walk over many small blocks finds what one over a single block finds."""
    centers, labels = WIDE[:7].copy(), (np.arange(300) % 7).astype(np.int32)
    weights = STREAM.uniform(size=300)
    source = as_row_source(WIDE)
    one, many = (
        walk_clusters(StoredBlocks(source, block_rows=size), centers, labels, weights)
        for size in (300, 11)
    )
    for first, second in zip(one, many, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)


def test_a_row_very_far_away_has_a_distance() -> None:
    """A row whose squared distance overflows beside the centers is measured all the same."""
    rows = np.array([[1.0], [1.0], [1e20]])
    walk = walk_clusters(
        StoredBlocks(as_row_source(rows)), np.array([[1.0]]), np.zeros(3, np.int32)
    )
    np.testing.assert_allclose(walk.far[0, 0], 1e40)


def test_weights_count() -> None:
    """With the weights of the fit, inertias of clusters add up to the inertia of the fit."""
    weights = STREAM.uniform(0.5, 2.0, size=300)
    model = ProjectedKMeans(5, random_state=0).fit(WIDE, sample_weight=weights)
    report = describe_report(model, WIDE, sample_weight=weights)
    total = sum(one.inertia for one in report.clusters if one.inertia is not None)
    np.testing.assert_allclose(total, model.inertia_)


def test_the_map_is_a_uniform_sample_along_principal_directions() -> None:
    """Large data is sampled by the key, and the axes are those of an exact decomposition."""
    X = np.random.default_rng(1).normal(size=(5000, 6)) * [9, 5, 1, 1, 1, 1]
    model = ProjectedKMeans(4, projection=None, random_state=2).fit(X)
    points = describe_report(model, X).row_map
    again = describe_report(model, X).row_map
    assert points == again
    assert points is not None
    rows = np.array(points.rows)
    assert len(rows) == 3000 == len(set(rows.tolist()))
    # The mean of 3000 of 5000 indices has a deviation of 17; 5 deviations fail once in a million.
    assert abs(rows.mean() - 2499.5) < 85
    assert points.clusters == tuple(model.labels_[rows].tolist())
    centred = X[rows] - X[rows].mean(axis=0)
    exact = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
    assert abs(np.corrcoef(exact, points.x)[0, 1]) > 0.999
    assert 0.7 < points.kept < 1


def test_fewer_dimensions_cost_more(report: Report) -> None:
    """The curve ends at the sketch's own dimensions near 1, and one dimension costs much more."""
    curve = report.curve
    assert curve is not None
    assert curve.dimensions == (1, 2, 4, 8, 16, 20)
    np.testing.assert_allclose(curve.ratios[-1], 1.0, atol=0.02)
    assert curve.ratios[0] > 1.2


def test_the_bound_is_the_papers() -> None:
    """From 9 k dimensions on the paper promises 2 + sqrt(k / t); before that nothing."""
    dimensions, ratios = guarantee(10, 1000)
    np.testing.assert_allclose(ratios, 2 + np.sqrt(10 / np.array(dimensions)))
    assert dimensions[0] == pytest.approx(90)
    assert guarantee(10, 89) == ([], [])


@pytest.mark.parametrize("kind", ["sparse", "stored", "cosine", "float32", "transformer", "list"])
def test_every_kind_of_rows_is_reported(kind: str) -> None:
    """Sparse rows, row sources, directions, other maps and lists give whole reports."""
    X: Any = np.where(WIDE > 3, WIDE, 0)
    X = X.astype(np.float32) if kind == "float32" else X
    X = scipy.sparse.csr_array(X) if kind == "sparse" else X
    X = X.tolist() if kind == "list" else X
    X = as_row_source(X) if kind == "stored" else X
    options: dict[str, Any] = {"metric": "cosine"} if kind == "cosine" else {}
    if kind == "transformer":
        from sklearn.decomposition import PCA

        options["projection"] = PCA(3, random_state=0)
    model = ProjectedKMeans(5, random_state=0, **options).fit(X)
    found = describe_report(model, X)
    total = sum(one.inertia for one in found.clusters if one.inertia is not None)
    np.testing.assert_allclose(total, model.inertia_, rtol=1e-5)
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
    """Empty clusters, a single row and rows without any distance give whole reports."""
    model = ProjectedKMeans(n_clusters, random_state=0).fit(rows)
    found = describe_report(model, rows)
    assert sum(one.rows for one in found.clusters) == len(rows)
    assert [one.farthest for one in found.clusters] == [0.0] * n_clusters
    assert load_report(save_report(found, tmp_path)) == found
    assert render_report(found)


def test_a_limit_of_memory_holds_for_the_report() -> None:
    """Under a limit fewer rows are sampled, and the report is whole all the same."""
    source = as_row_source(np.random.default_rng(0).normal(size=(4000, 400)).astype(np.float32))
    model = ProjectedKMeans(3, projection="sign", random_state=0, memory_limit="8MB").fit(source)
    found = describe_report(model, source)
    assert found.row_map is not None
    assert len(found.row_map.rows) == 8_000_000 // 8 // (8 * 400)
    assert len(found.members) == 3


# --- pictures and columns ------------------------------------------------------------------------


def test_pictures_are_recognised() -> None:
    """Drawn characters are square pictures; noise, sparse rows and named columns are not."""
    images = draw_glyphs(200, seed=0).images
    assert guess_image_shape(images, None) == (64, 64)
    assert guess_image_shape(images, ["pixel"] * 4096) is None
    assert guess_image_shape(STREAM.normal(size=(200, 4096)), None) is None
    assert guess_image_shape(scipy.sparse.csr_array(images), None) is None


@pytest.mark.parametrize("shape", [(8, 9), (8,), (64, 1, 2), (-8, -8), ("8", "8")])
def test_wrong_image_shapes_are_refused(shape: Any) -> None:
    """A shape that is none, or does not fit the rows, is one sentence."""
    with pytest.raises(ValueError, match="image_shape="):
        check_image_shape(shape, 64)


def test_columns_in_which_a_center_stands_out_come_first() -> None:
    """The column that was moved for a cluster is the first that its members show."""
    X = np.random.default_rng(0).normal(size=(90, 5))
    X[:30, 3] += 50
    table = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    model = ProjectedKMeans(2, random_state=0).fit(table)
    found = describe_report(model, table)
    moved = next(one for one in found.members if one.cluster == model.labels_[0])
    assert moved.columns[0].name == "d"
    assert moved.typical[0].values[0] == X[moved.typical[0].row, 3]


# --- the way down --------------------------------------------------------------------------------


def test_the_trace_holds_every_pass(fitted: ProjectedKMeans, report: Report) -> None:
    """The line that won ends where the fit's own history ends."""
    won = next(line for line in report.passes if line.won)
    np.testing.assert_allclose(won.inertia[-1] * 300, fitted.history_[-1])
    assert sum(line.won for line in report.passes) == 1
    assert report.original_inertia[-1] == fitted.inertia_


def test_lines_pause_and_begin_again(report: Report) -> None:
    """A restart that paused goes on with its line; after a subsample the best begins another."""

    def state(restart: int, iteration: int, inertia: float) -> FitState:
        return FitState("cluster", restart, iteration, 9, inertia, 0.0)

    halved = [state(0, 1, 900.0), state(1, 1, 600.0), state(0, 2, 300.0)]
    lines = tell_passes(halved, [300.0], 0, report.facts)
    assert [(line.restart, line.passes, line.won) for line in lines] == [
        (0, (1, 2), True),
        (1, (1,), False),
    ]
    assert lines[0].inertia == (3.0, 1.0)
    rehearsed = [state(0, 1, 50.0), state(1, 1, 40.0), state(1, 1, 150.0)]
    lines = tell_passes(rehearsed, [150.0], 100, report.facts)
    assert [(line.rows, line.won) for line in lines] == [(100, False), (100, False), (300, True)]


# --- files ---------------------------------------------------------------------------------------


def test_a_stored_report_is_the_same(report: Report, tmp_path: Path) -> None:
    """What is written is what is read, to the last bit; folder and file lead to it."""
    path = save_report(report, tmp_path)
    assert load_report(path) == report == load_report(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": "other"}, "is not a projected_kmeans result or report"),
        ({"format_version": 2}, "has format version 2 and this package reads 1"),
        ({"clusters": "none"}, "clusters is 'none' where tuple is due"),
        ({"facts": None}, "facts is None where FitFacts is due"),
        ({"members": [{"cluster": 1.5}]}, "cluster is 1.5 where int is due"),
        ({"image_shape": [1, True]}, "image_shape is True where int is due"),
    ],
)
def test_a_damaged_report_is_one_sentence(
    report: Report, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    """Whatever is wrong in report.json is said in one sentence that names the file."""
    path = save_report(report, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        load_report(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[1]", '{"format": NaN}', ""])
def test_what_is_no_json_is_one_sentence(tmp_path: Path, content: str) -> None:
    """Files that are not JSON objects are refused."""
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(ValueError, match=r"result\.json is not"):
        load_report(tmp_path)


def test_lengths_are_compared(report: Report) -> None:
    """A map, a restart and a curve with columns of different lengths are refused."""
    assert report.row_map is not None
    assert report.curve is not None
    for value, name in (
        (report.row_map, "x"),
        (report.passes[0], "passes"),
        (report.curve, "ratios"),
    ):
        with pytest.raises(ValueError, match="fit again"):
            replace(value, **{name: (1.0,) * 99})


def test_values_are_read_by_their_type() -> None:
    """Numbers are taken as numbers, and infinity as none."""
    assert read_value(dict[str, float], {"a": 1}, "x") == {"a": 1.0}
    with pytest.raises(ValueError, match="where float is due"):
        read_value(float, float("inf"), "x")


# --- words and pages -----------------------------------------------------------------------------


def test_the_answer_is_two_sentences() -> None:
    """The answer tells clusters, rows, inertia, proof, time and plan."""
    model = ProjectedKMeans(3, random_state=0, certificate="auto").fit(ROWS)
    answer = tell_answer(describe_report(model, ROWS))
    for part in ("3 clusters of 60 rows (12 columns)", "proven within", "planned", "proving took"):
        assert part in answer
    assert len(re.findall(r"\.(?= |$)", answer)) == 2


def test_the_snippet_repeats_the_fit(fitted: ProjectedKMeans, report: Report) -> None:
    """The lines under "how to reproduce" give the same labels."""
    space: dict[str, Any] = {"X": WIDE}
    exec(tell_snippet(report.facts), space)
    np.testing.assert_array_equal(space["model"].labels_, fitted.labels_)


def test_texts_stay_texts() -> None:
    """Names that look like scripts are escaped in the page and in the JSON within it."""
    table = pd.DataFrame(ROWS, columns=[f"{EVIL}{column}" for column in range(12)])
    model = ProjectedKMeans(3, random_state=0).fit(table)
    report = describe_report(
        model, table, name=EVIL, cluster_names=[EVIL] * 3, command=f"fit '{EVIL}'"
    )
    page = render_report(report)
    assert EVIL not in page
    assert page.count("&lt;script&gt;alert(1)") >= 5
    assert page.count("</script>") == 3


def test_a_page_needs_nothing_else(report: Report) -> None:
    """The page names no address to load from, and forbids itself to load any."""
    page = render_report(report)
    assert "default-src &#39;none&#39;" in page
    body = page[: page.index('<script type="application/json"')]
    assert not re.search(r"(src|href)=\"(?!#|data:)", body)


def test_to_html_writes_and_returns_the_page(fitted: ProjectedKMeans, tmp_path: Path) -> None:
    """The same page is returned and written; without rows it says what is missing."""
    page = fitted.to_html(WIDE, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == page
    assert "5 clusters of 300 rows" in page
    assert 'id="map"' in page
    bare = fitted.to_html()
    assert 'id="map"' not in bare
    assert "made without the rows" in bare


def test_rows_of_another_fit_are_refused(fitted: ProjectedKMeans) -> None:
    """Too few rows and unknown shapes are one sentence each."""
    with pytest.raises(ValueError, match="X has 10 rows and the model was fitted to 300"):
        fitted.to_html(WIDE[:10])
    with pytest.raises(ValueError, match="image_shape='square' is not known"):
        fitted.to_html(WIDE, image_shape="square")


def test_notebooks_show_results_above_the_diagram(fitted: ProjectedKMeans) -> None:
    """Before a fit notebooks show the diagram alone, after it the results too."""
    before = ProjectedKMeans(5)._repr_mimebundle_()
    assert "sk-top-container" in before["text/html"]
    assert "clusters of" not in before["text/html"]
    after = fitted._repr_mimebundle_()
    assert "5 clusters of 300 rows" in after["text/html"]
    assert "sk-top-container" in after["text/html"]
    assert "5 clusters of 300 rows" in fitted._repr_html_()
    assert after["text/plain"] == repr(fitted)
