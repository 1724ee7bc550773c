"""The row source of files, and what the modules of formats/ build on.

A reader returns ranges of rows of opened files in whatever layout its format has. `FileRows` adds
what all formats share: checked ranges, plain layout, errors of one sentence, and a fingerprint.
`JoinedRows` reads the files of a folder one after another; datasets of pyarrow would do it for
three formats only, and could not read a range without all rows before it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.messages import first_line
from projected_kmeans.optional_packages import MissingExtra
from projected_kmeans.sources.mapped_files import check_file
from projected_kmeans.sources.memory import describe_shortage, is_shortage
from projected_kmeans.sources.protocol import Rows, SourceDefaults, UnreadableFile, check_range
from projected_kmeans.sources.row_layout import find_pieces, plain_dtype, plain_rows

Handle = TypeVar("Handle")

# A fingerprint reads 64 KB at each of three places of a file: start, middle and end.
SAMPLE_BYTES = 2**16
# At most 4 files of a folder stay open, because it may have more files than a process may open, and
# more rows than memory holds if its format is loaded whole.
N_OPEN = 4


class Reader(Protocol):
    """What a format knows of its opened files.

    A reader inherits `SourceDefaults`, so it only writes down what differs from dense rows without
    names and labels.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sparse: bool
    forward_only: bool
    feature_names: tuple[str, ...] | None
    labels: NDArray[Any] | None
    image_shape: tuple[int, ...] | None

    def read(self, start: int, stop: int) -> Any:
        """Return the rows start, ..., stop - 1 in any layout; the range is checked already."""

    def close(self) -> None:
        """Close open files; a later `read` opens them again."""


class LazyHandle(Generic[Handle]):
    """A file, or an array in it, that is opened at its first use in a process.

    Pickled, it carries how to open (a function of a module and its arguments) and not what is open.
    After `close`, the open file is released as soon as the last thread that reads from it has
    finished.
    """

    def __init__(self, opener: Callable[..., Handle], *arguments: Any) -> None:
        self._opener = opener
        self._arguments = arguments
        self._lock = threading.Lock()
        self._opened: tuple[int, Handle] | None = None

    def get(self) -> Handle:
        """Return the handle of this process, opened if it is not open."""
        with self._lock:
            # A forked process must open the file itself: a copied handle shares its position in
            # the file with the original.
            if self._opened is None or self._opened[0] != os.getpid():
                self._opened = (os.getpid(), self._opener(*self._arguments))
            return self._opened[1]

    def close(self) -> None:
        """Forget the handle."""
        self.take()

    def take(self) -> Handle | None:
        """Forget the handle and return it, or None if it is not open in this process."""
        with self._lock:
            opened, self._opened = self._opened, None
        return opened[1] if opened is not None and opened[0] == os.getpid() else None

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyHandle, (self._opener, *self._arguments)


class HandleReader(SourceDefaults):
    """A reader of rows behind one lazy handle, which it closes."""

    _handle: LazyHandle[Any]

    def close(self) -> None:
        """Forget what is open; a later `read` opens it again."""
        self._handle.close()


class MissingReader(UnreadableFile, MissingExtra):
    """A file whose format needs an optional package that is not installed."""


@contextmanager
def explain_errors(path: str | Path, format: str) -> Iterator[None]:
    """Turn whatever a parser raises into an `UnreadableFile` of one sentence with the file."""
    try:
        yield
    except UnreadableFile:
        raise
    except MissingExtra as error:
        raise MissingReader(str(error)) from error
    except Exception as error:  # parsers raise nearly anything if a file is damaged
        if is_shortage(error):
            raise describe_shortage(error, path) from error
        raise UnreadableFile(
            f"{path} cannot be read as {format} ({first_line(error)}); check that it is complete "
            "and of that format, or write it again"
        ) from error


class FileRows(SourceDefaults):
    """The row source of one file, or of several files that one reader reads together.

    ``choice`` is what was chosen of the files; its repr is part of the fingerprint. ``name`` is
    what errors call the source: the file, or the folder if there are several files.
    """

    def __init__(self, files: Sequence[Path], format: str, choice: object, reader: Reader) -> None:
        self.files = tuple(files)
        self.format = format
        self.name = str(files[0] if len(files) == 1 else files[0].parent)
        self.shape = reader.shape
        self.dtype = plain_dtype(reader.dtype)
        self.sparse = reader.sparse
        self.forward_only = reader.forward_only
        self.feature_names = reader.feature_names
        self.labels = reader.labels
        self.image_shape = reader.image_shape
        self._choice = repr(choice)
        self._reader = reader

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1; raise if the file has other rows by now."""
        check_range(start, stop, self.shape[0])
        with explain_errors(self.name, self.format):
            stored = self._reader.read(start, stop)
            rows = plain_rows(stored, self.dtype)
            check_file(stored)
        if rows.shape != (stop - start, self.shape[1]):
            raise UnreadableFile(
                f"{self.name} has changed: its rows {start}:{stop} have shape {rows.shape}; open "
                "it again"
            )
        return rows

    def identity(self) -> str:
        """Return a hash of sizes, modification times, shape, type and some bytes; not of paths."""
        known = (self.format, self.shape, self.dtype.str, self.feature_names, self._choice)
        digest = hashlib.sha256(repr(known).encode())
        for file in self.files:
            for part in sorted(file.rglob("*")) if file.is_dir() else [file]:
                _add_file(digest, part)
        return digest.hexdigest()

    def close(self) -> None:
        """Close open files; a later `read` opens them again."""
        self._reader.close()


class JoinedRows(SourceDefaults):
    """Several files as one source: the rows of the first file, then those of the second, and so on.

    The files agree in their columns and are all dense or all sparse. If their element types differ,
    rows are read in a type that holds all of them.
    """

    def __init__(self, sources: Sequence[FileRows]) -> None:
        _check_alike(sources)
        self.sources = tuple(sources)
        self.files = tuple(file for source in sources for file in source.files)
        self.format = sources[0].format
        self._open: OrderedDict[int, FileRows] = OrderedDict()
        self._lock = threading.Lock()
        self._starts = np.cumsum([0, *(source.shape[0] for source in sources)])
        self.shape = (int(self._starts[-1]), sources[0].shape[1])
        self.dtype: np.dtype[Any] = np.result_type(*(source.dtype for source in sources))
        self.sparse = sources[0].sparse
        self.forward_only = any(source.forward_only for source in sources)
        self.feature_names = sources[0].feature_names
        labels = [source.labels for source in sources if source.labels is not None]
        self.labels = np.concatenate(labels) if len(labels) == len(sources) else None

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1."""
        check_range(start, stop, self.shape[0])
        parts: list[Any] = []
        for index in find_pieces(self._starts, start, stop):
            begin, source = int(self._starts[index]), self.sources[index]
            parts.append(source.read(max(start - begin, 0), min(stop - begin, source.shape[0])))
            self._close_others(index)
        if len(parts) == 1:
            only = plain_rows(parts[0], self.dtype)
            check_file(parts[0])
            return only
        if self.sparse:
            return plain_rows(scipy.sparse.vstack(parts, format="csr"), self.dtype)
        rows = np.concatenate(parts, axis=0, dtype=self.dtype)
        for part in parts:
            check_file(part)
        return rows

    def identity(self) -> str:
        """Return a hash of the fingerprints of the files."""
        identities = (source.identity() for source in self.sources)
        return hashlib.sha256("".join(identities).encode()).hexdigest()

    def close(self) -> None:
        """Close open files; a later `read` opens them again."""
        for source in self.sources:
            source.close()

    def _close_others(self, index: int) -> None:
        """Note that a file was read; if too many are open, close the least recently read one."""
        with self._lock:
            self._open[index] = self.sources[index]
            self._open.move_to_end(index)
            if len(self._open) > N_OPEN:
                self._open.popitem(last=False)[1].close()

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinedRows, (self.sources,)


def _add_file(digest: Any, file: Path) -> None:
    state = file.stat()
    digest.update(repr((state.st_size, state.st_mtime_ns)).encode())
    if not file.is_file():
        return
    with open(file, "rb") as handle:
        for start in (0, state.st_size // 2, max(0, state.st_size - SAMPLE_BYTES)):
            handle.seek(start)
            digest.update(handle.read(SAMPLE_BYTES))


def _check_alike(sources: Sequence[FileRows]) -> None:
    first = sources[0]
    for other in sources[1:]:
        if other.shape[1] != first.shape[1]:
            raise UnreadableFile(
                f"{other.name} has {other.shape[1]} columns and {first.name} has {first.shape[1]}; "
                "give all files of a folder the same columns"
            )
        if other.feature_names != first.feature_names:
            raise UnreadableFile(
                f"{other.name} and {first.name} have different column names; give all files of a "
                "folder the same names in the same order"
            )
        if other.sparse != first.sparse:
            kind = "sparse" if other.sparse else "dense"
            raise UnreadableFile(
                f"{other.name} is {kind} and {first.name} is not; store all files of a folder alike"
            )
