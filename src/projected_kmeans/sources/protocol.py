"""READ: the protocol of row sources, data of any size that is read by ranges of rows.

Says what a source promises; it opens no file and knows no format.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Rows: TypeAlias = "NDArray[Any] | scipy.sparse.csr_array[Any]"

# Rows that are turned together, fewer if they would not stay in the cache.
TURNED_ROWS = 256
TURNED_BYTES = 2**20


class UnreadableFile(ValueError):
    """A file that cannot be used; its message says what, why, and what to do."""


class RowSource(Protocol):
    """Rows in memory, on disk or elsewhere, of which any range can be read at any time.

    A source is a value that travels: pickled, it carries where the data is rather than what it
    holds, and opens it again where it arrives. Several threads may read at once.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of what `read` returns, as narrow as it is stored."""

    @property
    def sparse(self) -> bool:
        """Whether `read` returns CSR rows."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where the data has them."""

    @property
    def labels(self) -> NDArray[Any] | None:
        """A label for each row, where the data comes with them."""

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1, as CSR or C-contiguous.

        They may be a view of the data, so they are not to be written to.
        """

    def identity(self) -> str:
        """Return a fingerprint that tells these rows from others without reading them all."""

    def close(self) -> None:
        """Let go of open files; a later read opens them again."""

    def __enter__(self) -> Self:
        """Return the source, to be closed at the end of the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the source."""


def is_row_source(data: Any) -> bool:
    """Return whether data is a row source rather than an array, a table or a list."""
    return callable(getattr(data, "read", None)) and callable(getattr(data, "identity", None))


def plain_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which numbers of a stored type are read: native, booleans as bytes."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")


def plain_rows(rows: Any, dtype: np.dtype[Any]) -> Rows:
    """Return rows C-contiguous in a plain type, as they are if they are that already."""
    if scipy.sparse.issparse(rows):
        found: scipy.sparse.csr_array[Any] = to_csr(rows).astype(dtype, copy=False)
        return found
    if rows.ndim == 2 and rows.strides[0] == rows.itemsize < rows.strides[1]:
        turned = np.empty(rows.shape, dtype)
        turn_columns(rows.T, turned)
        return turned
    return np.ascontiguousarray(rows, dtype=dtype)


def turn_columns(columns: NDArray[Any], rows: NDArray[Any]) -> None:
    """Write columns (d, n) as rows (n, d), a few rows at a time through a buffer.

    Columns are often a power of two apart, and then evict one another from the cache; in the
    buffer they are not, which makes this five times as fast as a plain copy.
    """
    n_features, n_rows = columns.shape
    step = max(16, min(TURNED_ROWS, TURNED_BYTES // max(1, n_features * rows.itemsize)))
    buffer = np.empty((n_features, step + 16), rows.dtype)
    for start in range(0, n_rows, step):
        part = columns[:, start : start + step]
        held = buffer[:, : part.shape[1]]
        held[:] = part
        rows[start : start + step] = held.T


def to_csr(rows: Any) -> scipy.sparse.csr_array[Any]:
    """Return any sparse matrix or array as a CSR array, without a copy if it is CSR."""
    return scipy.sparse.csr_array(rows)


def check_range(start: int, stop: int, n_rows: int) -> None:
    """Raise where a range does not lie within so many rows."""
    if not 0 <= start <= stop <= n_rows:
        raise ValueError(
            f"rows {start}:{stop} are not within the {n_rows} of the source; give "
            f"0 <= start <= stop <= {n_rows}"
        )


def check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> None:
    """Raise where an array is not a matrix of real numbers with a row and a column."""
    if dtype.kind == "c":
        raise UnreadableFile(f"{where} holds complex numbers; give real ones, such as abs(X)")
    if dtype.kind not in "biuf":
        raise UnreadableFile(f"{where} holds values of type {dtype}; give numbers")
    if len(shape) != 2:
        raise UnreadableFile(
            f"{where} has shape {shape}, but rows and columns are needed; reshape it, such as with "
            "X.reshape(len(X), -1)"
        )
    if 0 in shape:
        raise UnreadableFile(f"{where} has shape {shape}; give at least one row and column")
