"""Tables of pandas, polars and pyarrow as sources: missing numbers, and other columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.protocol import UnreadableFile


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, None, 3]}, dtype="Int64"),
        pl.DataFrame({"a": [1, None, 3]}),
        pd.DataFrame({"a": [1.0, None, 3.0]}),
        pl.DataFrame({"a": [1.0, None, 3.0]}),
        pa.table({"a": [1.0, None, 3.0]}),
    ],
)
def test_missing_numbers_are_nan(table: Any) -> None:
    """A number that is missing in a table becomes NaN among floats."""
    np.testing.assert_array_equal(as_row_source(table).read(0, 3), [[1], [np.nan], [3]])


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (pd.DataFrame({"a": [1], "word": ["x"]}), "do not hold numbers (word); leave them out"),
        (pl.DataFrame({"a": [1], "word": ["x"]}), "do not hold numbers (word); leave them out"),
        (pa.table({"a": [1], "word": ["x"]}), "do not hold numbers (word); leave them out"),
        (pl.DataFrame({"a": [1]}).lazy(), "LazyFrame is not a table; give a DataFrame"),
        (pa.array([1.0]), "DoubleArray is not a table; give a Table"),
        (pd.DataFrame(), "shape (0, 0); give at least one row"),
        (pa.table({}), "the table has no columns; give at least one of numbers"),
        (pa.table({"v": pa.array([], pa.list_(pa.float32()))}), "shape (0, 0)"),
    ],
)
def test_tables_that_are_not_a_matrix(data: Any, part: str) -> None:
    """Columns without numbers, empty tables and other classes are refused in a sentence."""
    with pytest.raises(UnreadableFile) as caught:
        as_row_source(data)
    assert part in str(caught.value)


def test_other_arrow_tables() -> None:
    """A record batch, and a column of lists whose type leaves their length open, are read."""
    batch = pa.RecordBatch.from_pydict({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    np.testing.assert_array_equal(as_row_source(batch).read(0, 2), [[1, 3], [2, 4]])
    lists = pa.table({"v": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})
    np.testing.assert_array_equal(as_row_source(lists).read(1, 2), [[4, 5, 6]])
