"""Columns of delimited text that are not features: a vector of labels, or one column by its name.

Cells are read as text by the csv module, because ids and labels may be words.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_format import NamedColumns
from projected_kmeans.sources.formats.text_index import BYTE_ORDER_MARK, find_header, is_number
from projected_kmeans.sources.protocol import UnreadableFile

# The names of the column of labels among several, the first of these first.
LABEL_COLUMNS = ("cluster", "label")


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
