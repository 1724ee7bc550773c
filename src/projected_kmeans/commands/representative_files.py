"""Write the rows that represent clusters as a .csv file: a line for each, with its id.

Finds no rows itself: `estimator.representatives` does that.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from projected_kmeans.commands.label_files import guard_cell
from projected_kmeans.commands.named_files import open_file_folder
from projected_kmeans.estimator.representatives import Representatives
from projected_kmeans.output_files import write_atomically
from projected_kmeans.sources.side_columns import RowIds


def open_representative_folder(out: str | None) -> AbstractContextManager[Path | None]:
    """Check, before the long work, that representatives can be written; None writes no file."""
    return open_file_folder(out, [".csv"])


def write_representatives(
    out: str, found: Representatives, ids: RowIds | None, *, spreadsheet_safe: bool = False
) -> None:
    """Write a header and a line for each representative, cluster by cluster, nearest first.

    Parameters
    ----------
    out : str
        The file, which appears when it is whole.
    found : Representatives
        The rows.
    ids : RowIds or None
        What identifies the rows.
    spreadsheet_safe : bool, default=False
        Whether ids are guarded by `guard_cell`.
    """
    guard: Callable[[Any], Any] = guard_cell if spreadsheet_safe else _keep_cell
    names = None if ids is None else pick_ids(ids, found.rows.ravel().tolist())
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    head = [] if ids is None else [guard("id" if ids.name in COLUMNS else ids.name)]
    table.writerow([*COLUMNS[:3], *head, COLUMNS[3]])
    for cluster, rank, row, distance in _walk(found):
        table.writerow(
            [cluster, rank, row, *([] if names is None else [guard(names[row])]), distance]
        )
    write_atomically(Path(out), lambda handle: handle.write(text.getvalue().encode()))


COLUMNS = ("cluster", "rank", "row", "distance")


def pick_ids(column: RowIds, rows: Sequence[int]) -> dict[int, Any]:
    """Return the ids of some rows, by row; the column is read from its first row on."""
    wanted = set(rows)
    return {row: cell for row, cell in enumerate(column.values()) if row in wanted}


def _walk(found: Representatives) -> Iterator[tuple[int, int, int, float]]:
    """Yield cluster, rank from 1, row and distance of every representative there is."""
    pairs = zip(found.rows.tolist(), found.distances.tolist(), strict=True)
    for cluster, (rows, distances) in enumerate(pairs):
        for rank, (row, distance) in enumerate(zip(rows, distances, strict=True), start=1):
            if row >= 0:
                yield cluster, rank, row, distance


def _keep_cell(cell: Any) -> Any:
    return cell
