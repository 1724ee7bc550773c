"""CHECK: the range of every column, and the first entry that is not finite.

`CheckedBlocks` wraps another block source and finds both during its first walk, so that the check
needs no walk of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource, WrappedBlocks
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, maximum, minimum
from projected_kmeans.checks import squares_overflow
from projected_kmeans.documents import Count, Shape
from projected_kmeans.results import Floats


@dataclass(frozen=True)
class ColumnRanges:
    """The smallest and the largest value of every column, or bounds on them."""

    minimum: Annotated[Floats, Shape(("columns",))]
    maximum: Annotated[Floats, Shape(("columns",))]
    # The largest sum of squares of a row; infinity if unknown.
    squared_norm: Annotated[float, Meta(ge=0)] = np.inf


def scan_columns(
    source: BlockSource, n_threads: int = 0, on_block: OnBlock | None = None
) -> ColumnRanges:
    """Return the ranges of all columns; raise for the first entry that is not finite."""
    scan = ColumnScan(source.shape, n_threads)
    source.walk(scan.task, on_block=on_block)
    return scan.finish()


def check_finite(source: BlockSource) -> None:
    """Raise a ValueError that names the first entry that is not finite.

    For callers that do not need the ranges of columns. Of sparse rows only the stored entries are
    looked at, because finding ranges can cost more than sketching the rows.
    """
    if not source.sparse or not all(np.isfinite(block.rows.data).all() for block in source):
        scan_columns(source)


class ColumnScan:
    """Finds the ranges of columns by its task, which raises at an entry that is not finite.

    It begins with what is ``known`` of rows that were scanned before.
    """

    def __init__(
        self, shape: tuple[int, int], n_threads: int = 0, known: ColumnRanges | None = None
    ) -> None:
        self._shape = shape
        self._minimum = np.full(shape[1], np.inf) if known is None else known.minimum
        self._maximum = np.full(shape[1], -np.inf) if known is None else known.maximum
        self._norm = np.array([0.0 if known is None else known.squared_norm])
        uses = (minimum(self._minimum), maximum(self._maximum), maximum(self._norm))
        self.task = Task(partial(_scan, n_threads), uses)

    @property
    def so_far(self) -> ColumnRanges:
        """The ranges of the rows scanned so far; the arrays change as more are scanned."""
        return ColumnRanges(self._minimum, self._maximum, float(self._norm[0]))

    def finish(self) -> ColumnRanges:
        """Return the ranges of all rows; raise if sums of their squares could overflow."""
        reach = np.maximum(np.abs(self._maximum), np.abs(self._minimum))
        largest = float(np.max(reach, initial=0.0))
        if squares_overflow(largest, self._shape):
            raise ValueError(
                f"X reaches {largest:.3g}, so that sums of squares overflow float64; "
                "divide X by a large constant"
            )
        return self.so_far


def _scan(n_threads: int, block: Block, minimum: Floats, maximum: Floats, norm: Floats) -> None:
    row, column = _native.scan_columns(block.rows, minimum, maximum, norm, n_threads)
    if row >= 0:
        value, row = float(block.rows[row, column]), block.start + row
        name, advice = "infinity (inf)", "remove or replace such entries"
        if np.isnan(value):
            name, advice = "NaN", f'{advice}, or leave such rows out by on_missing="skip"'
        raise ValueError(f"X contains {name} at row {row}, column {column}; {advice}")


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
