"""READ: what the readers of all file formats share: lazy handles, errors in one sentence.

Knows no format; a reader hands over what its file holds.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import MissingExtra
from projected_kmeans.sources.protocol import (
    Rows,
    UnreadableFile,
    check_range,
    plain_dtype,
    plain_rows,
)

Handle = TypeVar("Handle")

# Bytes that a fingerprint takes from each of three places of a file.
SAMPLE_BYTES = 2**16


class Reader(Protocol):
    """What a format's module knows of opened files; `FileRows` makes a row source of it."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sparse: bool
    feature_names: tuple[str, ...] | None
    labels: NDArray[Any] | None

    def read(self, start: int, stop: int) -> Any:
        """Return rows of a range that is known to be right, in any layout."""

    def close(self) -> None:
        """Let go of open files; a later read opens them again."""


class LazyHandle(Generic[Handle]):
    """Something that is opened at its first use in a process, and not carried when pickled.

    Closing forgets it: what it holds is released once the last thread that reads has finished.
    """

    def __init__(self, opener: Callable[..., Handle], *arguments: Any) -> None:
        self._opener = opener
        self._arguments = arguments
        self._lock = threading.Lock()
        self._opened: tuple[int, Handle] | None = None

    def get(self) -> Handle:
        """Return the handle of this process."""
        with self._lock:
            # A handle that a fork has copied shares its position in the file with its original.
            if self._opened is None or self._opened[0] != os.getpid():
                self._opened = (os.getpid(), self._opener(*self._arguments))
            return self._opened[1]

    def close(self) -> None:
        """Forget the handle."""
        with self._lock:
            self._opened = None

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyHandle, (self._opener, *self._arguments)


class FileRows:
    """The row source of one file, or of files that are read together.

    Parameters
    ----------
    files : sequence of Path
        The files, for errors and the fingerprint.
    format : str
        The format's name, for the same.
    choice : object
        What was chosen of the files, for the fingerprint, by its repr.
    reader : Reader
        Reads ranges.
    """

    def __init__(self, files: Sequence[Path], format: str, choice: object, reader: Reader) -> None:
        self.files = tuple(files)
        self.format = format
        self._choice = repr(choice)
        self._reader = reader

    @property
    def name(self) -> str:
        """What errors call the source."""
        return str(self.files[0] if len(self.files) == 1 else self.files[0].parent)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""
        return self._reader.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of what `read` returns."""
        return plain_dtype(self._reader.dtype)

    @property
    def sparse(self) -> bool:
        """Whether `read` returns CSR rows."""
        return self._reader.sparse

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where the file has them."""
        return self._reader.feature_names

    @property
    def labels(self) -> NDArray[Any] | None:
        """A label for each row, where the file has them."""
        return self._reader.labels

    @property
    def forward_only(self) -> bool:
        """Whether the next range costs less than any other, as what is before it is decoded."""
        return getattr(self._reader, "forward_only", False)

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1."""
        check_range(start, stop, self.shape[0])
        with one_sentence(self.name, self.format):
            rows = plain_rows(self._reader.read(start, stop), self.dtype)
        if rows.shape != (stop - start, self.shape[1]):
            raise UnreadableFile(
                f"{self.name} has changed: its rows {start}:{stop} have shape {rows.shape}; open "
                "it again"
            )
        return rows

    def identity(self) -> str:
        """Return a hash of sizes, times of change, shape, type and some bytes; not of paths."""
        known = (self.format, self.shape, self.dtype.str, self.feature_names, self._choice)
        digest = hashlib.sha256(repr(known).encode())
        for file in self.files:
            for part in sorted(file.rglob("*")) if file.is_dir() else [file]:
                _add_file(digest, part)
        return digest.hexdigest()

    def close(self) -> None:
        """Let go of open files; a later read opens them again."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def one_sentence(path: str | Path, format: str) -> Iterator[None]:
    """Turn whatever a parser raises into one sentence on the file."""
    try:
        yield
    except (UnreadableFile, MissingExtra, MemoryError):
        raise
    except Exception as error:  # on a damaged file the parsers raise nearly anything
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UnreadableFile(
            f"{path} cannot be read as {format} ({reason}); check that it is complete and of that "
            "format, or write it again"
        ) from error


def _add_file(digest: Any, file: Path) -> None:
    state = file.stat()
    digest.update(repr((state.st_size, state.st_mtime_ns)).encode())
    if not file.is_file():
        return
    with open(file, "rb") as handle:
        for start in (0, state.st_size // 2, max(0, state.st_size - SAMPLE_BYTES)):
            handle.seek(start)
            digest.update(handle.read(SAMPLE_BYTES))
