"""Parquet files: walks that go on where they were, whatever the size of their batches."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from projected_kmeans.sources.file_source import FileRows
from projected_kmeans.sources.formats.arrow_columns import find_vectors
from projected_kmeans.sources.formats.columnar import ColumnarRows
from projected_kmeans.sources.formats.parquet import N_CURSORS, ParquetFile
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
