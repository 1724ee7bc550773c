"""Arrow files (Feather) and Arrow streams, mapped into memory and read by pyarrow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.formats.arrow_columns import VectorColumns
from projected_kmeans.sources.formats.columnar import BATCH_ROWS, columnar_format
from projected_kmeans.sources.mapped_files import check_file, map_file


class ArrowFile:
    """An open Arrow file or stream; its record batches are found by their rows."""

    def __init__(self, path: Path) -> None:
        arrow = load_extra("pyarrow", "parquet", str(path))
        ipc = load_extra("pyarrow.ipc", "parquet", str(path))
        self._content = map_file(path)
        self._get: Callable[[int], Any]
        self._get_first_column: Callable[[int], Any]
        try:
            reader = ipc.open_file(arrow.BufferReader(self._content))
        except arrow.ArrowInvalid:  # a stream: it has no index, so all its batches are listed here
            stream = ipc.open_stream(arrow.BufferReader(self._content))
            self.schema, batches = stream.schema, list(stream)
            self._n_batches = len(batches)
            self._get = self._get_first_column = batches.__getitem__
        else:
            self.schema = reader.schema
            self._n_batches = reader.num_record_batches
            self._get = reader.get_batch
            options = ipc.IpcReadOptions(included_fields=[0])
            again = ipc.open_file(arrow.BufferReader(self._content), options=options)
            self._get_first_column = again.get_batch
        self._lock = threading.Lock()
        self._last: tuple[int, Any] | None = None

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first row of every batch, and the number of rows.

        Rows are counted in the first column alone, so that the others need not be decoded.
        """
        counts = [_validate(self._get_first_column(n)).num_rows for n in range(self._n_batches)]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def take(self, vectors: VectorColumns, start: int, stop: int) -> list[tuple[int, Any]]:
        """Return rows as batches, each with the index of its first row."""
        taken = []
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for index in range(first, len(self.starts) - 1):
            begin, end = self.starts[index : index + 2].tolist()
            if begin >= stop:
                break
            low, high = max(start, begin), min(stop, end)
            batch = self._get_batch(index).slice(low - begin, high - low)
            # Columns are turned into rows in small pieces; vectors are rows already.
            step = high - low if vectors.is_list else BATCH_ROWS
            for offset in range(0, high - low, step):
                taken.append((low + offset, batch.slice(offset, step)))
        return taken

    def walk(self, name: str) -> Iterator[Any]:
        """Yield the batches, which have all columns, from the first row to the last."""
        return (_validate(self._get(index)) for index in range(self._n_batches))

    def check(self) -> None:
        """Raise if a part of the file was lost while it was read."""
        check_file(self._content)

    def _get_batch(self, index: int) -> Any:
        """Return a batch, kept for the next range, because a compressed one is decoded whole."""
        with self._lock:
            if self._last is None or self._last[0] != index:
                self._last = (index, _validate(self._get(index)))
            return self._last[1]


def _validate(batch: Any) -> Any:
    """Return a batch whose lengths and offsets fit its buffers; raise for all others.

    pyarrow itself believes what a file says, and then reads beyond its buffers.
    """
    batch.validate(full=True)
    return batch


ARROW = columnar_format((".arrow", ".feather"), ArrowFile)
