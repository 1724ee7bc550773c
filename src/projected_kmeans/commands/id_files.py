"""Where ids of rows come from: a column of DATA, a file of their own, or names of image files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from projected_kmeans.commands.feature_name_files import read_lines
from projected_kmeans.messages import first_line
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import ListedIds, RowIds, SideColumn


@dataclass(frozen=True)
class IdChoice:
    """What the caller said of ids.

    Attributes
    ----------
    column : SideColumn or None
        The column that ``--id-column`` names.
    file : str or None
        The file that ``--ids`` names.
    """

    column: SideColumn | None
    file: str | None

    def __post_init__(self) -> None:
        if self.column is not None and self.file is not None:
            raise ValueError("--ids and --id-column both give ids; give one of them")

    def resolve(self, rows: RowSource) -> RowIds | None:
        """Return the ids of rows: those that were asked for, or the names of image files."""
        if self.column is not None:
            return self.column
        if self.file is not None:
            return read_ids(self.file, rows.shape[0])
        return None if rows.row_ids is None else ListedIds(rows.row_ids, "file")


def read_ids(path: str, n_rows: int) -> ListedIds:
    """Return the ids of a file; raise unless there is one for each row.

    Parameters
    ----------
    path : str
        A text file with one id per line, and a header if it has one line more; or a ``.npy`` file
        of text or whole numbers.
    n_rows : int
        The number of rows.
    """
    file, name = Path(path), "id"
    cells: list[Any] = _read_array(file) if file.suffix == ".npy" else list(read_lines(file, "id"))
    if file.suffix != ".npy" and len(cells) == n_rows + 1:
        name, *cells = cells
    if len(cells) != n_rows:
        raise ValueError(f"{path} has {len(cells)} ids for {n_rows} rows; give one for each")
    return ListedIds(cells, name, path)


def _read_array(file: Path) -> list[Any]:
    try:
        stored = np.load(file, allow_pickle=False)
    except Exception as error:  # NumPy's parser raises nearly anything
        raise ValueError(
            f"{file} cannot be read as ids ({first_line(error)}); give an array of text or numbers"
        ) from error
    if stored.ndim != 1 or stored.dtype.kind not in "Uiu":
        raise ValueError(
            f"{file} holds {stored.dtype} of shape {stored.shape}; give one id a row, as text or "
            "whole numbers"
        )
    found: list[Any] = stored.tolist()
    return found
