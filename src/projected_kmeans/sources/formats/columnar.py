"""Parquet and Arrow files (Feather, Arrow streams), mapped into memory and decoded by pyarrow.

Parquet can only be decoded forwards from the start of a row group. A walk over a file is therefore
kept and goes on where the last range ended: a row group of a gigabyte is decoded once, and not
once for every block of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_format import Choice, Format, NamedColumns, each_file
from projected_kmeans.sources.file_rows import HandleReader, LazyHandle
from projected_kmeans.sources.formats.arrow_columns import VectorColumns, find_vectors
from projected_kmeans.sources.mapped_files import check_file, map_file
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.row_layout import find_pieces

# Columns are decoded and turned into rows 16,384 rows at a time. A batch of Parquet has at most
# 16 MB, so it has fewer rows if they are longer than 1 KB.
BATCH_ROWS = 2**14
BATCH_BYTES = 2**24
# Four walks over a Parquet file are kept, so that four threads can each go on where they were.
N_CURSORS = 4

# Rows as record batches, each with the index of its first row.
Batches: TypeAlias = "list[tuple[int, Any]]"


class ParquetFile:
    """An open Parquet file, and walks over it that can go on."""

    def __init__(self, path: Path) -> None:
        self._arrow = load_extra("pyarrow", "parquet", str(path))
        self._parquet = load_extra("pyarrow.parquet", "parquet", str(path))
        self.content = map_file(path)
        file = self._open()
        self._metadata = file.metadata
        groups = range(file.num_row_groups)
        counts = [self._metadata.row_group(group).num_rows for group in groups]
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.schema = file.schema_arrow
        self._cursors: list[Cursor] = []
        self._lock = threading.Lock()

    def take(self, vectors: VectorColumns, start: int, stop: int) -> Batches:
        """Return rows as batches."""
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

    def _open(self, metadata: Any = None) -> Any:
        # pre_buffer=False, because a walk would otherwise fetch the whole rest of the file first.
        content = self._arrow.BufferReader(self.content)
        return self._parquet.ParquetFile(content, metadata=metadata, pre_buffer=False)

    def _find_cursor(self, vectors: VectorColumns, start: int) -> Cursor:
        """Return the kept walk that is nearest before a row, or a new one from its row group on."""
        group = int(np.searchsorted(self.starts, start, side="right")) - 1
        begin = int(self.starts[group])
        with self._lock:
            near = [cursor for cursor in self._cursors if begin <= cursor.row <= start]
            if near:
                best = max(near, key=lambda cursor: cursor.row)
                self._cursors.remove(best)
                return best
        # A file of its own, because pyarrow's files serve one thread at a time.
        return Cursor(self._open(metadata=self._metadata), vectors, group, begin)


class Cursor:
    """One walk over the rows of a Parquet file from a row group on; ``row`` is the next row."""

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
        """Go on to a row, a batch at a time, because rows that are skipped are decoded too."""
        while self.row < row:
            self.take(min(self._step, row - self.row))

    def take(self, n_rows: int) -> Batches:
        """Return the next rows as batches."""
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


class ArrowFile:
    """An open Arrow file or stream; its record batches are found by their rows."""

    def __init__(self, path: Path) -> None:
        arrow = load_extra("pyarrow", "parquet", str(path))
        ipc = load_extra("pyarrow.ipc", "parquet", str(path))
        self.content = map_file(path)
        self._get: Callable[[int], Any]
        self._get_first_column: Callable[[int], Any]
        try:
            reader = ipc.open_file(arrow.BufferReader(self.content))
        except arrow.ArrowInvalid:  # a stream: it has no index, so all its batches are listed here
            stream = ipc.open_stream(arrow.BufferReader(self.content))
            self.schema, batches = stream.schema, list(stream)
            self._n_batches = len(batches)
            self._get = self._get_first_column = batches.__getitem__
        else:
            self.schema = reader.schema
            self._n_batches = reader.num_record_batches
            self._get = reader.get_batch
            options = ipc.IpcReadOptions(included_fields=[0])
            again = ipc.open_file(arrow.BufferReader(self.content), options=options)
            self._get_first_column = again.get_batch
        self._lock = threading.Lock()
        self._last: tuple[int, Any] | None = None

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first row of every batch, and the number of rows.

        Rows are counted in the first column alone, so that the others need not be decoded.
        """
        counts = [_validate(self._get_first_column(n)).num_rows for n in range(self._n_batches)]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def take(self, vectors: VectorColumns, start: int, stop: int) -> Batches:
        """Return rows as batches."""
        taken = []
        for index in find_pieces(self.starts, start, stop):
            begin, end = self.starts[index : index + 2].tolist()
            low, high = max(start, begin), min(stop, end)
            batch = self._get_batch(index).slice(low - begin, high - low)
            # Columns are turned into rows in small pieces; vectors are rows already.
            step = max(1, high - low) if vectors.is_list else BATCH_ROWS
            for offset in range(0, high - low, step):
                taken.append((low + offset, batch.slice(offset, step)))
        return taken

    def walk(self, name: str) -> Iterator[Any]:
        """Yield the batches, which have all columns, from the first row to the last."""
        return (_validate(self._get(index)) for index in range(self._n_batches))

    def _get_batch(self, index: int) -> Any:
        """Return a batch, kept for the next range, because a compressed one is decoded whole."""
        with self._lock:
            if self._last is None or self._last[0] != index:
                self._last = (index, _validate(self._get(index)))
            return self._last[1]


def _validate(batch: Any) -> Any:
    """Return a batch whose lengths and offsets fit its buffers; raise for all others.

    pyarrow itself believes what a file says, and then reads beyond its buffers.
    """
    batch.validate(full=True)
    return batch


class ColumnarRows(HandleReader):
    """Reader of a columnar file: many columns of numbers, or one column of vectors."""

    forward_only = True

    def __init__(self, path: Path, opener: type[ParquetFile | ArrowFile], choice: Choice) -> None:
        self._handle = LazyHandle(opener, path)
        file = self._handle.get()
        n_rows = int(file.starts[-1])
        if not n_rows:
            raise UnreadableFile(f"{path} holds no rows; give at least one")
        vectors = find_vectors(file.schema, choice.columns, choice.drop, str(path))
        self._vectors = vectors.with_holes() if choice.nan_holes else vectors
        length = self._vectors.length or _first_length(file, self._vectors)
        if not length:
            raise UnreadableFile(f"{path} has empty vectors in its first row; give some numbers")
        self.shape = (n_rows, length)
        self.dtype = self._vectors.dtype
        self.feature_names = None if self._vectors.is_list else self._vectors.names

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range: a view if they are vectors in one batch, else a copy."""
        file = self._handle.get()
        try:
            return self._decode(file, start, stop)
        finally:  # also in place of an error of pyarrow, which cannot decode a lost part
            check_file(file.content)

    def _decode(self, file: ParquetFile | ArrowFile, start: int, stop: int) -> NDArray[Any]:
        batches = file.take(self._vectors, start, stop) if start < stop else []
        if len(batches) == 1 and self._vectors.is_list:
            return self._vectors.view(batches[0][1], self.shape[1], start)
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for first, batch in batches:
            begin = first - start
            self._vectors.fill(rows[begin : begin + batch.num_rows], batch, first)
        return rows


def _first_length(file: ParquetFile | ArrowFile, vectors: VectorColumns) -> int:
    ((_, batch),) = file.take(vectors, 0, 1)
    first = batch.column(vectors.names[0])[0]
    return len(first) if first.is_valid else 0


def _format_of(extensions: tuple[str, ...], opener: type[ParquetFile | ArrowFile]) -> Format:
    def walk_column(path: Path, name: str) -> Iterator[Any]:
        file = opener(path)
        for batch in file.walk(name):
            cells = batch.column(name).to_pylist()
            check_file(file.content)
            yield from cells

    return Format(
        extensions,
        each_file(lambda path, choice: ColumnarRows(path, opener, choice)),
        choices=("columns", "drop"),
        extra="parquet",
        modules=("pyarrow.parquet", "pyarrow.ipc"),
        named_columns=NamedColumns(
            names=lambda path: opener(path).schema.names,
            walk=walk_column,
            arrow_type=lambda path, name: opener(path).schema.field(name).type,
        ),
    )


PARQUET = _format_of((".parquet", ".pq"), ParquetFile)
ARROW = _format_of((".arrow", ".feather"), ArrowFile)
