"""The sketch of a fit in the folder of its checkpoint: how many rows of it are there, intact.

Grows row by row, in memory or in the file itself; it does not know how rows are sketched.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.output_files import cannot_write
from projected_kmeans.running.checkpoint_folder import warn_of_damage
from projected_kmeans.running.run import Run

SKETCH = "sketch"


@dataclass(frozen=True)
class StoredRows:
    """How far a walk over rows came, and what it has stored.

    Attributes
    ----------
    stops : tuple of int
        Where each stretch of rows that was stored at once ends.
    digests : tuple of str
        Its hash.
    ranges : ColumnRanges
        Those of the original columns, of these rows at least.
    """

    stops: tuple[int, ...]
    digests: tuple[str, ...]
    ranges: ColumnRanges


class SketchFile:
    """An array that is filled from its first row to its last, and stored as it is.

    Parameters
    ----------
    run : Run
        Its checkpoint's folder takes the file.
    shape, dtype
        Of the array.
    in_memory : bool
        Whether the array is in memory, and the file a copy of it.

    Attributes
    ----------
    array : ndarray
        To be filled.
    n_rows : int
        How many rows it has already, as an earlier run left them.
    ranges : ColumnRanges or None
        Those of the rows that are sketched already.
    """

    def __init__(
        self,
        run: Run,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        *,
        in_memory: bool,
    ) -> None:
        checkpoint = run.checkpoint
        assert checkpoint.folder is not None
        self._run, self._path = run, checkpoint.folder.array_file(SKETCH)
        self._shape, self._dtype = shape, dtype
        self._stops: tuple[int, ...] = ()
        self._digests: tuple[str, ...] = ()
        self._file: NDArray[Any] | None = None
        self.ranges: ColumnRanges | None = None
        found = run.recall(SKETCH, StoredRows)
        if found is not None:
            self._take(found)
        self.array = np.empty(shape, dtype) if in_memory else self._open_file()
        if in_memory and self._file is not None:
            self.array[: self.n_rows] = self._file[: self.n_rows]

    @property
    def n_rows(self) -> int:
        """How many rows are stored."""
        return self._stops[-1] if self._stops else 0

    def tell(self, n_rows: int, ranges: ColumnRanges) -> None:
        """Store the rows up to this one, if it is time, or else later."""
        self._run.checkpoint.write_when_due(SKETCH, lambda: self._store(n_rows, ranges))

    def _store(self, n_rows: int, ranges: ColumnRanges) -> None:
        """Let rows reach the disk, and only then tell that they are there."""
        file: Any = self._open_file()
        stretch = slice(self.n_rows, n_rows)
        if self.array is not file:
            file[stretch] = self.array[stretch]
        try:
            file.flush()
        except OSError as error:
            raise cannot_write(self._path, error) from error
        self._stops += (n_rows,)
        self._digests += (_hash(self.array[stretch]),)
        self._run.checkpoint.write_now(SKETCH, StoredRows(self._stops, self._digests, ranges))

    def _take(self, found: StoredRows) -> None:
        """Take over the rows that are as they were stored, up to the first that are not."""
        try:
            self._file = np.load(self._path, mmap_mode="r+")
        except (OSError, ValueError):
            self._file = None
        if self._file is None or (self._file.shape, self._file.dtype) != (self._shape, self._dtype):
            self._file = None
            warn_of_damage(self._path)
            return
        start = 0
        for stop, digest in zip(found.stops, found.digests, strict=True):
            if _hash(self._file[start:stop]) != digest:
                warn_of_damage(self._path)
                break
            self._stops += (stop,)
            self._digests += (digest,)
            start = stop
        self.ranges = found.ranges if start else None
        self._run.monitor.note("checkpoint: the sketch has %d of %d rows", start, self._shape[0])

    def _open_file(self) -> NDArray[Any]:
        if self._file is None:
            self._file = new_array_file(self._path, self._shape, self._dtype)
        return self._file


def new_array_file(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a new ``.npy`` as a memory map, all its room taken: a full disk shows here.

    A map of a file without room would end the process at the first page that finds none.
    """
    try:
        array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        if hasattr(os, "posix_fallocate"):
            with open(path, "r+b") as handle:
                os.posix_fallocate(handle.fileno(), 0, os.fstat(handle.fileno()).st_size)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    return array


def _hash(rows: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()
