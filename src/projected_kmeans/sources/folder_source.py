"""The files of a folder as one row source; each file is read through its own source."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from projected_kmeans.sources.file_source import FileRows
from projected_kmeans.sources.mapped_files import check_file
from projected_kmeans.sources.protocol import Rows, SourceDefaults, UnreadableFile, check_range
from projected_kmeans.sources.row_layout import plain_rows

# At most 4 files stay open, because a folder may have more files than a process may open, and more
# rows than memory holds if its format is loaded whole.
N_OPEN = 4


class JoinedRows(SourceDefaults):
    """Several files as one source: the rows of the first file, then those of the second, and so on.

    Parameters
    ----------
    sources : sequence of FileRows
        They agree in their columns and are all dense or all sparse. If their element types differ,
        rows are read in a type that holds all of them.
    n_open : int, default=4
        How many files may stay open.

    Attributes
    ----------
    files : tuple of Path
        In the order of their rows.
    format : str
        The extension that names their format.
    """

    def __init__(self, sources: Sequence[FileRows], n_open: int = N_OPEN) -> None:
        _check_alike(sources)
        self.sources = tuple(sources)
        self.files = tuple(file for source in sources for file in source.files)
        self.format = sources[0].format
        self._n_open = n_open
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
        return hashlib.sha256("".join(one.identity() for one in self.sources).encode()).hexdigest()

    def close(self) -> None:
        """Close open files; a later `read` opens them again."""
        for source in self.sources:
            source.close()

    def _close_others(self, index: int) -> None:
        """Note that a file was read; if too many are open, close the least recently read one."""
        with self._lock:
            self._open[index] = self.sources[index]
            self._open.move_to_end(index)
            if len(self._open) > self._n_open:
                self._open.popitem(last=False)[1].close()

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinedRows, (self.sources, self._n_open)


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
