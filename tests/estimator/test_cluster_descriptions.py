"""What each cluster is: names, columns, sizes and nearest rows, for rows of any kind."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, as_row_source

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
