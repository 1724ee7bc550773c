"""READ: rows that are checked during their first walk, so that the check needs no walk of its own.

`CheckedBlocks` wraps another block source. It looks for entries that are not finite and finds the
range of every column; what the rows are used for is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource, WrappedBlocks
from projected_kmeans.blocks.column_scan import ColumnRanges, ColumnScan, scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block, OnBlock, Task
from projected_kmeans.documents import Count


@dataclass(frozen=True)
class CheckedRows:
    """How many rows, from the first on, are known to be finite, and the ranges of their columns."""

    n_rows: Count
    ranges: ColumnRanges


class CheckedBlocks(WrappedBlocks):
    """The rows of another source, checked to be finite when they are first walked over.

    A walk raises a ValueError before it hands out a block with an entry that is not finite; the
    error names the row and column. The first walk that reaches the end finds the ranges of all
    columns, and later walks do not check again.
    """

    def __init__(self, source: BlockSource, n_threads: int = 0) -> None:
        super().__init__(source)
        self._n_threads = n_threads
        self._ranges: ColumnRanges | None = None
        self._scan = ColumnScan(source.shape, n_threads)

    @property
    def ranges(self) -> ColumnRanges:
        """The ranges of all columns; walks over the rows if they are not known yet."""
        if self._ranges is None:
            self._ranges = scan_columns(self.source, self._n_threads)
        return self._ranges

    @property
    def ranges_so_far(self) -> ColumnRanges:
        """The ranges of the columns in the rows checked so far; they change during a walk."""
        return self._scan.so_far if self._ranges is None else self._ranges

    def resume(self, known: ColumnRanges) -> None:
        """Start from the ranges of rows checked before; the next walk begins after them."""
        self._scan = ColumnScan(self.shape, self._n_threads, known)

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row to the last."""
        if self._ranges is not None:
            yield from self.source
            return
        scan = ColumnScan(self.shape, self._n_threads)
        for block in self.source:
            scan.task.run(block)
            yield block
        self._ranges = scan.finish()

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, after checking it if that was not done before.

        Rows before ``first`` must have been checked.
        """
        if self._ranges is not None:
            self.source.walk(*tasks, first=first, on_block=on_block)
            return
        if first == 0:
            self._scan = ColumnScan(self.shape, self._n_threads)
        self.source.walk(self._scan.task, *tasks, first=first, on_block=on_block)
        self._ranges = self._scan.finish()

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default."""
        rows = self.source.select(indices)
        if self._ranges is None:
            try:
                scan_columns(open_blocks(rows), self._n_threads)
            except ValueError:
                # The error counts rows within the selection. A walk names the first bad entry.
                self.walk()
                raise
        return rows
