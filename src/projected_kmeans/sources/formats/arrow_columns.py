"""Arrow columns as rows: which columns hold the features, and record batches as a matrix.

Serves files (`columnar`) and tables in memory (`table_source`), which open the data themselves.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.feature_columns import choose_columns, list_names
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.row_layout import plain_dtype, turn_columns


@dataclass(frozen=True)
class VectorColumns:
    """The columns that hold the features: one for each, or one column of vectors (`is_list`).

    ``length`` is the number of features; None if the type of a column of vectors leaves it open.
    ``where`` is what errors call the data, and ``nan_holes`` says whether missing vectors are read
    as NaN instead of being refused.
    """

    names: tuple[str, ...]
    dtype: np.dtype[Any]
    is_list: bool
    length: int | None
    where: str
    nan_holes: bool = False

    def with_holes(self) -> VectorColumns:
        """Return the columns with missing numbers and vectors as NaN, in a type that has it."""
        dtype = self.dtype if self.dtype.kind == "f" else np.dtype(np.float64)
        return replace(self, dtype=dtype, nan_holes=True)

    def fill(self, rows: NDArray[Any], batch: Any, first_row: int) -> None:
        """Write a record batch of these columns into rows; errors count from its first row."""
        if self.is_list:
            rows[:] = self.view(batch, rows.shape[1], first_row)
            return
        columns = np.empty(rows.shape[::-1], rows.dtype)
        for column, name in enumerate(self.names):
            cells = batch.column(name)
            self._check_filled(cells, name, first_row)
            columns[column] = _numbers(cells)
        turn_columns(columns, rows)

    def view(self, batch: Any, n_features: int, first_row: int) -> NDArray[Any]:
        """Return the vectors of a record batch: a view of it, or a copy if numbers are missing."""
        name = self.names[0]
        vectors = batch.column(name)
        if vectors.null_count and self.nan_holes:
            return self._view_around_holes(batch, vectors, n_features, first_row)
        if vectors.null_count:
            row = first_row + int(np.argmax(np.asarray(vectors.is_null())))
            raise UnreadableFile(
                f"{self.where} has no vector in column {name!r}, row {row}; leave the row out"
            )
        if not _arrow().types.is_fixed_size_list(vectors.type):
            lengths = np.diff(np.asarray(vectors.offsets))
            if (lengths != n_features).any():
                row = int(np.argmax(lengths != n_features))
                raise UnreadableFile(
                    f"{self.where} has {lengths[row]} numbers in column {name!r}, row "
                    f"{first_row + row}, and {n_features} before; give all vectors one length"
                )
        cells = vectors.flatten()
        self._check_filled(cells, name, first_row)
        return _numbers(cells).reshape(len(vectors), n_features)

    def _view_around_holes(
        self, batch: Any, vectors: Any, n_features: int, first_row: int
    ) -> NDArray[Any]:
        """Return the vectors of a record batch; those that are missing are NaN."""
        there = ~np.asarray(vectors.is_null())
        rows = np.full((len(vectors), n_features), np.nan, self.dtype)
        if there.any():
            rows[there] = self.view(batch.filter(_arrow().array(there)), n_features, first_row)
        return rows

    def _check_filled(self, cells: Any, name: str, first_row: int) -> None:
        # A missing float is read as NaN; for a missing integer there is no such number.
        if cells.null_count and self.dtype.kind != "f":
            index = int(np.argmax(np.asarray(cells.is_null())))
            row = first_row + (index // (self.length or 1) if self.is_list else index)
            raise UnreadableFile(
                f"{self.where} has nothing in column {name!r}, row {row}; fill it or store the "
                "column as floats"
            )


def find_vectors(
    schema: Any, columns: Sequence[str] | None, drop: Sequence[str] | None, where: str
) -> VectorColumns:
    """Return which columns of a schema hold the features; raise if that is not clear.

    The index that pandas stores beside them is not a feature.
    """
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    hidden = [name for name in index if columns is None and name not in (drop or ())]
    names = [name for name in schema.names if name not in hidden]
    kept = choose_columns(names, columns, drop, where)
    chosen = names if kept is None else [names[column] for column in kept]
    types = {name: schema.field(name).type for name in chosen}
    others = [name for name in chosen if _dtype_of(types[name]) is None]
    lists = [name for name in others if _is_vector(types[name])]
    if not others and chosen:
        dtype = np.result_type(*(_dtype_of(kind) for kind in types.values()))
        return VectorColumns(tuple(chosen), dtype, False, len(chosen), where)
    if len(lists) == len(chosen) == 1:
        kind = types[lists[0]]
        fixed = _arrow().types.is_fixed_size_list(kind)
        dtype = _dtype_of(kind.value_type)
        return VectorColumns((lists[0],), dtype, True, kind.list_size if fixed else None, where)
    if lists:
        raise UnreadableFile(
            f"{where} has vectors in column {lists[0]!r} beside other columns; choose with "
            f"columns=[{lists[0]!r}]"
        )
    if not others:
        raise UnreadableFile(f"{where} has no columns; give at least one of numbers")
    raise UnreadableFile(
        f"{where} has columns that do not hold numbers ({list_names(others)}); leave them out "
        f"with drop={others[:8]!r}, or choose with columns=[...]"
    )


def _arrow() -> Any:
    return importlib.import_module("pyarrow")


def _dtype_of(kind: Any) -> Any:
    """Return the NumPy type of a column of numbers, or None for other columns."""
    types = _arrow().types
    if types.is_boolean(kind):
        return np.dtype(np.uint8)
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    if types.is_integer(kind) or types.is_floating(kind):
        return plain_dtype(np.dtype(kind.to_pandas_dtype()))
    return None


def _is_vector(kind: Any) -> bool:
    types = _arrow().types
    listed = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    return listed and _dtype_of(kind.value_type) is not None


def _numbers(cells: Any) -> NDArray[Any]:
    arrow = _arrow()
    if arrow.types.is_decimal(cells.type) or (
        arrow.types.is_boolean(cells.type) and cells.null_count
    ):
        cells = cells.cast(arrow.float64())
    numbers: NDArray[Any] = cells.to_numpy(zero_copy_only=False)
    return numbers
