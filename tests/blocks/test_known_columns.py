"""Columns of new rows are found by their names: in any order, beside others, and not without."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, as_row_source, open_rows
from projected_kmeans.sources.feature_columns import ChosenColumns

STREAM = np.random.default_rng(0)
TABLE = pd.DataFrame(STREAM.normal(size=(80, 3)) + 4 * STREAM.integers(0, 2, (80, 1)))
TABLE.columns = ["width", "height", "depth"]
MODEL = ProjectedKMeans(2, random_state=0).fit(TABLE)
LABELS = MODEL.labels_
TURNED = TABLE[["depth", "width", "height"]]


def source_of(table: pd.DataFrame) -> Any:
    """Return the row source of a table."""
    return as_row_source(table)


@pytest.mark.parametrize(
    "form", [pd.DataFrame, pl.from_pandas, source_of, lambda table: dd.from_pandas(table, 3)]
)
def test_columns_in_another_order(form: Any) -> None:
    """All kinds of tables give the labels of the fit, without a warning."""
    given = form(TURNED)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        np.testing.assert_array_equal(np.asarray(MODEL.predict(given)), LABELS)
        assert MODEL.score(given) == pytest.approx(-MODEL.inertia_, rel=1e-9)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, source_of])
def test_other_columns_are_ignored_with_a_warning(form: Any) -> None:
    """Columns that the model does not know are named."""
    more = TURNED.assign(age=3.0, zip=9.0)
    with pytest.warns(UserWarning, match=r"does not know \(age, zip\); they are ignored"):
        np.testing.assert_array_equal(np.asarray(MODEL.predict(form(more))), LABELS)


def test_a_missing_column_is_named() -> None:
    """The sentence has the column, and the nearest name that there is."""
    typed = TABLE.rename(columns={"height": "hieght"})
    with pytest.raises(ValueError, match=r"no column 'height', which .* did you mean 'hieght'"):
        MODEL.predict(typed)
    with pytest.raises(ValueError, match=r"no column 'height' and 1 more, .*; it has width"):
        MODEL.predict(TABLE[["width"]])


def test_rows_without_names_are_taken_as_they_are() -> None:
    """An array has as many columns as the model, in its order."""
    np.testing.assert_array_equal(MODEL.predict(source_of(TABLE.to_numpy())), LABELS)
    with pytest.raises(ValueError, match="2 features"):
        MODEL.predict(source_of(TABLE.to_numpy()[:, :2]))


def test_files_and_streams(tmp_path: Path) -> None:
    """Files are read by names, and so are the blocks of a stream."""
    TURNED.to_csv(tmp_path / "rows.csv", index=False)
    np.testing.assert_array_equal(MODEL.predict(open_rows(tmp_path / "rows.csv")), LABELS)
    stream = ProjectedKMeans(2, random_state=0).partial_fit(TABLE[:40]).partial_fit(TURNED[40:])
    same = ProjectedKMeans(2, random_state=0).partial_fit(TABLE)
    assert stream.cluster_centers_.tobytes() == same.cluster_centers_.tobytes()


def test_tables_of_arrow() -> None:
    """A pyarrow table as a row source has names, too."""
    table = as_row_source(pa.Table.from_pandas(TURNED))
    np.testing.assert_array_equal(MODEL.predict(table), LABELS)


def test_chosen_columns_of_a_source() -> None:
    """Dense and sparse rows keep the chosen columns; the choice is part of the identity."""
    rows = np.arange(12.0).reshape(3, 4)
    for given in (rows, scipy.sparse.csr_array(rows)):
        source = ChosenColumns(as_row_source(given), [2, 0])
        found: Any = source.read(1, 3)
        dense = found.toarray() if scipy.sparse.issparse(found) else found
        np.testing.assert_array_equal(dense, rows[1:3][:, [2, 0]])
        assert source.shape == (3, 2)
        assert source.identity() != ChosenColumns(as_row_source(given), [0, 2]).identity()
        source.close()
