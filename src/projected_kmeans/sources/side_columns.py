"""Columns of a data file that are not features: ids of rows, weights and true labels.

A column is read from the first row to the last; `feature_columns` says which columns are features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.messages import suggest
from projected_kmeans.optional_packages import load_extra
from projected_kmeans.results import Floats
from projected_kmeans.sources.feature_columns import list_names
from projected_kmeans.sources.file_format import NamedColumns
from projected_kmeans.sources.file_rows import explain_errors
from projected_kmeans.sources.format_table import FORMATS, find_files
from projected_kmeans.sources.formats.text import HOLES
from projected_kmeans.sources.isolated_source import isolated_columns
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.reader_process import can_isolate

# Ids of rows: a column of the data, or a list.
RowIds: TypeAlias = "SideColumn | ListedIds"

COLUMN_FORMATS: dict[str, NamedColumns] = {
    extension: entry.named_columns
    for extension, entry in FORMATS.items()
    if entry.named_columns is not None
}


@dataclass(frozen=True)
class SideColumn:
    """A named column of the files of one format, in the order of their rows."""

    files: tuple[Path, ...]
    extension: str
    name: str

    def values(self) -> Iterator[Any]:
        """Yield the cells from the first row to the last, as text if the file is text."""
        for file in self.files:
            with explain_errors(file, self.extension):
                yield from _columns_of(self.extension).walk(file, self.name)

    @property
    def where(self) -> str:
        """What errors call the file of the column."""
        return str(self.files[0])

    def read_numbers(self, *, nan_holes: bool = False) -> Floats:
        """Return all cells as numbers, such as weights; an empty one is NaN, or refused."""
        numbers = []
        for row, cell in enumerate(self.values()):
            try:
                empty = cell is None or (nan_holes and str(cell).strip() in HOLES)
                numbers.append(float("nan" if empty else cell))
            except (TypeError, ValueError):
                raise UnreadableFile(
                    f"{self.where} has {cell!r} in column {self.name!r}, row {row}; put a number "
                    "there"
                ) from None
        return np.array(numbers)

    def read_labels(self) -> NDArray[Any]:
        """Return all cells as labels; raise if one is empty."""
        cells = list(self.values())
        for row, cell in enumerate(cells):
            if cell in (None, ""):
                raise UnreadableFile(
                    f"{self.files[0]} has nothing in column {self.name!r}, row {row}; fill it"
                )
        return np.array(cells)

    def take_ids(self) -> Ids:
        """Return the cells as ids that are handed out in the order of rows."""
        return Ids(self)

    def arrow_type(self) -> Any:
        """Return the type that a column of these cells gets in Parquet; text stays text."""
        return _columns_of(self.extension).arrow_type(self.files[0], self.name)


@dataclass(frozen=True)
class ListedIds:
    """Ids of rows that are known as a whole, such as the names of image files.

    ``name`` is what their column is called where it is written, and ``where`` is what errors call
    the place that they come from.
    """

    cells: Sequence[Any]
    name: str
    where: str = "DATA"

    def values(self) -> Iterator[Any]:
        """Yield the ids from the first row to the last."""
        return iter(self.cells)

    def take_ids(self) -> Ids:
        """Return the ids as ids that are handed out in the order of rows."""
        return Ids(self)

    def arrow_type(self) -> Any:
        """Return the type that a column of these ids gets in Parquet."""
        arrow = load_extra("pyarrow", "parquet", "a .parquet file")
        return arrow.array(list(self.cells[:1])).type


class Ids:
    """The ids of rows, handed out from the first row on."""

    def __init__(self, column: RowIds) -> None:
        self.name, self.arrow_type = column.name, column.arrow_type
        self._where = column.where
        self._cells = column.values()

    def take(self, n_rows: int) -> list[Any]:
        """Return the ids of the next rows; raise if fewer are left."""
        cells = list(islice(self._cells, n_rows))
        if len(cells) < n_rows:
            raise UnreadableFile(
                f"{self._where} has too few cells in column {self.name!r}; it has changed, so "
                "open it again"
            )
        return cells


def open_side_column(path: str, name: str, format: str | None = None) -> SideColumn:
    """Find a named column; raise if the format has no names, or the file has no such name."""
    files, extension = find_files(Path(path), format)
    if extension not in COLUMN_FORMATS:
        raise UnreadableFile(
            f"{path} is read as {extension}, which has no named columns, so {name!r} cannot be "
            f"found; use one of {', '.join(COLUMN_FORMATS)}"
        )
    with explain_errors(files[0], extension):
        names = _columns_of(extension).names(files[0])
    if name not in names:
        others = f"choose among {list_names(names)}" if names else "add a line with column names"
        advice = suggest(name, names, others)
        raise UnreadableFile(f"{files[0]} has no column {name!r}; {advice}")
    return SideColumn(tuple(files), extension, name)


def list_column_names(path: str, format: str | None = None) -> list[str]:
    """Return the names of all columns of a file, or of the first file of a folder; maybe none."""
    files, extension = find_files(Path(path), format)
    if extension not in COLUMN_FORMATS:
        return []
    with explain_errors(files[0], extension):
        return list(_columns_of(extension).names(files[0]))


def _columns_of(extension: str) -> NamedColumns:
    """Return how named columns are read: by another process if native code parses the format."""
    if FORMATS[extension].modules and can_isolate():
        return isolated_columns(extension)
    return COLUMN_FORMATS[extension]


def leave_out(choice: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return keyword arguments of `open_rows` that leave out columns which are ids or labels."""
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
