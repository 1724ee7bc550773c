"""READ: ranges of rows of Parquet and Arrow (Feather) files, by pyarrow.

Decodes no more than a range needs and the part of a row group before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_source import LazyHandle
from projected_kmeans.sources.formats.arrow_columns import VectorColumns, find_vectors
from projected_kmeans.sources.protocol import UnreadableFile

# Rows that are decoded together, fewer if they are long.
BATCH_ROWS = 2**14
BATCH_BYTES = 2**24

# Walks over a file that are kept, so that as many threads can each go on where they were.
N_CURSORS = 4


class Cursor:
    """One walk over the rows of a Parquet file, from the start of a row group on.

    It has a file of its own, as those of pyarrow serve one thread at a time.
    """

    def __init__(self, file: Any, vectors: VectorColumns, first_group: int, row: int) -> None:
        groups = list(range(first_group, file.num_row_groups))
        row_bytes = vectors.dtype.itemsize * (vectors.length or 1)
        self.row = row
        self._step = max(1, min(BATCH_ROWS, BATCH_BYTES // row_bytes))
        self._batches = file.iter_batches(
            batch_size=self._step, row_groups=groups, columns=list(vectors.names)
        )
        self._rest: Any = None

    def skip_to(self, row: int) -> None:
        """Go on to a row, a batch at a time, as what is skipped is decoded too."""
        while self.row < row:
            self.take(min(self._step, row - self.row))

    def take(self, n_rows: int) -> list[tuple[int, Any]]:
        """Return the next rows as batches, each with its first row."""
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
    """An open Parquet file, and walks over it that can go on."""

    def __init__(self, path: Path) -> None:
        parquet = load_extra("pyarrow.parquet", "parquet", str(path))
        # With a buffer, a walk would fetch all that is left of the file at its start.
        self._open = partial(parquet.ParquetFile, path, memory_map=True, pre_buffer=False)
        file = self._open()
        self._metadata = file.metadata
        groups = range(file.num_row_groups)
        counts = [self._metadata.row_group(group).num_rows for group in groups]
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.schema = file.schema_arrow
        self._cursors: list[Cursor] = []
        self._lock = threading.Lock()

    def take(self, vectors: VectorColumns, start: int, stop: int) -> list[tuple[int, Any]]:
        """Return rows as batches, each with its first row."""
        cursor = self._find_cursor(vectors, start)
        cursor.skip_to(start)
        batches = cursor.take(stop - start)
        with self._lock:
            self._cursors = [*self._cursors[1 - N_CURSORS :], cursor]
        return batches

    def _find_cursor(self, vectors: VectorColumns, start: int) -> Cursor:
        """Return the walk that is nearest before a row, or a new one from its row group on."""
        group = int(np.searchsorted(self.starts, start, side="right")) - 1
        begin = int(self.starts[group])
        with self._lock:
            near = [one for one in self._cursors if begin <= one.row <= start]
            if near:
                best = max(near, key=lambda one: one.row)
                self._cursors.remove(best)
                return best
        return Cursor(self._open(metadata=self._metadata), vectors, group, begin)


class ArrowFile:
    """An open Arrow file or stream, mapped into memory; batches are found by their rows."""

    def __init__(self, path: Path) -> None:
        arrow = load_extra("pyarrow", "parquet", str(path))
        ipc = load_extra("pyarrow.ipc", "parquet", str(path))
        content = arrow.memory_map(str(path))
        try:
            reader = ipc.open_file(content)
        except arrow.ArrowInvalid:
            stream = ipc.open_stream(arrow.memory_map(str(path)))
            self.schema, batches = stream.schema, list(stream)  # views, as streams have no index
            counts = [batch.num_rows for batch in batches]
            self._get: Callable[[int], Any] = batches.__getitem__
        else:
            self.schema = reader.schema
            # One column tells how many rows a batch has; with none asked for, all are decoded.
            thin = ipc.open_file(content, options=ipc.IpcReadOptions(included_fields=[0]))
            counts = [thin.get_batch(index).num_rows for index in range(thin.num_record_batches)]
            self._get = reader.get_batch
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self._lock = threading.Lock()
        self._last: tuple[int, Any] | None = None

    def take(self, vectors: VectorColumns, start: int, stop: int) -> list[tuple[int, Any]]:
        """Return rows as batches, each with its first row."""
        taken = []
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for index in range(first, len(self.starts) - 1):
            begin, end = self.starts[index : index + 2].tolist()
            if begin >= stop:
                break
            low, high = max(start, begin), min(stop, end)
            batch = self._get_batch(index).slice(low - begin, high - low)
            # Columns are copied once more when they are turned; vectors can stay where they are.
            step = high - low if vectors.is_list else BATCH_ROWS
            for offset in range(0, high - low, step):
                taken.append((low + offset, batch.slice(offset, step)))
        return taken

    def _get_batch(self, index: int) -> Any:
        """Return a batch, kept for the next range, as a compressed one is decoded as a whole."""
        with self._lock:
            if self._last is None or self._last[0] != index:
                self._last = (index, self._get(index))
            return self._last[1]


class ArrowRows:
    """Reader of a columnar file: many columns of numbers, or one column of vectors.

    Parameters
    ----------
    path : Path
        The file.
    opener : callable
        `ParquetFile` or `ArrowFile`.
    columns, drop : sequence of str, optional
        Names to keep, or to leave out.
    """

    sparse = False
    forward_only = True
    labels: NDArray[Any] | None = None

    def __init__(
        self,
        path: Path,
        opener: Callable[[Path], ParquetFile | ArrowFile],
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
    ) -> None:
        self._handle = LazyHandle(opener, path)
        file = self._handle.get()
        n_rows = int(file.starts[-1])
        if not n_rows:
            raise UnreadableFile(f"{path} holds no rows; give at least one")
        self._vectors = find_vectors(file.schema, columns, drop, str(path))
        length = self._vectors.length or _first_length(file, self._vectors)
        if not length:
            raise UnreadableFile(f"{path} has empty vectors in its first row; give some numbers")
        self.shape = (n_rows, length)
        self.dtype = self._vectors.dtype
        self.feature_names = None if self._vectors.is_list else self._vectors.names

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range: a view of vectors that lie in one batch, else a copy."""
        batches = self._handle.get().take(self._vectors, start, stop) if start < stop else []
        if len(batches) == 1 and self._vectors.is_list:
            return self._vectors.view(batches[0][1], self.shape[1], start)
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for first, batch in batches:
            begin = first - start
            self._vectors.fill(rows[begin : begin + batch.num_rows], batch, first)
        return rows

    def close(self) -> None:
        """Let go of the file."""
        self._handle.close()


def _first_length(file: ParquetFile | ArrowFile, vectors: VectorColumns) -> int:
    ((_, batch),) = file.take(vectors, 0, 1)
    first = batch.column(vectors.names[0])[0]
    return len(first) if first.is_valid else 0
