"""Where rows and their sketch lie while a fit runs: in memory, in a file, or with Dask's workers.

Follows a memory plan and cleans up after the fit; it computes nothing from rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.checked_blocks import CheckedBlocks
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks, release
from projected_kmeans.fit.sketch_file import SketchFile, new_unnamed_array
from projected_kmeans.planning.memory_plan import MemoryPlan
from projected_kmeans.running.run import Run
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.mapped_files import check_file


class Storage:
    """The rows and the sketch that are open during a fit; `open_storage` makes one.

    The sketch lies in one of four places: in memory, in a temporary file, in the folder of the
    checkpoint, or on the workers that hold Dask's rows.

    Parameters
    ----------
    plan : MemoryPlan, optional
        The size of blocks, and whether the sketch stays in memory.
    run : Run, optional
        If its checkpoint has a folder, the sketch is stored there.
    """

    def __init__(
        self,
        plan: MemoryPlan | None = None,
        run: Run | None = None,
    ) -> None:
        self._run = run or Run()
        self._plan = plan or MemoryPlan()
        self._opened: list[BlockSource] = []
        self._rows: BlockSource | None = None
        self._mapped: NDArray[Any] | None = None  # a sketch in a file, while it is filled
        self._stored: SketchFile | None = None  # a sketch in the folder of a checkpoint

    def open_rows(self, source: BlockSource) -> BlockSource:
        """Return the rows in blocks of the size that the plan allows."""
        self._rows = source.resized(self._plan.block_bytes, self._plan.max_selected)
        self._opened.append(self._rows)
        return self._rows

    def new_sketch(
        self, shape: tuple[int, int], dtype: np.dtype[Any]
    ) -> NDArray[Any] | BlockSource:
        """Return the array to fill, in memory or in a file, or new rows on Dask's workers."""
        if self._run.checkpoint.folder is not None:
            in_memory = self._plan.sketch_in_memory
            self._stored = SketchFile(self._run, shape, dtype, in_memory=in_memory)
            self._mapped = None if in_memory else self._stored.array
            return self._stored.array
        if self._plan.sketch_in_memory:
            return np.empty(shape, dtype)
        if self._rows is not None and self._rows.keeps_new_rows:
            return self._rows.new_rows(shape[1], dtype)
        self._mapped = new_unnamed_array(shape, dtype)
        return self._mapped

    def resume_sketch(self, checked: CheckedBlocks) -> int:
        """Return how many rows of the new sketch an earlier run has stored; they are not read."""
        if self._stored is None or self._stored.ranges is None:
            return 0
        if not self._stored.ranges.fits(checked.shape[1]):
            self._stored.start_again()
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
        source = as_row_source(sketch)
        found = StoredBlocks(source, block_bytes=self._plan.block_bytes)
        self._opened.append(found)
        return found

    def check_files(self) -> None:
        """Raise if a mapped file of the rows or of the sketch was shortened during the fit."""
        for source in self._opened:
            source.check_files()

    def close(self) -> None:
        """Stop the threads of walks that were left before their end."""
        for source in self._opened:
            source.close()


@contextmanager
def open_storage(plan: MemoryPlan, run: Run | None = None) -> Iterator[Storage]:
    """Open the storage of a fit; at the end no thread and no temporary file is left.

    Parameters
    ----------
    plan : MemoryPlan
        If the sketch does not stay in memory, it lies in a file without a name, in the place that
        the environment variable TMPDIR names.
    run : Run, optional
        If its checkpoint has a folder, the sketch lies there instead.
    """
    storage = Storage(plan, run)
    try:
        yield storage
        storage.check_files()
    finally:
        storage.close()
