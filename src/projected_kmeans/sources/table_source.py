"""Row sources of tables in memory: pandas, polars and pyarrow.

None of these packages is needed: one is imported only if a table of it is passed. narwhals would be
a dependency of everybody in place of forty lines, and leaves types, holes and vectors to us.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.messages import first_line
from projected_kmeans.sources.feature_columns import list_names
from projected_kmeans.sources.formats.arrow_columns import find_vectors
from projected_kmeans.sources.protocol import (
    Rows,
    SourceDefaults,
    UnreadableFile,
    check_matrix,
    check_range,
)
from projected_kmeans.sources.row_layout import plain_dtype, plain_rows

# A fingerprint looks at 1,000 rows at the start, in the middle and at the end.
SAMPLE_ROWS = 1000


class TableRows(SourceDefaults):
    """The row source of a table of numbers; the names of its columns are the feature names.

    A class for each package takes rows in any layout, with NaN for missing numbers.
    """

    def __init__(
        self,
        data: Any,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        names: tuple[str, ...] | None,
    ) -> None:
        self._data = data
        self.shape = shape
        self.dtype = plain_dtype(dtype)
        self.feature_names = names
        check_matrix(shape, self.dtype, "the table")

    def _take(self, start: int, stop: int) -> NDArray[Any]:
        raise NotImplementedError

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1."""
        check_range(start, stop, self.shape[0])
        return plain_rows(self._take(start, stop), self.dtype)

    def identity(self) -> str:
        """Return a hash of shape, type, names and 3,000 rows at three places."""
        digest = hashlib.sha256(repr((self.shape, self.dtype.str, self.feature_names)).encode())
        n_rows = self.shape[0]
        for start in (0, n_rows // 2, max(0, n_rows - SAMPLE_ROWS)):
            rows = self._take(start, min(n_rows, start + SAMPLE_ROWS))
            digest.update(np.ascontiguousarray(rows, dtype=self.dtype).tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data,)


class PandasRows(TableRows):
    """The rows of a pandas DataFrame."""

    def __init__(self, frame: Any) -> None:
        types = importlib.import_module("pandas").api.types
        kinds = list(frame.dtypes)
        names = tuple(map(str, frame.columns))
        _check_numeric(names, [types.is_numeric_dtype(kind) for kind in kinds])
        # A nullable type of pandas names the NumPy type of its values.
        plain = [kind if isinstance(kind, np.dtype) else kind.numpy_dtype for kind in kinds]
        dtype = plain_dtype(np.result_type(*plain)) if plain else np.dtype(np.float64)
        nullable = [index for index, kind in enumerate(kinds) if not isinstance(kind, np.dtype)]
        if dtype.kind != "f" and frame.iloc[:, nullable].isna().to_numpy().any():
            dtype = np.dtype(np.float64)
        super().__init__(frame, frame.shape, dtype, names)

    def _take(self, start: int, stop: int) -> NDArray[Any]:
        filled = {"na_value": np.nan} if self.dtype.kind == "f" else {}
        rows: NDArray[Any] = self._data.iloc[start:stop].to_numpy(dtype=self.dtype, **filled)
        return rows


class PolarsRows(TableRows):
    """The rows of a polars DataFrame of numbers, or of one column of arrays."""

    def __init__(self, frame: Any) -> None:
        polars = importlib.import_module("polars")
        if not isinstance(frame, polars.DataFrame):
            raise UnreadableFile(
                f"the polars {type(frame).__name__} is not a table; give a DataFrame, such as "
                "by collect()"
            )
        kinds = frame.dtypes
        if len(kinds) == 1 and isinstance(kinds[0], polars.Array):
            dtype = plain_dtype(frame.to_series().head(1).to_numpy().dtype)
            super().__init__(frame, (frame.height, int(kinds[0].size)), dtype, None)
            return
        names = tuple(frame.columns)
        _check_numeric(names, [kind.is_numeric() or kind == polars.Boolean for kind in kinds])
        # A column with missing values becomes a column of floats.
        types = [plain_dtype(series.clear().to_numpy().dtype) for series in frame]
        if frame.null_count().sum_horizontal().sum():
            types.append(np.dtype(np.float64))
        dtype = np.result_type(*types) if types else np.dtype(np.float64)
        super().__init__(frame, (frame.height, frame.width), dtype, names)

    def _take(self, start: int, stop: int) -> NDArray[Any]:
        part = self._data.slice(start, stop - start)
        if self.feature_names is None:
            vectors: NDArray[Any] = part.to_series().to_numpy()
            return vectors.reshape(stop - start, self.shape[1])
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for column, series in enumerate(part):
            rows[:, column] = series.to_numpy()
        return rows


class ArrowRows(TableRows):
    """The rows of a pyarrow Table or RecordBatch: columns of numbers, or one column of vectors."""

    def __init__(self, table: Any) -> None:
        arrow = importlib.import_module("pyarrow")
        if isinstance(table, arrow.RecordBatch):
            table = arrow.Table.from_batches([table])
        if not isinstance(table, arrow.Table):
            raise UnreadableFile(f"the pyarrow {type(table).__name__} is not a table; give a Table")
        try:
            table.validate(full=True)  # pyarrow itself believes lengths and offsets
        except arrow.ArrowInvalid as error:
            raise UnreadableFile(
                f"the table is damaged ({first_line(error)}); build it again"
            ) from error
        self._vectors = find_vectors(table.schema, None, None, "the table")
        length = self._vectors.length
        if length is None:
            length = len(table.column(0)[0]) if table.num_rows else 0
        names = None if self._vectors.is_list else self._vectors.names
        super().__init__(table, (table.num_rows, length), self._vectors.dtype, names)

    def _take(self, start: int, stop: int) -> NDArray[Any]:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        begin = 0
        for batch in self._data.slice(start, stop - start).to_batches():
            end = begin + batch.num_rows
            self._vectors.fill(rows[begin:end], batch, start + begin)
            begin = end
        return rows


TABLES: dict[str, Callable[[Any], TableRows]] = {
    "pandas": PandasRows,
    "polars": PolarsRows,
    "pyarrow": ArrowRows,
}


def package_of(data: Any) -> str:
    """Return the name of the package that an object comes from."""
    return type(data).__module__.partition(".")[0]


def _check_numeric(names: Sequence[str], is_number: Sequence[bool]) -> None:
    others = [name for name, fits in zip(names, is_number, strict=True) if not fits]
    if others:
        raise UnreadableFile(
            f"the table has columns that do not hold numbers ({list_names(others)}); leave them out"
        )
