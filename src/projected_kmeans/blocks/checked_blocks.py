"""READ: rows that are looked at as they are first walked over, so that a check needs no pass.

Wraps another block source; it knows what is finite, not what rows are good for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges, ColumnScan, scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block, OnBlock, Task
from projected_kmeans.results import Floats


@dataclass(frozen=True)
class CheckedRows:
    """How many rows, from the first on, were found finite, and the ranges of their columns."""

    n_rows: int
    ranges: ColumnRanges


class CheckedBlocks:
    """The block source of another's rows, all of them finite or else an error.

    The first walk that comes to its end finds the ranges of the columns. A walk raises before it
    hands out a block with a bad entry, which is named by row and column.

    Parameters
    ----------
    source : BlockSource
        Rows.
    n_threads : int, default=0
        0 takes what OpenMP allows.
    """

    def __init__(self, source: BlockSource, n_threads: int = 0) -> None:
        self.source = source
        self._n_threads = n_threads
        self._ranges: ColumnRanges | None = None
        self._scan = ColumnScan(source.shape, n_threads)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block."""
        return self.source.dtype

    @property
    def sparse(self) -> bool:
        """Whether blocks are CSR arrays."""
        return self.source.sparse

    @property
    def resident(self) -> bool:
        """Whether rows lie in memory."""
        return self.source.resident

    @property
    def distant(self) -> bool:
        """Whether blocks lie elsewhere."""
        return self.source.distant

    @property
    def ranges(self) -> ColumnRanges:
        """The ranges of all columns; asks for a walk if there was none."""
        if self._ranges is None:
            self._ranges = scan_columns(self.source, self._n_threads)
        return self._ranges

    @property
    def ranges_so_far(self) -> ColumnRanges:
        """The ranges of columns in rows that a walk has looked at; they change as it goes."""
        return self._scan.so_far if self._ranges is None else self._ranges

    def check(self, on_block: OnBlock, first: int = 0) -> None:
        """Look at all rows in a walk of its own, from ``first`` on; tell how many are done."""
        self.walk(first=first, on_block=on_block)

    def resume(self, known: ColumnRanges) -> None:
        """Take the ranges of rows that were looked at before; the next walk begins after them."""
        self._scan = ColumnScan(self.shape, self._n_threads, known)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.source)

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""
        if self._ranges is not None:
            yield from self.source
            return
        scan = ColumnScan(self.shape, self._n_threads)
        for block in self.source:
            scan.task.run(block)
            yield block
        self._ranges = scan.finish()

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, after a look at it where there was none.

        Rows before ``first`` must have been looked at.
        """
        if self._ranges is not None:
            self.source.walk(*tasks, first=first, on_block=on_block)
            return
        if first == 0:
            self._scan = ColumnScan(self.shape, self._n_threads)
        self.source.walk(self._scan.task, *tasks, first=first, on_block=on_block)
        self._ranges = self._scan.finish()

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64."""
        return np.asarray(self._checked(self.source.take(indices)), dtype=np.float64)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory as blocks have them, all of them by default."""
        return self._checked(self.source.select(indices))

    def _checked(self, rows: Any) -> Any:
        if self._ranges is None:
            try:
                scan_columns(open_blocks(rows), self._n_threads)
            except ValueError:
                self.check(lambda done: None)  # names the first bad entry of all rows
                raise
        return rows
