"""What each cluster is: names, columns, sizes and nearest rows, for rows of any kind."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, as_row_source
from tests.support.small_blocks import use_small_blocks

STREAM = np.random.default_rng(0)
HOMES = np.repeat(np.arange(3), [50, 100, 150])
ROWS = STREAM.normal(size=(300, 6)) + 9 * np.eye(3, 6)[HOMES]
NAMES = ["red", "green", "blue", "noise 1", "noise 2", "noise 3"]


def test_planted_columns_are_found() -> None:
    """Each cluster is named after the column that it was planted in, with size and ids."""
    table = pd.DataFrame(ROWS, columns=NAMES, index=[f"row {row}" for row in range(300)])
    model = ProjectedKMeans(3, random_state=0).fit(table)
    found = model.describe_clusters(table, n_representatives=2)
    assert isinstance(found, pd.DataFrame)
    labels = model.predict(table).to_numpy()
    nearest = model.representatives(table, 2)
    for home, name in enumerate(NAMES[:3]):
        cluster = labels[np.flatnonzero(home == HOMES)[0]]
        line = found.to_dict("records")[cluster]
        inside = ROWS[labels == cluster]
        assert (line["cluster"], line["rows"]) == (cluster, len(inside))
        assert line["share"] == pytest.approx(len(inside) / 300)
        assert line["name"].startswith(f"high {name}")
        assert line["columns"][0] == name
        assert line["values"][0] == pytest.approx(inside[:, home].mean())
        assert line["means"][0] == pytest.approx(ROWS[:, home].mean())
        assert line["representatives"] == nearest.ids[cluster].tolist()  # type: ignore[index]
        center = model.cluster_centers_[cluster]
        spread = np.sqrt(((inside - center) ** 2).sum(axis=1).mean())
        assert line["spread"] == pytest.approx(spread)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_kinds_of_rows_agree(metric: str) -> None:
    """Rows in memory, in a source and on Dask are described alike, to the bit."""
    model = ProjectedKMeans(3, metric=metric, random_state=0).fit(ROWS)
    weights = STREAM.random(300)
    expected = model.describe_clusters(ROWS, sample_weight=weights)
    kinds: list[Any] = [as_row_source(ROWS), da.from_array(ROWS, chunks=(70, 4))]
    for rows in kinds:
        found = model.describe_clusters(rows, sample_weight=weights)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_terms_of_sparse_rows_are_above_the_mean() -> None:
    """Columns of sparse rows are named without high or low, and only if they are above the mean."""
    words = np.where(ROWS > 2, 1.0, 0.0)
    rows = scipy.sparse.csr_array(words)
    model = ProjectedKMeans(3, metric="cosine", random_state=0).fit(rows)
    found = model.describe_clusters(rows, feature_names=NAMES)
    assert {name.split(",")[0] for name in found["name"]} == set(NAMES[:3])
    assert all(score > 0 for scores in found["correlations"] for score in scores)


def test_polars_gets_polars() -> None:
    """A table of polars is described by a table of polars."""
    table = pl.DataFrame(ROWS, schema=NAMES)
    model = ProjectedKMeans(3, random_state=0).fit(table)
    found = model.describe_clusters(table)
    assert isinstance(found, pl.DataFrame)
    assert found["rows"].sum() == 300


def test_bad_names_get_a_sentence() -> None:
    """Names that are not one for each column are refused."""
    model = ProjectedKMeans(3, random_state=0).fit(ROWS)
    with pytest.raises(ValueError, match="feature_names has 2 entries for 6 columns"):
        model.describe_clusters(ROWS, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="n_columns=0 is too small"):
        model.describe_clusters(ROWS, n_columns=0)


# Small integers, so that many rows are equal and distances tie.
TIED = np.random.default_rng(0).integers(-3, 4, size=(900, 5)).astype(np.float32)


def sort_rows(model: ProjectedKMeans, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the nearest rows of every cluster and their distances, by a sort of all of them."""
    labels, rows = model.predict(TIED), TIED.astype(np.float64)
    if model.metric == "cosine":
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1.0)
    distances = np.linalg.norm(rows - model.cluster_centers_[labels], axis=1)
    order = np.lexsort((np.arange(len(rows)), distances.round(9), labels))
    picked = np.array([order[labels[order] == c][:n_rows] for c in range(model.n_clusters)])
    return picked, distances[picked]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", ["array", "sparse", "source", "dask", "threads", "blocks"])
def test_representatives_are_the_nearest_rows(
    metric: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of a sort of all rows, for rows of any kind, blocks and threads."""
    model = ProjectedKMeans(7, metric=metric, random_state=0, n_threads=1).fit(TIED)
    given: Any = TIED
    if kind == "sparse":
        given = scipy.sparse.csr_array(TIED)
    elif kind == "source":
        given = as_row_source(TIED)
    elif kind == "dask":
        given = da.from_array(TIED, chunks=((1, 299, 600), (3, 2)))
    elif kind == "threads":
        model.set_params(n_threads=4)
    elif kind == "blocks":
        use_small_blocks(monkeypatch, 100)
    found = model.representatives(given, 3)
    rows, distances = sort_rows(model, 3)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)
    assert found.ids is None


def test_ids_are_those_of_the_rows() -> None:
    """Ids come from the caller, or from the index of a table, and name the rows that were found."""
    model = ProjectedKMeans(3, random_state=0).fit(TIED)
    names = [f"row {row}" for row in range(len(TIED))]
    table = pd.DataFrame(TIED, index=names)
    for found in (model.representatives(TIED, 2, ids=names), model.representatives(table, 2)):
        assert found.ids is not None
        assert found.ids.tolist() == [[names[row] for row in rows] for rows in found.rows]


def test_small_clusters_have_fewer_rows() -> None:
    """Where a cluster has fewer rows than were asked for, the rest is -1, infinity and None."""
    rows = np.array([[0.0], [0.0], [9.0]])
    model = ProjectedKMeans(2, random_state=0).fit(rows)
    found = model.representatives(rows, 2, ids="abc")
    cluster = int(model.predict([[9.0]])[0])
    assert found.rows[cluster].tolist() == [2, -1]
    assert found.distances[cluster].tolist() == [0.0, np.inf]
    assert found.ids is not None
    assert found.ids[cluster].tolist() == ["c", None]


def test_bad_arguments_get_a_sentence() -> None:
    """A number below 1, too few ids and rows with NaN are refused."""
    model = ProjectedKMeans(2, random_state=0).fit(TIED)
    with pytest.raises(ValueError, match="n_rows=0 is too small"):
        model.representatives(TIED, 0)
    with pytest.raises(ValueError, match="ids has 2 entries for 900 rows"):
        model.representatives(TIED, ids=["a", "b"])
    bad = TIED.copy()
    bad[17, 3] = np.nan
    with pytest.raises(ValueError, match="NaN at row 17, column 3"):
        model.representatives(bad)
