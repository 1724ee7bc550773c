"""Parquet files: walks that go on where they were, whatever the size of their batches."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projected_kmeans.sources.file_source import FileRows
from projected_kmeans.sources.formats.arrow_columns import find_vectors
from projected_kmeans.sources.formats.columnar import ColumnarRows
from projected_kmeans.sources.formats.parquet import N_CURSORS, ParquetFile
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.row_cases import FILES


def test_walks_in_small_batches(tmp_path: Path) -> None:
    """Ranges that end within batches and row groups have their rows, on several threads too."""
    case = FILES["parquet"]
    path = case.make(tmp_path)
    reader = ColumnarRows(path, partial(ParquetFile, batch_rows=300))
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
    pq.write_table(table, tmp_path / "a.parquet")
    found = open_rows(tmp_path / "a.parquet", on_missing="skip").read(0, 3)
    np.testing.assert_array_equal(found, [[1, 1], [np.nan, np.nan], [3, 0]])
    kinds: list[pa.DataType] = [pa.list_(pa.float32())]
    if int(pa.__version__.partition(".")[0]) >= 15:  # 14 cannot write missing vectors of one length
        kinds.append(pa.list_(pa.float32(), 2))
    for kind in kinds:
        vectors = pa.array([[1.0, 2.0], None, [3.0, 4.0]], kind)
        pq.write_table(pa.table({"v": vectors}), tmp_path / "v.parquet")
        found = open_rows(tmp_path / "v.parquet", on_missing="skip").read(0, 3)
        np.testing.assert_array_equal(found, [[1, 2], [np.nan, np.nan], [3, 4]])
        with pytest.raises(UnreadableFile, match="has no vector in column 'v', row 1"):
            open_rows(tmp_path / "v.parquet").read(0, 3)
