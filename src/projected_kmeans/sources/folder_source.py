"""READ: the files of a folder as one row source.

Reads each through its own source; it knows no format.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import scipy.sparse

from projected_kmeans.sources.file_source import FileRows, Reader, one_sentence
from projected_kmeans.sources.protocol import (
    Rows,
    RowSource,
    UnreadableFile,
    check_range,
    plain_rows,
)

# A folder may have more files than a process may open, or than the memory holds if they are loaded.
N_OPEN = 4


class JoinedRows:
    """Several sources as one, the rows of the first before those of the second.

    Parameters
    ----------
    sources : sequence of FileRows
        They agree in columns and in being sparse; numbers are read in a type that holds all.
    """

    def __init__(self, sources: Sequence[FileRows]) -> None:
        _check_alike(sources)
        self.sources = tuple(sources)
        self._open: OrderedDict[int, FileRows] = OrderedDict()
        self._lock = threading.Lock()
        ends = np.cumsum([source.shape[0] for source in sources])
        self._starts = np.concatenate([[0], ends])
        self.shape = (int(ends[-1]), sources[0].shape[1])
        self.dtype: np.dtype[Any] = np.result_type(*(source.dtype for source in sources))
        self.sparse = sources[0].sparse
        self.forward_only = any(source.forward_only for source in sources)
        self.feature_names = sources[0].feature_names
        labels = [source.labels for source in sources if source.labels is not None]
        self.labels = np.concatenate(labels) if len(labels) == len(sources) else None

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1."""
        check_range(start, stop, self.shape[0])
        first = int(np.searchsorted(self._starts[:-1], start, side="right")) - 1
        last = max(first + 1, int(np.searchsorted(self._starts, stop, side="left")))
        parts: list[Any] = []
        for index in range(first, last):
            begin, source = int(self._starts[index]), self.sources[index]
            parts.append(source.read(max(start - begin, 0), min(stop - begin, source.shape[0])))
            self._close_others(index)
        if len(parts) == 1:
            return plain_rows(parts[0], self.dtype)
        if self.sparse:
            return plain_rows(scipy.sparse.vstack(parts, format="csr"), self.dtype)
        return np.concatenate(parts, axis=0, dtype=self.dtype)

    def identity(self) -> str:
        """Return a hash of what identifies the parts."""
        return hashlib.sha256("".join(one.identity() for one in self.sources).encode()).hexdigest()

    def _close_others(self, index: int) -> None:
        """Close the source that was not read for longest, if too many are open."""
        with self._lock:
            self._open[index] = self.sources[index]
            self._open.move_to_end(index)
            if len(self._open) > N_OPEN:
                self._open.popitem(last=False)[1].close()

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinedRows, (self.sources,)

    def close(self) -> None:
        """Let go of open files; a later read opens them again."""
        for source in self.sources:
            source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open_each(
    files: Sequence[Path], format: str, choice: object, open_reader: Callable[[Path], Reader]
) -> RowSource:
    """Return one source of files that are opened one by one."""
    sources = []
    for file in files:
        with one_sentence(file, format):
            sources.append(FileRows([file], format, choice, open_reader(file)))
        if len(files) > 1:
            sources[-1].close()
    return sources[0] if len(sources) == 1 else JoinedRows(sources)


def _check_alike(sources: Sequence[FileRows]) -> None:
    first = sources[0]
    for other in sources[1:]:
        if other.shape[1] != first.shape[1]:
            raise UnreadableFile(
                f"{other.name} has {other.shape[1]} columns and {first.name} has {first.shape[1]}; "
                "give all files of a folder the same"
            )
        if other.feature_names != first.feature_names:
            raise UnreadableFile(
                f"{other.name} names its columns other than {first.name}; give all files of a "
                "folder the same names in the same order"
            )
        if other.sparse != first.sparse:
            kind = "sparse" if other.sparse else "dense"
            raise UnreadableFile(
                f"{other.name} is {kind} and {first.name} is not; store all files of a folder alike"
            )
