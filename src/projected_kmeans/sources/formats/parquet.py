"""Parquet files, read by pyarrow.

Parquet can only be decoded forwards from the start of a row group. A walk over a file is therefore
kept and goes on where the last range ended: a row group of a gigabyte is decoded once, and not
once for every block of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.formats.arrow_columns import VectorColumns
from projected_kmeans.sources.formats.columnar import BATCH_ROWS, columnar_format
from projected_kmeans.sources.mapped_files import check_file, map_file

# A batch has at most 16 MB, so it has fewer rows if they are longer than 1 KB.
BATCH_BYTES = 2**24

# Four walks over a file are kept, so that four threads can each go on where they were.
N_CURSORS = 4


class Cursor:
    """One walk over the rows of a Parquet file, from the start of a row group on.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        Opened for this walk alone, because pyarrow's files serve one thread at a time.
    vectors : VectorColumns
        The columns to decode.
    first_group, row : int
        The row group to begin with, and its first row.
    batch_rows : int
        Rows that are decoded at a time, unless they are long.

    Attributes
    ----------
    row : int
        The next row.
    """

    def __init__(
        self, file: Any, vectors: VectorColumns, first_group: int, row: int, batch_rows: int
    ) -> None:
        groups = list(range(first_group, file.num_row_groups))
        row_bytes = vectors.dtype.itemsize * (vectors.length or 1)
        self.row = row
        self._step = max(1, min(batch_rows, BATCH_BYTES // row_bytes))
        self._batches = file.iter_batches(
            batch_size=self._step, row_groups=groups, columns=list(vectors.names)
        )
        self._rest: Any = None

    def skip_to(self, row: int) -> None:
        """Go on to a row, a batch at a time, because rows that are skipped are decoded too."""
        while self.row < row:
            self.take(min(self._step, row - self.row))

    def take(self, n_rows: int) -> list[tuple[int, Any]]:
        """Return the next rows as batches, each with the index of its first row."""
        taken = []
        while n_rows:
            if self._rest is None or not self._rest.num_rows:
                self._rest = next(self._batches)
            batch = self._rest.slice(0, n_rows)
            self._rest = self._rest.slice(batch.num_rows)
            taken.append((self.row, batch))
            self.row += batch.num_rows
            n_rows -= batch.num_rows
        return taken


class ParquetFile:
    """An open Parquet file, and walks over it that can go on.

    Parameters
    ----------
    path : Path
        The file.
    batch_rows : int, default=16384
        Rows that are decoded at a time, unless they are long.
    """

    def __init__(self, path: Path, batch_rows: int = BATCH_ROWS) -> None:
        self._arrow = load_extra("pyarrow", "parquet", str(path))
        self._parquet = load_extra("pyarrow.parquet", "parquet", str(path))
        self._content = map_file(path)
        file = self._open()
        self._metadata = file.metadata
        groups = range(file.num_row_groups)
        counts = [self._metadata.row_group(group).num_rows for group in groups]
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.schema = file.schema_arrow
        self._batch_rows = batch_rows
        self._cursors: list[Cursor] = []
        self._lock = threading.Lock()

    def take(self, vectors: VectorColumns, start: int, stop: int) -> list[tuple[int, Any]]:
        """Return rows as batches, each with the index of its first row."""
        cursor = self._find_cursor(vectors, start)
        cursor.skip_to(start)
        batches = cursor.take(stop - start)
        with self._lock:
            self._cursors = [*self._cursors[1 - N_CURSORS :], cursor]
        return batches

    def walk(self, name: str) -> Iterator[Any]:
        """Yield batches of one column, from the first row to the last."""
        batches: Iterator[Any] = self._open(metadata=self._metadata).iter_batches(columns=[name])
        return batches

    def check(self) -> None:
        """Raise if a part of the file was lost while it was read."""
        check_file(self._content)

    def _open(self, metadata: Any = None) -> Any:
        # pre_buffer=False, because a walk would otherwise fetch the whole rest of the file first.
        content = self._arrow.BufferReader(self._content)
        return self._parquet.ParquetFile(content, metadata=metadata, pre_buffer=False)

    def _find_cursor(self, vectors: VectorColumns, start: int) -> Cursor:
        """Return the kept walk that is nearest before a row, or a new one from its row group on."""
        group = int(np.searchsorted(self.starts, start, side="right")) - 1
        begin = int(self.starts[group])
        with self._lock:
            near = [one for one in self._cursors if begin <= one.row <= start]
            if near:
                best = max(near, key=lambda one: one.row)
                self._cursors.remove(best)
                return best
        file = self._open(metadata=self._metadata)
        return Cursor(file, vectors, group, begin, self._batch_rows)


PARQUET = columnar_format((".parquet", ".pq"), ParquetFile)
