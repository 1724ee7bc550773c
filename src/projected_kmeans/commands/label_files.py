"""Read files of labels, and write labels as .npy, .csv or .parquet, with the ids of rows.

Labels are written block by block as they are computed, to a file that appears when it is whole.

Ids are written as they are, because programs join tables by them: an id such as "@home" must come
back as "@home". A spreadsheet runs a cell that begins with =, +, - or @ as a formula. Who opens
ids of others in a spreadsheet asks for guarded cells, by ``--spreadsheet-safe``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.commands.named_files import check_file
from projected_kmeans.estimator.fit_folder import check_fit_file
from projected_kmeans.optional_packages import load_extra
from projected_kmeans.output_files import open_output_folder, write_atomically
from projected_kmeans.output_group import read_group
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.sources.label_formats import read_labels
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import (
    Ids,
    ListedIds,
    SideColumn,
    list_column_names,
    open_side_column,
)

# Number of labels, with their ids, that are turned into text at a time.
N_LINES = 2**16

# What the option is for, in errors.
GUARDS = "--spreadsheet-safe guards ids in text"

# Beginnings of cells that spreadsheets take for formulas, also after a tab or a line end, or in
# full width. An apostrophe is among them, so that removing one apostrophe gives every id back.
FORMULA = re.compile(r"[=+\-@\t\r\n'\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_label_file(path: str, n_samples: int | None = None) -> NDArray[Any]:
    """Return the labels of a file; refuse a file that has not exactly one for each row.

    A table with a column "label", as --out-labels writes it, gives that column. Labels that lie
    beside the model of another fit are refused.
    """
    with read_group(Path(path).parent) as group:
        check_fit_file(group, Path(path).name)
        column = _find_column(path)
        truth = read_labels(path) if column is None else _read_column(path, column)
    if n_samples is not None and len(truth) != n_samples:
        raise ValueError(f"{path} has {len(truth)} labels for {n_samples} rows; give one for each")
    return truth


def _find_column(path: str) -> str | None:
    """Return the name of the column of labels in a table; None if a file is no such table."""
    names = list_column_names(path) if Path(path).suffix in (".csv", ".parquet") else []
    if names[:2] == ["label", "cluster"]:  # the ids have the name that labels usually have
        return "cluster"
    return "label" if "label" in names else None


def _read_column(path: str, column: str) -> NDArray[Any]:
    """Return the labels in a column of a table, as numbers if they are numbers."""
    cells = open_side_column(path, column).read_labels()
    try:
        return cells.astype(np.int64)
    except ValueError:
        return cells


def open_label_folder(
    out: str | None, *, with_ids: bool, spreadsheet_safe: bool, measured: bool = False
) -> AbstractContextManager[Path | None]:
    """Check, before the long work, that labels can be written to a file; None writes no file."""
    if spreadsheet_safe and out is not None and Path(out).suffix != ".csv":
        raise ValueError(f"{GUARDS}; give a .csv file, or leave it out")
    if out is None:
        return nullcontext()
    return open_output_folder(check_label_file(out, with_ids=with_ids, measured=measured).parent)


def check_label_file(out: str, *, with_ids: bool = False, measured: bool = False) -> Path:
    """Return the path of a label file; refuse a format that is unknown or has too few columns."""
    path = check_file(out, (".npy", ".csv", ".parquet"))
    if path.suffix == ".parquet":
        load_extra("pyarrow", "parquet", out)
    if path.suffix == ".npy" and (with_ids or measured):
        what = "ids" if with_ids else "distances"
        raise ValueError(f"{out} has no room for {what} beside the labels; use .csv or .parquet")
    return path


def write_labels(
    path: Path,
    n_rows: int,
    blocks: Iterable[LabelledBlock],
    ids: Ids | None = None,
    *,
    spreadsheet_safe: bool = False,
    measured: bool = False,
) -> None:
    """Write the labels of all rows, block by block, to a file that appears when it is whole.

    If they were measured, the distances of rows to their centers are written beside the labels. A
    .csv file has the numbers of the rows if they have no ids.
    """
    if ids is None and path.suffix == ".csv":
        ids = ListedIds(range(n_rows), "row").take_ids()
    writer: Writer = WRITERS[path.suffix]
    if path.suffix == ".csv":
        writer = partial(_write_lines, spreadsheet_safe=spreadsheet_safe, measured=measured)
    elif path.suffix == ".parquet":
        writer = partial(_write_parquet, measured=measured)
    write_atomically(path, lambda handle: writer(handle, n_rows, blocks, ids))


def guard_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: with an apostrophe if need be.

    Numbers are harmless, also as text. Removing one leading apostrophe gives the cell back.

    Examples
    --------
    >>> [guard_cell(cell) for cell in ("=1+1", "-5", "-5+1", "@home", "x=1", "'x", -5)]
    ["'=1+1", '-5', "'-5+1", "'@home", 'x=1', "''x", -5]
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def format_labels(
    blocks: Iterable[LabelledBlock],
    ids: Ids | None = None,
    *,
    spreadsheet_safe: bool = False,
    measured: bool = False,
) -> Iterator[str]:
    """Yield text with one label per line; a header if there are ids before it or distances after.

    Parameters
    ----------
    blocks : iterable of LabelledBlock
        The labels of all rows, in their order.
    ids : Ids, optional
        The ids of the same rows.
    spreadsheet_safe : bool, default=False
        Whether ids are guarded by `guard_cell`, and quoted: some spreadsheets split at ";", too.
    measured : bool, default=False
        Whether the distance of each row to its center follows its label.
    """
    text = io.StringIO(newline="")
    if spreadsheet_safe:
        table = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    else:
        table = csv.writer(text, lineterminator="\n")
    guard = guard_cell if spreadsheet_safe else _keep_cell
    if ids is not None or measured:
        head = [] if ids is None else [guard(ids.name)]
        table.writerow([*head, _label_name(ids), *([_distance_name(ids)] if measured else [])])
    for block in blocks:
        for start in range(0, len(block.labels), N_LINES):
            labels = block.labels[start : start + N_LINES].tolist()
            columns = [labels] if ids is None else [map(guard, ids.take(len(labels))), labels]
            if measured and block.distances is not None:
                columns.append(block.distances[start : start + N_LINES].tolist())
            table.writerows(zip(*columns, strict=True))
            yield text.getvalue()
            text.seek(0)
            text.truncate()


def _keep_cell(cell: Any) -> Any:
    return cell


def _label_name(ids: Ids | None) -> str:
    """Return the name of the column of labels, which must differ from that of the ids."""
    return "cluster" if ids is not None and ids.name == "label" else "label"


def _distance_name(ids: Ids | None) -> str:
    """Return the name of the column of distances, which must differ from that of the ids."""
    return "distance to center" if ids is not None and ids.name == "distance" else "distance"


def _write_array(
    handle: BinaryIO, n_rows: int, blocks: Iterable[LabelledBlock], ids: Ids | None
) -> None:
    kind = npy.dtype_to_descr(np.dtype(np.int32))
    header = {"descr": kind, "fortran_order": False, "shape": (n_rows,)}
    npy.write_array_header_1_0(handle, header)
    for block in blocks:
        handle.write(block.labels.tobytes())


def _write_lines(
    handle: BinaryIO,
    n_rows: int,
    blocks: Iterable[LabelledBlock],
    ids: Ids | None,
    *,
    spreadsheet_safe: bool = False,
    measured: bool = False,
) -> None:
    for text in format_labels(blocks, ids, spreadsheet_safe=spreadsheet_safe, measured=measured):
        handle.write(text.encode())


def _write_parquet(
    handle: BinaryIO,
    n_rows: int,
    blocks: Iterable[LabelledBlock],
    ids: Ids | None,
    *,
    measured: bool = False,
) -> None:
    arrow = load_extra("pyarrow", "parquet", "a .parquet file")
    parquet = load_extra("pyarrow.parquet", "parquet", "a .parquet file")
    fields = [] if ids is None else [(ids.name, ids.arrow_type())]
    more = [(_distance_name(ids), arrow.float64())] if measured else []
    schema = arrow.schema([*fields, (_label_name(ids), arrow.int32()), *more])
    with parquet.ParquetWriter(handle, schema) as writer:
        for block in blocks:
            columns: list[Any] = [] if ids is None else [ids.take(len(block.labels))]
            columns += [block.labels, block.distances] if measured else [block.labels]
            arrays = [
                arrow.array(column, type=kind)
                for column, kind in zip(columns, schema.types, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


Writer = Callable[[BinaryIO, int, Iterable[LabelledBlock], Ids | None], None]
WRITERS: dict[str, Writer] = {
    ".npy": _write_array,
    ".csv": _write_lines,
    ".parquet": _write_parquet,
}


def find_truth(file: str | None, column: SideColumn | None, rows: RowSource) -> NDArray[Any] | None:
    """Return the true labels of a column, of a file, or stored with the rows; None if no place."""
    if column is not None:
        return column.read_labels()
    return rows.labels if file is None else read_label_file(file, rows.shape[0])
