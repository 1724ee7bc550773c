"""What a module of formats/ builds on: the reader protocol, lazy handles, one-sentence errors.

A reader returns ranges of rows of opened files, in whatever layout its format has; `file_source`
makes a row source of it. Nothing here knows a format.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.messages import first_line
from projected_kmeans.optional_packages import MissingExtra
from projected_kmeans.sources.memory_shortage import describe_shortage, is_shortage
from projected_kmeans.sources.protocol import UnreadableFile

Handle = TypeVar("Handle")


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

    Pickled, it carries how to open and not what is open. After `close`, the open file is released
    as soon as the last thread that reads from it has finished.

    Parameters
    ----------
    opener : callable
        Opens it; a function of a module, so that it can be pickled.
    *arguments
        Of the opener.
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


class MissingReader(UnreadableFile, MissingExtra):
    """A file whose format needs an optional package that is not installed."""


@contextmanager
def explain_errors(path: str | Path, format: str) -> Iterator[None]:
    """Turn whatever a parser raises into an `UnreadableFile` of one sentence that names the file.

    Parameters
    ----------
    path : str or path
        What is read inside the ``with`` block.
    format : str
        What it is read as.
    """
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
