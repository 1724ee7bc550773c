"""What Parquet and Arrow files share: a reader of columns as rows, and columns by their names.

`parquet` and `arrow` say how such a file is opened and how its record batches are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_format import Choice, Format, NamedColumns, each_file
from projected_kmeans.sources.file_reader import LazyHandle
from projected_kmeans.sources.formats.arrow_columns import VectorColumns, find_vectors
from projected_kmeans.sources.protocol import SourceDefaults, UnreadableFile

# Columns are decoded and turned into rows 16,384 rows at a time.
BATCH_ROWS = 2**14


class ColumnarFile(Protocol):
    """An open file of columns, decoded by pyarrow."""

    @property
    def schema(self) -> Any:
        """The columns, as a pyarrow.Schema."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first row of every piece that can be decoded on its own, and the number of rows."""

    def take(self, vectors: VectorColumns, start: int, stop: int) -> list[tuple[int, Any]]:
        """Return rows as record batches, each with the index of its first row."""

    def check(self) -> None:
        """Raise if a part of the file was lost while it was read."""

    def walk(self, name: str) -> Iterator[Any]:
        """Yield record batches that have one column, from the first row to the last."""


class ColumnarRows(SourceDefaults):
    """Reader of a columnar file: many columns of numbers, or one column of vectors.

    Parameters
    ----------
    path : Path
        The file.
    opener : callable
        From the path to the open file.
    columns, drop : sequence of str, optional
        Names to keep, or to leave out.
    nan_holes : bool, default=False
        Whether missing integers and vectors are NaN; else they are refused.
    """

    forward_only = True

    def __init__(
        self,
        path: Path,
        opener: Callable[[Path], ColumnarFile],
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        nan_holes: bool = False,
    ) -> None:
        self._handle = LazyHandle(opener, path)
        file = self._handle.get()
        n_rows = int(file.starts[-1])
        if not n_rows:
            raise UnreadableFile(f"{path} holds no rows; give at least one")
        found = find_vectors(file.schema, columns, drop, str(path))
        self._vectors = found.with_holes() if nan_holes else found
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
        finally:
            file.check()  # also in place of an error of pyarrow, which cannot decode a lost part

    def _decode(self, file: ColumnarFile, start: int, stop: int) -> NDArray[Any]:
        batches = file.take(self._vectors, start, stop) if start < stop else []
        if len(batches) == 1 and self._vectors.is_list:
            return self._vectors.view(batches[0][1], self.shape[1], start)
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for first, batch in batches:
            begin = first - start
            self._vectors.fill(rows[begin : begin + batch.num_rows], batch, first)
        return rows

    def close(self) -> None:
        """Close the file."""
        self._handle.close()


def columnar_format(extensions: tuple[str, ...], opener: Callable[[Path], ColumnarFile]) -> Format:
    """Return the format of columnar files that are opened by `opener`."""

    def open_reader(path: Path, choice: Choice) -> ColumnarRows:
        return ColumnarRows(path, opener, choice.columns, choice.drop, choice.nan_holes)

    def list_names(path: Path) -> list[str]:
        names: list[str] = opener(path).schema.names
        return names

    def walk_column(path: Path, name: str) -> Iterator[Any]:
        file = opener(path)
        for batch in file.walk(name):
            cells = batch.column(name).to_pylist()
            file.check()
            yield from cells

    def arrow_type(path: Path, name: str) -> Any:
        return opener(path).schema.field(name).type

    return Format(
        extensions,
        each_file(open_reader),
        choices=("columns", "drop"),
        extra="parquet",
        modules=("pyarrow.parquet", "pyarrow.ipc"),
        named_columns=NamedColumns(list_names, walk_column, arrow_type),
    )


def _first_length(file: ColumnarFile, vectors: VectorColumns) -> int:
    ((_, batch),) = file.take(vectors, 0, 1)
    first = batch.column(vectors.names[0])[0]
    return len(first) if first.is_valid else 0
