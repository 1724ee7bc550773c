"""Where rows and their sketch lie while a fit runs: how large blocks are, what is in a file.

Follows a memory plan and cleans up behind the fit; it computes nothing from rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.array_rows import as_row_source
from projected_kmeans.blocks import ArrayBlocks, BlockSource
from projected_kmeans.memory_limits import MemoryPlan
from projected_kmeans.stored_blocks import StoredBlocks, release


class Storage:
    """What is open during a fit; see `open_storage`.

    Parameters
    ----------
    plan : MemoryPlan
        What has to be small.
    folder : Path, optional
        Where a sketch that is spilled lies.
    """

    def __init__(self, plan: MemoryPlan | None = None, folder: Path | None = None) -> None:
        self._plan = plan or MemoryPlan()
        self._folder = folder
        self._opened: list[Any] = []
        self._new_rows: Callable[..., Any] | None = None
        self._filled: NDArray[Any] | None = None

    def open_rows(self, source: BlockSource) -> BlockSource:
        """Return the rows in blocks of the size that the plan allows."""
        resize = getattr(source, "resized", None)
        if resize is None:
            return source
        found: BlockSource = resize(self._plan.block_bytes, self._plan.most_selected)
        self._opened.append(found)
        self._new_rows = getattr(found, "new_rows", None)
        return found

    def new_sketch(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
        """Return what is to be filled: an array in memory or in a file, or a place beside rows."""
        if self._folder is None:
            return np.empty(shape, dtype)
        place = None if self._new_rows is None else self._new_rows(shape[1], dtype)
        if place is not None:
            return place
        self._filled = np.lib.format.open_memmap(self._folder / "sketch.npy", "w+", dtype, shape)
        return self._filled

    def settle(self) -> None:
        """Let the system take back what was written to a sketch in a file."""
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
def open_storage(plan: MemoryPlan) -> Iterator[Storage]:
    """Open what a fit needs beside memory; at the end no thread and no file of it is left.

    Parameters
    ----------
    plan : MemoryPlan
        Where it spills the sketch, a temporary folder is made, in the place that the environment
        names (TMPDIR).
    """
    with ExitStack() as stack:
        folder = None
        if plan.spilled:
            temporary = tempfile.TemporaryDirectory(
                prefix="projected-kmeans-", ignore_cleanup_errors=True
            )
            folder = Path(stack.enter_context(temporary))
        storage = Storage(plan, folder)
        stack.callback(storage.close)
        yield storage
