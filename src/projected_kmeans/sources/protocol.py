"""What every row source promises, and the defaults that most sources share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, TypeGuard

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.messages import one_line

# The methods that tell a row source from arrays, tables, lists and open files, and what it has
# beside them.
METHODS = ("read", "identity")
MEMBERS = (
    *("shape", "dtype", "sparse", "forward_only", "feature_names", "labels"),
    *("row_ids", "image_shape", "close"),
)
MISSING = object()

Rows: TypeAlias = "NDArray[Any] | scipy.sparse.csr_array[Any]"


class UnreadableFile(ValueError):
    """Data that cannot be used as rows; the message says what is wrong and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))  # what it quotes of a file may hold anything


class RowSource(Protocol):
    """Rows in memory, on disk or elsewhere, of which any range can be read at any time.

    Several threads may read at once. A pickled source carries the place of its data, such as a
    path, and not the rows; it opens the data again in the process where it is unpickled. (Sources
    of arrays and tables in memory have no such place: they are pickled with their rows.)

    A class of your own is a row source if it has these members. `SourceDefaults` has all of them
    but `shape`, `dtype`, `read` and `identity`.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of the rows that `read` returns: the stored type, not a wider one."""

    @property
    def sparse(self) -> bool:
        """Whether `read` returns CSR rows."""

    @property
    def forward_only(self) -> bool:
        """Whether reading the range after the last one is cheaper than reading any other range.

        True for compressed formats that are decoded from the start of a piece on. Such a source
        is read by one thread at a time, because two threads would decode the same piece twice.
        """

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, or None if the data has none."""

    @property
    def labels(self) -> NDArray[Any] | None:
        """A label for each row, or None if the data has none."""

    @property
    def row_ids(self) -> Sequence[Any] | None:
        """What identifies each row, such as the name of its file; None if the data has nothing."""

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """Height and width of rows that are images, and 3 if they have colours; else None."""

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1: CSR, or a C-contiguous array.

        The array may be a view of the data, so do not write to it.
        """

    def identity(self) -> str:
        """Return a fingerprint of the rows that is computed without reading all of them."""

    def close(self) -> None:
        """Close open files; a later `read` opens them again."""

    def __enter__(self) -> Self:
        """Return the source, which is closed at the end of the ``with`` block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the source."""


class SourceDefaults:
    """What a row source has unless its class says otherwise; readers of files inherit it too.

    The rows are dense, have neither names nor labels nor ids, are not images, can be read in any
    order at the same cost, and hold nothing open. A source is a context manager that closes itself.
    """

    sparse: bool = False
    forward_only: bool = False
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    row_ids: Sequence[Any] | None = None
    image_shape: tuple[int, ...] | None = None

    def close(self) -> None:
        """Do nothing, because nothing is held open between two reads."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_row_source(data: Any) -> TypeGuard[RowSource]:
    """Return whether data is a row source rather than an array, a table or a list.

    Raise a TypeError if it is one that lacks a member of `RowSource`.

    The class is asked and not the object, because a pandas table answers for its columns: one
    with columns called "read" and "identity" is still a table.
    """
    if any(inspect.getattr_static(type(data), name, MISSING) is MISSING for name in METHODS):
        return False
    for name in MEMBERS:  # looked up without calling a property, which may read a file
        if inspect.getattr_static(data, name, MISSING) is MISSING:
            raise TypeError(
                f"X of type {type(data).__name__} is a row source without {name!r}; add it, or "
                f"derive the class from {SourceDefaults.__module__}.SourceDefaults"
            )
    return True


def refuse_path(data: Any) -> None:
    """Raise if the name of a file is given in place of rows."""
    if isinstance(data, str | os.PathLike):
        name = os.fspath(data)
        raise TypeError(f"X is {name!r}, the name of a file; open it: open_rows({name!r})")


def check_range(start: int, stop: int, n_rows: int) -> None:
    """Raise if start, ..., stop - 1 are not rows of a source with this number of rows."""
    if not 0 <= start <= stop <= n_rows:
        raise ValueError(
            f"rows {start}:{stop} are not within the {n_rows} rows of the source; give "
            f"0 <= start <= stop <= {n_rows}"
        )


def check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> None:
    """Raise if an array is not a matrix of real numbers with at least one row and one column."""
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
