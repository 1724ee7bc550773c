"""``.csv`` and ``.tsv`` files, parsed by pyarrow if it is installed and by NumPy otherwise.

The text is not kept in memory: `text_index` knows where the lines of any range of rows lie. Columns
that are not features are read as text by the csv module, because ids and labels may be words.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.feature_columns import choose_columns
from projected_kmeans.sources.file_format import Choice, Format, NamedColumns, each_file
from projected_kmeans.sources.formats.text_index import (
    BYTE_ORDER_MARK,
    TextIndex,
    find_header,
    index_text,
    is_number,
    split_lines,
)
from projected_kmeans.sources.protocol import SourceDefaults, UnreadableFile
from projected_kmeans.sources.row_layout import find_pieces, turn_columns

# pyarrow parses 1 MB of text at a time on each of its threads, more if two lines are longer.
PARSE_BYTES = 2**20
# Wider text is parsed by NumPy, because pyarrow takes some KB of memory for each column.
ARROW_COLUMNS = 2**16
# What stands for a missing number, besides "nan", which is one.
HOLES = ("", "NA", "N/A", "na", "n/a", "null", "NULL", "Null", "None", "none")
# The names of the column of labels among several, the first of these first.
LABEL_COLUMNS = ("cluster", "label")


class TextRows(SourceDefaults):
    """Reader of delimited text in UTF-8; rows are float64."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, path: Path, delimiter: str, choice: Choice) -> None:
        self._path = path
        self._nan_holes = choice.nan_holes
        self._delimiter = delimiter
        self._index = index_text(path, delimiter)
        header = self._index.header
        self._kept = choose_columns(header, choice.columns, choice.drop, str(path))
        kept = range(self._index.n_cells) if self._kept is None else self._kept
        self.shape = (self._index.n_rows, len(kept))
        self.feature_names = None if header is None else tuple(header[column] for column in kept)
        self.read(0, 1)  # so that a column that holds no numbers is refused at once

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows of a range."""
        if start == stop:
            return np.empty((0, self.shape[1]))
        text, n_lines = self._read_text(start, stop)
        rows = self._parse_by_pyarrow(text)
        if rows is None:
            rows = self._parse_by_numpy(text, n_lines)
        return rows

    def _read_text(self, start: int, stop: int) -> tuple[bytes, int]:
        """Return the lines of a range of rows, and the number of lines before them."""
        index: TextIndex = self._index
        pieces = find_pieces(index.rows, start, stop)
        first = pieces.start
        begin, end = int(index.offsets[first]), int(index.offsets[pieces.stop])
        with open(self._path, "rb") as handle:
            handle.seek(begin)
            text = handle.read(end - begin)
        text = text if text.endswith(b"\n") else text + b"\n"
        lines = split_lines(text, self._delimiter)
        filled = np.flatnonzero(lines.filled)
        before = int(index.rows[first])
        if len(filled) < stop - before:
            raise UnreadableFile(f"{self._path} has changed and is shorter now; open it again")
        opening, closing = int(filled[start - before]), int(filled[stop - before - 1])
        cut = int(lines.ends[opening - 1]) + 1 if opening else 0
        return text[cut : int(lines.ends[closing]) + 1], int(index.lines[first]) + opening

    def _parse_by_pyarrow(self, text: bytes) -> NDArray[np.float64] | None:
        """Return the numbers, or None if pyarrow is not installed or cannot parse the text."""
        if self._index.n_cells > ARROW_COLUMNS:
            return None
        try:
            arrow: Any = importlib.import_module("pyarrow")
            parser: Any = importlib.import_module("pyarrow.csv")
        except ImportError:
            return None
        names = list(map(str, range(self._index.n_cells)))
        kept = names if self._kept is None else [names[column] for column in self._kept]
        try:
            table = parser.read_csv(
                arrow.BufferReader(text),
                read_options=parser.ReadOptions(
                    column_names=names,
                    block_size=max(PARSE_BYTES, 2 * len(text) // max(1, text.count(b"\n"))),
                ),
                parse_options=parser.ParseOptions(delimiter=self._delimiter),
                convert_options=parser.ConvertOptions(
                    column_types=dict.fromkeys(names, arrow.float64()),
                    include_columns=kept,
                    null_values=list(HOLES) if self._nan_holes else [],
                ),
            )
        except arrow.ArrowInvalid:
            return None
        rows = np.empty((table.num_rows, len(kept)))
        start = 0
        for batch in table.to_batches():
            columns = np.array([cells.to_numpy(zero_copy_only=False) for cells in batch.columns])
            turn_columns(columns, rows[start : start + batch.num_rows])
            start += batch.num_rows
        return rows

    def _parse_by_numpy(self, text: bytes, n_lines: int) -> NDArray[np.float64]:
        """Return the numbers; raise with the first cell that is not a number."""
        dialect: Any = {"comments": None, "delimiter": self._delimiter, "quotechar": '"'}
        dialect["encoding"] = None  # else NumPy 1.26 calls converters with bytes
        try:
            lines = io.StringIO(text.decode("utf-8"), newline=None)
            numbers = _read_number if self._nan_holes else None
            return np.loadtxt(lines, **dialect, usecols=self._kept, ndmin=2, converters=numbers)
        except ValueError as error:
            culprit = self._find_culprit(text, n_lines)
            if culprit is None:
                raise
            raise UnreadableFile(culprit) from error

    def _find_culprit(self, text: bytes, n_lines: int) -> str | None:
        """Return what is wrong with the first cell that is not a number: a slow second pass."""
        lines = csv.reader(
            io.StringIO(text.decode("utf-8"), newline=None), delimiter=self._delimiter
        )
        for cells in lines:
            for column in range(len(cells)) if self._kept is None else self._kept:
                cell = cells[column].strip()
                if not is_number(cell) and not (self._nan_holes and cell in HOLES):
                    shown = repr(cell[:40]) if cell else "nothing"
                    return (
                        f"{self._path} has {shown} on line {n_lines + lines.line_num}, column "
                        f"{column + 1}; put a number "
                        f"there{self._offer(column, filled=cell not in HOLES)}"
                    )
        return None

    def _offer(self, column: int, *, filled: bool) -> str:
        """Return how to leave a column out, if it has a name, and how to skip a hole."""
        header, skip = self._index.header, "" if filled else " or skip the row by on_missing='skip'"
        if header is None:
            return skip
        comma = "," if skip else " or"
        return f"{comma} leave the column out with drop=[{header[column]!r}]{skip}"


def _read_number(cell: str) -> float:
    return np.nan if cell.strip() in HOLES else float(cell)


def load_text_labels(path: Path, delimiter: str) -> NDArray[Any]:
    """Return one label a line: as integers, else as floats, else as text.

    The first line is left out as a header if it is the only one that is not a number. Of several
    columns the one that is called "cluster", or else "label", is read: our own files call the
    labels "cluster" if the ids are called "label".
    """
    text = path.read_bytes().removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines = [(table.line_num, cells) for cells in table if cells]
    head = lines[0][1] if lines else []
    named = [head.index(name) for name in LABEL_COLUMNS if name in head and len(head) > 1]
    column, width = (named[0], len(head)) if named else (0, 1)
    labels = []
    for number, cells in lines[1:] if named else lines:
        if len(cells) != width:
            advice = f"give {width}" if named else "give one label, or a header that has 'label'"
            raise UnreadableFile(f"{path} has {len(cells)} cells on line {number}; {advice}")
        labels.append(cells[column].strip())
    if len(labels) > 1 and not is_number(labels[0]) and all(map(is_number, labels[1:])):
        labels = labels[1:]
    for kind in (np.int64, np.float64):
        try:
            return np.array(labels, dtype=kind)
        except ValueError:
            continue
    return np.array(labels)


def named_text_columns(delimiter: str) -> NamedColumns:
    """Return how columns of text with this delimiter are found by their names in the header."""
    return NamedColumns(
        names=partial(_list_names, delimiter),
        walk=partial(_walk_column, delimiter),
        arrow_type=lambda path, name: load_extra("pyarrow", "parquet", str(path)).string(),
    )


def _list_names(delimiter: str, path: Path) -> Sequence[str]:
    return find_header(path, delimiter)[0] or ()


def _walk_column(delimiter: str, path: Path, name: str) -> Iterator[str]:
    header, offset, _ = find_header(path, delimiter)
    column = (header or ()).index(name)
    with open(path, "rb") as handle:
        handle.seek(offset)
        text = io.TextIOWrapper(handle, encoding="utf-8", newline="")
        for cells in csv.reader(text, delimiter=delimiter):
            if cells:
                yield cells[column].strip()


def _format_of(extension: str, delimiter: str) -> Format:
    return Format(
        (extension,),
        each_file(lambda path, choice: TextRows(path, delimiter, choice)),
        choices=("columns", "drop"),
        load_labels=lambda path: load_text_labels(path, delimiter),
        named_columns=named_text_columns(delimiter),
    )


CSV = _format_of(".csv", ",")
TSV = _format_of(".tsv", "\t")
