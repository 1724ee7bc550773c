"""Where rows and their sketch lie while a fit runs: how large blocks are, what is in a file.

Follows a memory plan and cleans up behind the fit; it computes nothing from rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.checked_blocks import CheckedBlocks
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks, release
from projected_kmeans.fit.sketch_file import SketchFile, new_array_file
from projected_kmeans.planning.memory_plan import MemoryPlan
from projected_kmeans.running.run import Run
from projected_kmeans.sources.array_source import as_row_source


class Storage:
    """What is open during a fit; see `open_storage`.

    Parameters
    ----------
    plan : MemoryPlan
        What has to be small.
    folder : Path, optional
        Where the file of a sketch lies that does not stay in memory.
    run : Run, optional
        Where its checkpoint has a folder, the sketch lies there and not in ``folder``.
    """

    def __init__(
        self,
        plan: MemoryPlan | None = None,
        folder: Path | None = None,
        run: Run | None = None,
    ) -> None:
        self._run = run or Run()
        self._plan = plan or MemoryPlan()
        self._folder = folder
        self._opened: list[BlockSource] = []
        self._rows: BlockSource | None = None
        self._filled: NDArray[Any] | None = None
        self._stored: SketchFile | None = None

    def open_rows(self, source: BlockSource) -> BlockSource:
        """Return the rows in blocks of the size that the plan allows."""
        self._rows = source.resized(self._plan.block_bytes, self._plan.max_selected)
        self._opened.append(self._rows)
        return self._rows

    def new_sketch(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
        """Return what is to be filled: an array in memory or in a file, or a place beside rows."""
        if self._run.checkpoint.folder is not None:
            in_memory = self._plan.sketch_in_memory
            self._stored = SketchFile(self._run, shape, dtype, in_memory=in_memory)
            self._filled = None if in_memory else self._stored.array
            return self._stored.array
        if self._folder is None:
            return np.empty(shape, dtype)
        if self._rows is not None and self._rows.keeps_new_rows:
            return self._rows.new_rows(shape[1], dtype)
        self._filled = new_array_file(self._folder / "sketch.npy", shape, dtype)
        return self._filled

    def resume_sketch(self, checked: CheckedBlocks) -> int:
        """Return how many rows the new sketch has already, which need no look any more."""
        if self._stored is None or self._stored.ranges is None:
            return 0
        checked.resume(self._stored.ranges)
        return self._stored.n_rows

    def settle(self, n_rows: int, checked: CheckedBlocks) -> None:
        """Store the first rows of the sketch, and let the system take back what is in a file."""
        if self._stored is not None:
            self._stored.tell(n_rows, checked.ranges_so_far)
        if self._filled is not None:
            release(self._filled)

    def open_sketch(self, sketch: Any) -> BlockSource:
        """Return the rows of a sketch, which `new_sketch` may have made."""
        if not isinstance(sketch, np.ndarray):
            lying_beside_rows: BlockSource = sketch
            return lying_beside_rows
        if not isinstance(sketch, np.memmap):
            return ArrayBlocks(sketch)
        self._filled = None
        source = as_row_source(np.load(str(sketch.filename), mmap_mode="r"))
        found = StoredBlocks(source, block_bytes=self._plan.block_bytes)
        self._opened.append(found)
        return found

    def close(self) -> None:
        """End walks that were left in their middle."""
        for source in self._opened:
            source.close()


@contextmanager
def open_storage(plan: MemoryPlan, run: Run | None = None) -> Iterator[Storage]:
    """Open what a fit needs beside memory; at the end no thread and no file of it is left.

    Parameters
    ----------
    plan : MemoryPlan
        Where the sketch does not stay in memory, a temporary folder is made, in the place that the
        environment names (TMPDIR).
    run : Run, optional
        Where its checkpoint has a folder, the sketch lies there.
    """
    with ExitStack() as stack:
        folder = None
        if not plan.sketch_in_memory and (run is None or run.checkpoint.folder is None):
            temporary = tempfile.TemporaryDirectory(
                prefix="projected-kmeans-", ignore_cleanup_errors=True
            )
            folder = Path(stack.enter_context(temporary))
        storage = Storage(plan, folder, run)
        stack.callback(storage.close)
        yield storage
