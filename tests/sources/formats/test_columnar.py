"""Parquet and Arrow files: tables that cannot be read, missing numbers, walks, views."""

from __future__ import annotations

import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.file_rows import FileRows
from projected_kmeans.sources.formats import columnar
from projected_kmeans.sources.formats.arrow_columns import find_vectors
from projected_kmeans.sources.formats.columnar import (
    N_CURSORS,
    ArrowFile,
    ColumnarRows,
    ParquetFile,
)
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import read_all, reading_error
from tests.support.row_cases import FILES


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


def test_walks_in_small_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges that end within batches and row groups have their rows, on several threads too."""
    case = FILES["parquet"]
    path = case.make(tmp_path)
    monkeypatch.setattr(columnar, "BATCH_ROWS", 300)
    reader = ColumnarRows(path, ParquetFile, Choice())
    source = FileRows([path], ".parquet", None, reader)
    case.check_walks(source)
    case.check_threads(source)


def test_a_walk_goes_on_where_it_was(tmp_path: Path) -> None:
    """The next range continues a kept walk, and no more than four walks are kept."""
    file = ParquetFile(FILES["parquet"].make(tmp_path))
    vectors = find_vectors(file.schema, None, None, "rows")
    file.take(vectors, 0, 100)
    (first,) = file._cursors
    file.take(vectors, 100, 250)
    assert file._cursors == [first]
    assert first.row == 250
    for start in (200, 150, 100, 50, 0):
        file.take(vectors, start, start + 10)
    assert len(file._cursors) == N_CURSORS


def test_missing_numbers_and_vectors_are_nan_on_request(tmp_path: Path) -> None:
    """Integers and booleans become floats, and a vector that is missing is a row of NaN."""
    table = pa.table({"a": pa.array([1, None, 3]), "b": pa.array([True, None, False])})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    found = open_rows(tmp_path / "a.parquet", on_missing="skip").read(0, 3)
    np.testing.assert_array_equal(found, [[1, 1], [np.nan, np.nan], [3, 0]])
    kinds: list[pa.DataType] = [pa.list_(pa.float32())]
    if int(pa.__version__.partition(".")[0]) >= 15:  # 14 cannot write missing vectors of one length
        kinds.append(pa.list_(pa.float32(), 2))
    for kind in kinds:
        vectors = pa.array([[1.0, 2.0], None, [3.0, 4.0]], kind)
        pyarrow.parquet.write_table(pa.table({"v": vectors}), tmp_path / "v.parquet")
        found = open_rows(tmp_path / "v.parquet", on_missing="skip").read(0, 3)
        np.testing.assert_array_equal(found, [[1, 2], [np.nan, np.nan], [3, 4]])
        with pytest.raises(UnreadableFile, match="has no vector in column 'v', row 1"):
            open_rows(tmp_path / "v.parquet").read(0, 3)


def test_vectors_of_an_arrow_file_stay_where_they_are(tmp_path: Path) -> None:
    """A range within a record batch is a view of the mapped file; one across batches is a copy."""
    rows = np.arange(60, dtype=np.float32).reshape(20, 3)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3)
    path = tmp_path / "rows.feather"
    pyarrow.feather.write_feather(
        pa.table({"vector": vectors}), path, compression="uncompressed", chunksize=8
    )
    reader = ColumnarRows(path, ArrowFile, Choice())
    assert reader.forward_only
    for start, stop, copied in ((9, 15, False), (0, 8, False), (6, 10, True)):
        found: Any = reader.read(start, stop)
        np.testing.assert_array_equal(found, rows[start:stop])
        assert found.flags.writeable == copied


def test_empty_batches_between_others_are_passed(tmp_path: Path) -> None:
    """A stream may have batches without rows, also where vectors are read as they lie."""
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    table = pa.table({"vector": pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3)})
    with pa.ipc.new_stream(str(tmp_path / "rows.arrow"), table.schema) as writer:
        (batch,) = table.to_batches()
        for part in (batch[:1], batch[:0], batch[1:]):
            writer.write_batch(part)
    np.testing.assert_array_equal(read_all(tmp_path / "rows.arrow"), rows)


def test_a_batch_that_claims_too_many_rows_is_refused(tmp_path: Path) -> None:
    """A length in the metadata is compared with the buffers before a number is read."""
    rows = np.arange(60, dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows), 3)
    path = tmp_path / "rows.arrow"
    table = pa.table({"vector": vectors})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    for count, claimed in ((20, 10**6), (60, 59)):
        old, new = struct.pack("<q", count), struct.pack("<q", claimed)
        assert old in content
        path.write_bytes(content.replace(old, new))
        assert "rows.arrow" in reading_error(path)


def test_a_table_in_memory_that_claims_too_much_is_refused() -> None:
    """A table is validated once, when it becomes a source."""
    offsets = pa.py_buffer(np.array([0, 10**6, 4], np.int32).tobytes())
    kind = pa.list_(pa.float64())
    lists = pa.Array.from_buffers(kind, 2, [None, offsets], children=[pa.array(np.ones(4))])
    with pytest.raises(UnreadableFile, match=r"the table is damaged .*; build it again"):
        as_row_source(pa.table({"a": lists}))
