"""Files that another process reads: their rows as a source, their labels and named columns.

The numbers come back through shared memory; what they mean was checked by the reader of the format,
and how they fit together is checked again here.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.messages import one_line
from projected_kmeans.sources.file_format import Choice, NamedColumns
from projected_kmeans.sources.file_rows import LazyHandle
from projected_kmeans.sources.protocol import Rows, SourceDefaults, UnreadableFile, check_range
from projected_kmeans.sources.reader_messages import Message
from projected_kmeans.sources.reader_process import (
    ReaderDied,
    ReaderProcess,
    ask_first,
    keep_process,
)
from projected_kmeans.sources.row_layout import check_sparse


class OpenedFiles:
    """Files that are open in another process; errors call them by their name."""

    def __init__(self, files: Sequence[Path], format: str, choice: Choice, name: str) -> None:
        self._name = name
        request = {
            "do": "open",
            "files": [str(file) for file in files],
            "format": format,
            "choice": asdict(choice),
            "name": name,
        }
        self._process, answer = ask_first(request, name)
        self.facts = answer.document
        self._is_open = True
        self.labels = answer.arrays[0] if answer.arrays else None

    def ask(self, do: str, row_bytes: int = 0, **details: Any) -> Message:
        """Return the answer to a request about these files."""
        request = {"do": do, "source": self.facts["source"], **details}
        return self._process.ask(request, self._name, self.facts["file_bytes"], row_bytes)

    def __del__(self) -> None:
        # A source that a Dask task was sent is dropped without being closed. Its process is kept,
        # because the next task would otherwise wait half a second for another one.
        if hasattr(self, "_process") and not sys.is_finalizing():
            with contextlib.suppress(UnreadableFile):
                self.close()

    def close(self) -> None:
        """Close the files, and keep the process for other files unless it is still at work."""
        if self._is_open and self._process.is_free:
            self._is_open = False
            self._process.forget_buffers()
            self.ask("close")
            keep_process(self._process)


class IsolatedRows(SourceDefaults):
    """The row source of files that another process reads."""

    def __init__(self, files: Sequence[Path], format: str, choice: Choice, name: str) -> None:
        self.files = tuple(files)
        self.format = format
        self.name = name
        self._handle = LazyHandle(OpenedFiles, self.files, format, choice, name)
        opened = self._handle.get()
        self._facts = _facts_of(opened)
        n_rows, n_columns = opened.facts["shape"]
        self.shape = (int(n_rows), int(n_columns))
        self.dtype: np.dtype[Any] = np.dtype(opened.facts["dtype"])
        self.sparse = bool(opened.facts["sparse"])
        self.forward_only = bool(opened.facts["forward_only"])
        names = opened.facts["feature_names"]
        self.feature_names = None if names is None else tuple(names)
        self.labels = opened.labels
        shape = opened.facts["image_shape"]
        self.image_shape = None if shape is None else tuple(shape)

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1; raise if the file has other rows by now."""
        check_range(start, stop, self.shape[0])
        width = 1 if self.sparse else self.shape[1]
        row_bytes = (stop - start) * width * self.dtype.itemsize
        answer = self._ask("read", row_bytes, start=start, stop=stop)
        shape = (stop - start, self.shape[1])
        if not self.sparse:
            (rows,) = answer.arrays
            if rows.shape != shape or rows.dtype != self.dtype:
                raise self._has_changed()
            return rows
        csr: Any = scipy.sparse.csr_array(shape, dtype=self.dtype)
        csr.data, csr.indices, csr.indptr = answer.arrays
        check_sparse(csr, self.name)
        return csr  # type: ignore[no-any-return]

    def identity(self) -> str:
        """Return a hash of sizes, modification times, shape, type and some bytes; not of paths."""
        return str(self._ask("identity").document["identity"])

    def close(self) -> None:
        """Close the files in the other process; a later `read` opens them again."""
        opened = self._handle.take()
        if opened is not None:
            opened.close()

    def _ask(self, do: str, row_bytes: int = 0, **details: Any) -> Message:
        opened = self._handle.get()
        if _facts_of(opened) != self._facts:
            raise self._has_changed()
        try:
            return opened.ask(do, row_bytes, **details)
        except ReaderDied:
            self._handle.take()  # a later read starts another process
            raise

    def _has_changed(self) -> UnreadableFile:
        return UnreadableFile(f"{self.name} has changed since it was opened; open it again")


def read_isolated_labels(path: Path, format: str) -> NDArray[Any]:
    """Return the labels that a file of an isolated format holds."""
    process, answer = _ask_about(path, {"do": "labels", "format": format})
    keep_process(process)
    return answer.arrays[0]


def isolated_columns(format: str) -> NamedColumns:
    """Return how another process reads the named columns of an isolated format."""

    def names(path: Path) -> list[str]:
        process, answer = _ask_about(path, {"do": "names", "format": format})
        keep_process(process)
        return list(answer.document["names"])

    def walk(path: Path, name: str) -> Iterator[Any]:
        process, number, _ = _open_column(path, format, name)
        size = path.stat().st_size
        while True:
            request = {"do": "cells", "column": number, "format": format}
            with _named_as_given(path):
                answer = process.ask(request, str(path), size)
            if not answer.document["n_cells"]:
                break
            yield from _unpack(answer.arrays[0]).to_pylist()
        keep_process(process)

    return NamedColumns(names, walk, lambda path, name: _open_column(path, format, name)[2])


def _open_column(path: Path, format: str, name: str) -> tuple[ReaderProcess, int, Any]:
    request = {"do": "column", "format": format, "name": name}
    process, answer = _ask_about(path, request)
    return process, answer.document["column"], _unpack(answer.arrays[0]).type


def _ask_about(path: Path, request: dict[str, Any]) -> tuple[ReaderProcess, Message]:
    """Ask about one file by its absolute path: a kept process may have another working folder."""
    with _named_as_given(path):
        return ask_first({**request, "file": str(path.absolute())}, str(path))


@contextlib.contextmanager
def _named_as_given(path: Path) -> Iterator[None]:
    """Let errors call a file as the caller does, not by the absolute path that was sent."""
    try:
        yield
    except UnreadableFile as error:
        given = str(error).replace(one_line(str(path.absolute())), str(path))
        raise type(error)(given) from error


def _unpack(packed: NDArray[np.uint8]) -> Any:
    arrow: Any = importlib.import_module("pyarrow")
    table = arrow.ipc.open_stream(arrow.py_buffer(packed)).read_all()
    table.validate(full=True)
    return table.column("cells")


def _facts_of(opened: OpenedFiles) -> dict[str, Any]:
    return {key: opened.facts[key] for key in ("shape", "dtype", "sparse", "feature_names")}
