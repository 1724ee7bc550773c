"""READ: named columns of a data file that are no features: ids that travel, and true labels.

Reads one column from the first row to the last; which columns are features is decided elsewhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.feature_columns import list_names
from projected_kmeans.sources.file_source import one_sentence
from projected_kmeans.sources.formats.text_index import find_header
from projected_kmeans.sources.open_rows import DELIMITERS, find_files
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.suggestions import suggest


@dataclass(frozen=True)
class SideColumn:
    """A named column of a file, or of the files of a folder.

    Attributes
    ----------
    files : tuple of Path
        In the order of their rows.
    extension : str
        What tells their format.
    name : str
        The column.
    """

    files: tuple[Path, ...]
    extension: str
    name: str

    def values(self) -> Iterator[Any]:
        """Yield the cells from the first row on, as text where the file is text."""
        for file in self.files:
            with one_sentence(file, self.extension):
                yield from COLUMN_FORMATS[self.extension].walk(file, self.name)

    def read_labels(self) -> NDArray[Any]:
        """Return all cells as labels; raise where one is empty."""
        cells = list(self.values())
        for row, cell in enumerate(cells):
            if cell in (None, ""):
                raise UnreadableFile(
                    f"{self.files[0]} has nothing in column {self.name!r}, row {row}; fill it"
                )
        return np.array(cells)

    def take_ids(self) -> Ids:
        """Return the cells as ids that are handed out in the order of rows."""
        return Ids(self, self.values())


class Ids:
    """The ids of rows, a stretch at a time, from the first row on.

    Parameters
    ----------
    column : SideColumn
        Where they stand.
    cells : iterator
        Its values.
    """

    def __init__(self, column: SideColumn, cells: Iterator[Any]) -> None:
        self.column = column
        self._cells = cells

    @property
    def name(self) -> str:
        """What the column is called."""
        return self.column.name

    def take(self, n_rows: int) -> list[Any]:
        """Return the ids of the next rows."""
        found = list(islice(self._cells, n_rows))
        if len(found) < n_rows:
            raise UnreadableFile(
                f"{self.column.files[0]} has too few cells in column {self.name!r}; it has "
                "changed, so open it again"
            )
        return found

    def arrow_type(self) -> Any:
        """Return the type that a column of these ids has in Parquet; text is text."""
        if self.column.extension in DELIMITERS:
            return load_extra("pyarrow", "parquet", "a .parquet file").string()
        return _open_table(self.column.extension, self.column.files[0])[0].field(self.name).type


def open_side_column(path: str, name: str, format: str | None = None) -> SideColumn:
    """Find a named column; raise where the format has no names, or not this one.

    Parameters
    ----------
    path : str
        A file or a folder, as `open_rows` takes it.
    name : str
        The column.
    format : str, optional
        As for `open_rows`.
    """
    files, extension = find_files(Path(path), format)
    if extension not in COLUMN_FORMATS:
        raise UnreadableFile(
            f"{path} is read as {extension}, which has no named columns, so {name!r} cannot be "
            f"found; use one of {', '.join(COLUMN_FORMATS)}"
        )
    with one_sentence(files[0], extension):
        names = COLUMN_FORMATS[extension].names(files[0])
    if name not in names:
        advice = suggest(name, names, f"choose among {list_names(names)}" if names else "name some")
        raise UnreadableFile(f"{files[0]} has no column {name!r}; {advice}")
    return SideColumn(tuple(files), extension, name)


def leave_out(choice: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a choice of features for `open_rows` without these columns."""
    columns = choice.get("columns")
    both = [name for name in names if name in (columns or ())]
    if both:
        raise ValueError(
            f"column {both[0]!r} is chosen as a feature and as an id or label; choose one of them"
        )
    if columns is not None or not names:
        return dict(choice)
    dropped = list(choice.get("drop") or ())
    return {**choice, "drop": [*dropped, *(name for name in names if name not in dropped)]}


@dataclass(frozen=True)
class ColumnFormat:
    """How files of one format name their columns, and how one of these is walked over."""

    names: Callable[[Path], Sequence[str]]
    walk: Callable[[Path, str], Iterator[Any]]


def _text_names(delimiter: str, path: Path) -> Sequence[str]:
    return find_header(path, delimiter)[0] or ()


def _walk_text(delimiter: str, path: Path, name: str) -> Iterator[str]:
    header, offset, _ = find_header(path, delimiter)
    column = (header or ()).index(name)
    with open(path, "rb") as handle:
        handle.seek(offset)
        text = io.TextIOWrapper(handle, encoding="utf-8", newline="")
        for cells in csv.reader(text, delimiter=delimiter):
            if cells:
                yield cells[column].strip()


def _table_names(extension: str, path: Path) -> Sequence[str]:
    names: list[str] = _open_table(extension, path)[0].names
    return names


def _walk_table(extension: str, path: Path, name: str) -> Iterator[Any]:
    _, batches = _open_table(extension, path, [name])
    return chain.from_iterable(batch.column(name).to_pylist() for batch in batches)


def _open_table(
    extension: str, path: Path, columns: Sequence[str] | None = None
) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a columnar file, and its batches."""
    if extension in (".parquet", ".pq"):
        parquet = load_extra("pyarrow.parquet", "parquet", str(path))
        file = parquet.ParquetFile(path, memory_map=True, pre_buffer=False)
        return file.schema_arrow, file.iter_batches(columns=columns)
    arrow = load_extra("pyarrow", "parquet", str(path))
    ipc = load_extra("pyarrow.ipc", "parquet", str(path))
    content = arrow.memory_map(str(path))
    try:
        reader = ipc.open_file(content)
    except arrow.ArrowInvalid:
        stream = ipc.open_stream(arrow.memory_map(str(path)))
        return stream.schema, iter(stream)
    return reader.schema, map(reader.get_batch, range(reader.num_record_batches))


COLUMN_FORMATS = {
    extension: ColumnFormat(partial(_text_names, mark), partial(_walk_text, mark))
    for extension, mark in DELIMITERS.items()
} | {
    extension: ColumnFormat(partial(_table_names, extension), partial(_walk_table, extension))
    for extension in (".parquet", ".pq", ".arrow", ".feather")
}
