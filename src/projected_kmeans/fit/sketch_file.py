"""The sketch of a fit as a file in the folder of its checkpoint.

Knows how many rows of the sketch are stored and intact; it does not know how rows are sketched.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.output_files import cannot_write
from projected_kmeans.running.checkpoint_folder import warn_of_damage
from projected_kmeans.running.run import Run
from projected_kmeans.sources.mapped_files import check_file, watch

SKETCH = "sketch"
ZEROS = bytes(2**20)  # written where a file cannot be given its space at once


@dataclass(frozen=True)
class StoredRows:
    """Which rows of a sketch are stored.

    Attributes
    ----------
    stops : tuple of int
        Rows are stored in stretches, one write each. These are the rows where each stretch ends.
    digests : tuple of str
        The hash of each stretch.
    ranges : ColumnRanges
        The ranges of the original columns, of at least these rows.
    """

    stops: tuple[int, ...]
    digests: tuple[str, ...]
    ranges: ColumnRanges


class SketchFile:
    """An array that is filled from its first row to its last, and stored on the way.

    Parameters
    ----------
    run : Run
        The file lies in the folder of its checkpoint, which must have one.
    shape, dtype
        Of the array.
    in_memory : bool
        If true, the array lies in memory and the file is a copy of it.

    Attributes
    ----------
    array : ndarray
        The array to fill.
    n_rows : int
        How many rows are stored already, by this run or an earlier one.
    ranges : ColumnRanges or None
        The ranges of the original columns, in rows that an earlier run has sketched.
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
        found = run.recall(SKETCH, StoredRows, partial(_fits, shape[0]))
        if found is not None:
            self._use(found)
        self.array = np.empty(shape, dtype) if in_memory else self._open_file()
        if in_memory and self._file is not None:
            self.array[: self.n_rows] = self._file[: self.n_rows]

    @property
    def n_rows(self) -> int:
        """How many rows are stored."""
        return self._stops[-1] if self._stops else 0

    def start_again(self) -> None:
        """Forget the rows that an earlier run has stored."""
        warn_of_damage(self._path)
        self._stops, self._digests, self.ranges = (), (), None

    def keep(self, n_rows: int, ranges: ColumnRanges) -> None:
        """Store the first ``n_rows`` rows when the next write is due."""
        self._run.checkpoint.write_when_due(SKETCH, lambda: self._store(n_rows, ranges))

    def _store(self, n_rows: int, ranges: ColumnRanges) -> None:
        """Write rows to the disk, and only then write down that they are there."""
        file: Any = self._open_file()
        stretch = slice(self.n_rows, n_rows)
        if self.array is not file:
            file[stretch] = self.array[stretch]
        try:
            file.flush()
        except OSError as error:
            raise cannot_write(self._path, error) from error
        check_file(file)
        self._stops += (n_rows,)
        self._digests += (_hash(self.array[stretch]),)
        self._run.checkpoint.write_now(SKETCH, StoredRows(self._stops, self._digests, ranges))

    def _use(self, found: StoredRows) -> None:
        """Use the stored rows up to the first stretch that is damaged."""
        self._file = open_array_file(self._path, self._shape, self._dtype)
        if self._file is None:
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
    """Return a new ``.npy`` file as a memory map, with all its space allocated.

    A full disk raises here. Without allocation it would kill the process at the first page that
    finds no space.
    """
    try:
        array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        with open(path, "r+b") as handle:
            _allocate(handle.fileno(), array.offset, array.nbytes)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    return watch(array)


def _allocate(descriptor: int, start: int, n_bytes: int) -> None:
    """Give a new file its space on the disk from an offset on; raise OSError on a full disk.

    macOS has no `posix_fallocate`. There, zeros are written.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, n_bytes)
        return
    os.lseek(descriptor, start, os.SEEK_SET)
    while n_bytes > 0:
        n_bytes -= os.write(descriptor, ZEROS[:n_bytes])


def _fits(n_rows: int, found: StoredRows) -> bool:
    """Return whether this can describe stretches of so many rows."""
    stops = (0, *found.stops, n_rows)
    ascending = all(start <= stop for start, stop in pairwise(stops))
    return ascending and len(found.stops) == len(found.digests)


def new_unnamed_array(shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array in a file without a name, in the place that TMPDIR names.

    The system frees the file when the process ends, also if it is killed.
    """
    try:
        with tempfile.TemporaryFile(prefix="projected-kmeans-") as handle:
            n_bytes = math.prod(shape) * dtype.itemsize
            _allocate(handle.fileno(), 0, n_bytes)
            return watch(np.memmap(handle, dtype, "r+", shape=shape))
    except OSError as error:
        raise cannot_write(Path(tempfile.gettempdir()), error) from error


def open_array_file(
    path: Path, shape: tuple[int, int], dtype: np.dtype[Any]
) -> NDArray[Any] | None:
    """Return a file that `new_array_file` made as a memory map; None if it is another or damaged.

    The header is compared with the one that the file must have, and not parsed: damage in it then
    cannot confuse a parser.
    """
    header = _header(shape, dtype)
    n_bytes = len(header) + math.prod(shape) * dtype.itemsize
    try:
        with open(path, "rb") as handle:
            found = handle.read(len(header))
            if found != header or os.fstat(handle.fileno()).st_size != n_bytes:
                return None
        return watch(np.memmap(path, dtype, "r+", offset=len(header), shape=shape))
    except OSError:
        return None


def _header(shape: tuple[int, int], dtype: np.dtype[Any]) -> bytes:
    """Return the header of a ``.npy`` file of this shape and type."""
    stream = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(dtype)
    fields = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()


def _hash(rows: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()
