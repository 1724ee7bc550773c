"""Where rows and their sketch lie while a fit runs: in memory, in a file, or with Dask's workers.

Follows a memory plan and cleans up after the fit; it computes nothing from rows. A sketch in the
folder of a checkpoint is stored while it is filled, and what is intact of it is used again.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import CheckedBlocks, ColumnRanges
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks, release
from projected_kmeans.output_files import cannot_write
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.checkpoint_folder import warn_of_damage
from projected_kmeans.search.memory_plan import MemoryPlan
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.mapped_files import check_file, watch

SKETCH = "sketch"
ZEROS = bytes(2**20)  # written where a file cannot be given its space at once


@dataclass
class Storage:
    """The rows and the sketch that are open during a fit; `open_storage` makes one.

    A sketch that does not stay in memory lies in the folder of the checkpoint. Without one it lies
    on the workers that hold Dask's rows, or else in a file without a name.
    """

    rows: BlockSource  # in blocks of the size that the plan allows
    plan: MemoryPlan
    run: Run = field(default_factory=Run)
    sketches: list[BlockSource] = field(default_factory=list)  # in files, once they are filled
    _mapped: NDArray[Any] | None = None  # a sketch in a file, while it is filled
    _stored: SketchFile | None = None  # a sketch in the folder of a checkpoint

    def new_sketch(
        self, shape: tuple[int, int], dtype: np.dtype[Any]
    ) -> NDArray[Any] | BlockSource:
        """Return the array to fill, in memory or in a file, or new rows on Dask's workers."""
        if self.run.checkpoint.folder is not None:
            in_memory = self.plan.sketch_in_memory
            n_columns = self.rows.shape[1]
            self._stored = SketchFile(self.run, shape, dtype, n_columns, in_memory=in_memory)
            self._mapped = None if in_memory else self._stored.array
            return self._stored.array
        if self.plan.sketch_in_memory:
            return np.empty(shape, dtype)
        if self.rows.keeps_new_rows:
            return self.rows.new_rows(shape[1], dtype)
        self._mapped = new_unnamed_array(shape, dtype)
        return self._mapped

    def resume_sketch(self, checked: CheckedBlocks) -> int:
        """Return how many rows of the new sketch an earlier run has stored; they are not read."""
        if self._stored is None or self._stored.ranges is None:
            return 0
        checked.resume(self._stored.ranges)
        return self._stored.n_rows

    def keep_rows(self, n_rows: int, checked: CheckedBlocks) -> None:
        """Store the first ``n_rows`` rows of the sketch, and free the pages of its file."""
        if self._stored is not None:
            self._stored.keep(n_rows, checked.ranges_so_far)
        if self._mapped is not None:
            release(self._mapped)

    def open_sketch(self, sketch: NDArray[Any] | BlockSource) -> BlockSource:
        """Return the rows of a sketch as a block source, once the sketch is filled."""
        if not isinstance(sketch, np.ndarray):
            return sketch
        if not isinstance(sketch, np.memmap):
            return ArrayBlocks(sketch)
        check_file(sketch)
        self._mapped = None
        sketch.flags.writeable = False
        opened = StoredBlocks(as_row_source(sketch), block_bytes=self.plan.block_bytes)
        self.sketches.append(opened)
        return opened


@contextmanager
def open_storage(
    source: BlockSource, plan: MemoryPlan, run: Run | None = None
) -> Iterator[Storage]:
    """Open the rows of a fit; at the end no thread and no temporary file is left.

    Raises if a mapped file of the rows or of the sketch was shortened meanwhile.
    """
    rows = source.resized(plan.block_bytes, plan.max_selected)
    storage = Storage(rows, plan, run or Run())
    try:
        yield storage
        for opened in (rows, *storage.sketches):
            opened.check_files()
    finally:
        for opened in (rows, *storage.sketches):
            opened.close()  # stop the threads of walks that were left before their end


@dataclass(frozen=True)
class StoredRows:
    """Which rows of a sketch are stored, in stretches, one write each."""

    stretches: tuple[tuple[int, str], ...]  # the rows where they end, and their hashes
    ranges: ColumnRanges  # of the original columns, of at least these rows


class SketchFile:
    """An array that is filled from its first row to its last, and stored on the way.

    The file lies in the folder of the run's checkpoint. If ``in_memory`` is true, it is a copy of
    ``array``, the array to fill. ``ranges`` are those of the ``n_columns`` original columns, in the
    ``n_rows`` rows that an earlier run has sketched.
    """

    def __init__(
        self,
        run: Run,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        n_columns: int,
        *,
        in_memory: bool,
    ) -> None:
        assert run.checkpoint.folder is not None
        self._run, self._path = run, run.checkpoint.folder.array_file(SKETCH)
        self._shape, self._dtype = shape, dtype
        self._stretches: tuple[tuple[int, str], ...] = ()
        self._file: NDArray[Any] | None = None
        self.ranges: ColumnRanges | None = None
        stored = run.recall(SKETCH, StoredRows, {"columns": n_columns})
        if stored is not None:
            self._use(stored)
        self.array = np.empty(shape, dtype) if in_memory else self._open_file()
        if in_memory and self._file is not None:
            self.array[: self.n_rows] = self._file[: self.n_rows]

    @property
    def n_rows(self) -> int:
        """How many rows are stored, by this run or an earlier one."""
        return self._stretches[-1][0] if self._stretches else 0

    def keep(self, n_rows: int, ranges: ColumnRanges) -> None:
        """Store the first ``n_rows`` rows when the next write is due."""
        self._run.checkpoint.write_when_due(SKETCH, partial(self._store, n_rows, ranges))

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
        self._stretches += ((n_rows, _hash(self.array[stretch])),)
        self._run.checkpoint.write_now(SKETCH, StoredRows(self._stretches, ranges))

    def _use(self, stored: StoredRows) -> None:
        """Use the stored rows up to the first stretch that is damaged."""
        self._file = open_array_file(self._path, self._shape, self._dtype)
        if self._file is None:
            warn_of_damage(self._path)
            return
        start = 0
        for stop, digest in stored.stretches:
            inside = start <= stop <= self._shape[0]
            if not inside or _hash(self._file[start:stop]) != digest:
                warn_of_damage(self._path)
                break
            self._stretches += ((stop, digest),)
            start = stop
        self.ranges = stored.ranges if start else None
        self._run.monitor.note("checkpoint: the sketch has %d of %d rows", start, self._shape[0])

    def _open_file(self) -> NDArray[Any]:
        if self._file is None:
            self._file = new_array_file(self._path, self._shape, self._dtype)
        return self._file


def _hash(rows: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()


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


def open_array_file(
    path: Path, shape: tuple[int, int], dtype: np.dtype[Any]
) -> NDArray[Any] | None:
    """Return a file that `new_array_file` made as a memory map; None if it is another or damaged.

    The header is compared with the one that the file must have, and not parsed: damage in it then
    cannot confuse a parser.
    """
    stream = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(dtype)
    fields = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    header = stream.getvalue()
    n_bytes = len(header) + math.prod(shape) * dtype.itemsize
    try:
        with open(path, "rb") as handle:
            same = handle.read(len(header)) == header
            if not same or os.fstat(handle.fileno()).st_size != n_bytes:
                return None
        return watch(np.memmap(path, dtype, "r+", offset=len(header), shape=shape))
    except OSError:
        return None


def new_unnamed_array(shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array in a file without a name, where the environment variable TMPDIR says.

    The system frees the file when the process ends, also if it is killed.
    """
    try:
        with tempfile.TemporaryFile(prefix="projected-kmeans-") as handle:
            _allocate(handle.fileno(), 0, math.prod(shape) * dtype.itemsize)
            return watch(np.memmap(handle, dtype, "r+", shape=shape))
    except OSError as error:
        raise cannot_write(Path(tempfile.gettempdir()), error) from error


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
