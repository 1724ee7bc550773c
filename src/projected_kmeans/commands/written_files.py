"""The files that commands write: labels, representatives and tables, each checked before the work.

Labels are written block by block as they are computed, to a file that appears when it is whole.

Ids are written as they are, because programs join tables by them: an id such as "@home" must come
back as "@home". A spreadsheet runs a cell that begins with =, +, - or @ as a formula. Who opens
ids of others in a spreadsheet asks for guarded cells, by ``--spreadsheet-safe``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.output_files import open_output_folder, write_atomically
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.sources.side_columns import Ids, ListedIds, RowIds

if TYPE_CHECKING:  # commands without a model need not load it
    from projected_kmeans.estimator.cluster_descriptions import Representatives

# Number of labels, with their ids, that are turned into text at a time.
N_LINES = 2**16

# What the option is for, in errors.
GUARDS = "--spreadsheet-safe guards ids in text"

# Beginnings of cells that spreadsheets take for formulas, also after a tab or a line end, or in
# full width. An apostrophe is among them, so that removing one apostrophe gives every id back.
FORMULA = re.compile(r"[=+\-@\t\r\n'\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def check_file(out: str, formats: Sequence[str] = ()) -> Path:
    """Return the path of a file to write; refuse a folder, and a format that is not among these."""
    path = Path(out)
    if formats and path.suffix not in formats:
        *others, last = formats
        known = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{out} has the unknown format {path.suffix!r}; use {known}")
    if path.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    return path


def open_file_folder(
    out: str | None, formats: Sequence[str]
) -> AbstractContextManager[Path | None]:
    """Check, before the long work, that a file can be written; None writes no file."""
    return nullcontext() if out is None else open_output_folder(check_file(out, formats).parent)


def write_csv(path: Path, lines: Iterable[Iterable[Any]]) -> None:
    """Write a table whose first line is its header."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    write_atomically(path, lambda handle: handle.write(text.getvalue().encode()))


def open_label_folder(
    out: str | None, *, with_ids: bool, spreadsheet_safe: bool, measured: bool = False
) -> AbstractContextManager[Path | None]:
    """Check, before the long work, that labels can be written to a file; None writes no file."""
    if out is None:
        return nullcontext()
    if spreadsheet_safe and Path(out).suffix != ".csv":
        raise ValueError(f"{GUARDS}; give a .csv file, or leave it out")
    path = check_file(out, (".npy", ".csv", ".parquet"))
    if path.suffix == ".parquet":
        load_extra("pyarrow", "parquet", out)
    if path.suffix == ".npy" and (with_ids or measured):
        what = "ids" if with_ids else "distances"
        raise ValueError(f"{out} has no room for {what} beside the labels; use .csv or .parquet")
    return open_output_folder(path.parent)


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

    def write(handle: BinaryIO) -> None:
        if path.suffix == ".npy":
            _write_array(handle, n_rows, blocks)
        elif path.suffix == ".parquet":
            _write_parquet(handle, blocks, ids, measured)
        else:
            named = ListedIds(range(n_rows), "row").take_ids() if ids is None else ids
            for text in format_labels(
                blocks, named, spreadsheet_safe=spreadsheet_safe, measured=measured
            ):
                handle.write(text.encode())

    write_atomically(path, write)


def _write_array(handle: BinaryIO, n_rows: int, blocks: Iterable[LabelledBlock]) -> None:
    kind = npy.dtype_to_descr(np.dtype(np.int32))
    header = {"descr": kind, "fortran_order": False, "shape": (n_rows,)}
    npy.write_array_header_1_0(handle, header)
    for block in blocks:
        handle.write(block.labels.tobytes())


def _write_parquet(
    handle: BinaryIO, blocks: Iterable[LabelledBlock], ids: Ids | None, measured: bool
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


def format_labels(
    blocks: Iterable[LabelledBlock],
    ids: Ids | None = None,
    *,
    spreadsheet_safe: bool = False,
    measured: bool = False,
) -> Iterator[str]:
    """Yield text with one label per line; a header if there are ids before it or distances after.

    Guarded ids are quoted, too, because some spreadsheets split at ";".
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


def _label_name(ids: Ids | None) -> str:
    """Return the name of the column of labels, which must differ from that of the ids."""
    return "cluster" if ids is not None and ids.name == "label" else "label"


def _distance_name(ids: Ids | None) -> str:
    """Return the name of the column of distances, which must differ from that of the ids."""
    return "distance to center" if ids is not None and ids.name == "distance" else "distance"


def guard_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: with an apostrophe if need be.

    Numbers are harmless, also as text. Removing one leading apostrophe gives the cell back.
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _keep_cell(cell: Any) -> Any:
    return cell


def write_representatives(
    out: str, nearest: Representatives, ids: RowIds | None, spreadsheet_safe: bool
) -> None:
    """Write a .csv file with a line for each representative, by cluster, the nearest first."""
    guard: Callable[[Any], Any] = guard_cell if spreadsheet_safe else _keep_cell
    names = None if ids is None else pick_ids(ids, nearest.rows.ravel().tolist())
    columns = ("cluster", "rank", "row", "distance")
    head = [] if ids is None else [guard("id" if ids.name in columns else ids.name)]
    lines = [
        [cluster, rank, row, *([] if names is None else [guard(names[row])]), distance]
        for cluster, rank, row, distance in _walk(nearest)
    ]
    write_csv(Path(out), [[*columns[:3], *head, columns[3]], *lines])


def pick_ids(column: RowIds, rows: Sequence[int]) -> dict[int, Any]:
    """Return the ids of some rows, by row; the column is read from its first row on."""
    wanted = set(rows)
    return {row: cell for row, cell in enumerate(column.values()) if row in wanted}


def _walk(nearest: Representatives) -> Iterator[tuple[int, int, int, float]]:
    """Yield cluster, rank from 1, row and distance of every representative there is."""
    pairs = zip(nearest.rows.tolist(), nearest.distances.tolist(), strict=True)
    for cluster, (rows, distances) in enumerate(pairs):
        for rank, (row, distance) in enumerate(zip(rows, distances, strict=True), start=1):
            if row >= 0:
                yield cluster, rank, row, distance
