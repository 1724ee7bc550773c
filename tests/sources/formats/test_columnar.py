"""Parquet and Arrow files: columns that cannot be read as rows, and numbers that are missing."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.support.refused_files import read_all, reading_error


def save_table(path: Path, table: pa.Table) -> None:
    """Write a table in the format of the extension."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)


@pytest.fixture(params=["rows.parquet", "rows.feather"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of a file that can hold a table."""
    return tmp_path / str(request.param)


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (
            pa.table({"id": ["x"], "day": pa.array([0], pa.date32()), "v": [1.0]}),
            "(id, day); leave them out with drop=['id', 'day']",
        ),
        (pa.table({"id": [1], "v": [[1.0, 2.0]]}), "choose with columns=['v']"),
        (pa.table({"v": [[1.0, 2.0], [3.0]]}), "1 numbers in column 'v', row 1, and 2 before"),
        (pa.table({"v": [[1.0, 2.0], None]}), "no vector in column 'v', row 1"),
        (pa.table({"v": [[], [1.0]]}), "empty vectors"),
        (pa.table({"v": [[1, 2], [3, None]]}), "nothing in column 'v', row"),
        (pa.table({"a": [1, None, 3], "b": [1, 2, 3]}), "nothing in column 'a', row 1"),
        (pa.table({"a": pa.array([], pa.float32())}), "holds no rows"),
    ],
)
def test_bad_tables(path: Path, table: pa.Table, part: str) -> None:
    """Columns without numbers, uneven vectors and missing integers are named."""
    save_table(path, table)
    assert part in reading_error(path)


def test_missing_floats_are_nan(path: Path) -> None:
    """A float that is missing is read as NaN; the reader does not refuse it."""
    save_table(path, pa.table({"a": [1.0, None], "b": pa.array([2, 3], pa.int8())}))
    np.testing.assert_array_equal(read_all(path), [[1, 2], [np.nan, 3]])


def test_booleans_and_decimals_are_numbers(path: Path) -> None:
    """True is 1, and decimals are read as float64."""
    table = pa.table({"a": [True, False], "b": [Decimal("1.50"), Decimal("2.25")]})
    save_table(path, table)
    np.testing.assert_array_equal(read_all(path), [[1, 1.5], [0, 2.25]])
    assert read_all(path, columns=["a"]).dtype == np.uint8


def test_the_index_of_pandas_is_a_feature_only_if_asked_for(tmp_path: Path) -> None:
    """It is left out by default, and read if it is named."""
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index([7, 8], name="key"))
    frame.to_parquet(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(read_all(tmp_path / "rows.parquet"), [[1], [2]])
    both = read_all(tmp_path / "rows.parquet", columns=["key", "a"])
    np.testing.assert_array_equal(both, [[7, 1], [8, 2]])
