"""``.csv`` and ``.tsv`` files, parsed by pyarrow if it is installed and by NumPy otherwise.

The text is not kept in memory: `text_index` knows where the lines of any range of rows lie.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.feature_columns import choose_columns
from projected_kmeans.sources.file_format import Choice, Format, each_file
from projected_kmeans.sources.formats.text_columns import load_text_labels, named_text_columns
from projected_kmeans.sources.formats.text_index import (
    TextIndex,
    index_text,
    is_number,
    split_lines,
)
from projected_kmeans.sources.protocol import SourceDefaults, UnreadableFile
from projected_kmeans.sources.row_layout import turn_columns

# pyarrow parses 1 MB of text at a time on each of its threads, more if two lines are longer.
PARSE_BYTES = 2**20
# Wider text is parsed by NumPy, because pyarrow takes some KB of memory for each column.
ARROW_COLUMNS = 2**16


# What stands for a missing number, besides "nan", which is one.
HOLES = ("", "NA", "N/A", "na", "n/a", "null", "NULL", "Null", "None", "none")


class TextRows(SourceDefaults):
    """Reader of delimited text; rows are float64.

    Parameters
    ----------
    path : Path
        The file, in UTF-8.
    delimiter : str
        The character between two cells.
    columns, drop : sequence of str, optional
        Names of the header to keep, or to leave out.
    nan_holes : bool, default=False
        Whether cells without a number are NaN; else they are refused.
    """

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(
        self,
        path: Path,
        delimiter: str,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        nan_holes: bool = False,
    ) -> None:
        self._path = path
        self._nan_holes = nan_holes
        self._delimiter = delimiter
        self._index = index_text(path, delimiter)
        header = self._index.header
        self._kept = choose_columns(header, columns, drop, str(path))
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
        first, last = index.find(start, stop)
        begin, end = int(index.offsets[first]), int(index.offsets[last])
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


def open_text(path: Path, delimiter: str, choice: Choice) -> TextRows:
    """Return the reader of what was chosen of a text file."""
    return TextRows(path, delimiter, choice.columns, choice.drop, choice.nan_holes)


def _format_of(extension: str, delimiter: str) -> Format:
    return Format(
        (extension,),
        each_file(lambda path, choice: open_text(path, delimiter, choice)),
        choices=("columns", "drop"),
        load_labels=lambda path: load_text_labels(path, delimiter),
        named_columns=named_text_columns(delimiter),
    )


CSV = _format_of(".csv", ",")
TSV = _format_of(".tsv", "\t")
