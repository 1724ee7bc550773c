"""READ: rows divided by their lengths during a walk, for clustering by direction (cosine).

`UnitRows` wraps another block source and holds one block of divided rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource, WrappedBlocks
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, prepare
from projected_kmeans.results import Floats

# Rows are divided 256 at a time, so that they stay in the cache between the sum and the division.
STRETCH = 256

# No unit row is longer than this: rounding adds less than 2**-20 to a length of one.
LONGEST = 1 + 2.0**-20


class UnitRows(WrappedBlocks):
    """Finite rows of another source, each divided by its length; a row of zeros stays as it is."""

    def __init__(self, source: BlockSource) -> None:
        super().__init__(source)
        self.dtype = compute_type(source.dtype)

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row to the last."""
        for block in self.source:
            yield Block(block.start, to_unit_rows(block.rows))

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, after its rows were divided by their lengths."""
        self.source.walk(prepare(to_unit_rows, tasks), first=first, on_block=on_block)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default."""
        return to_unit_rows(self.source.select(indices))

    @staticmethod
    def bound(ranges: ColumnRanges) -> ColumnRanges:
        """Return ranges that hold all unit rows, given the ranges of the rows before division."""
        low = np.where(ranges.minimum < 0, -LONGEST, 0.0)
        high = np.where(ranges.maximum > 0, LONGEST, 0.0)
        return ColumnRanges(low, high, LONGEST**2)


def to_unit_rows(rows: Any) -> Any:
    """Return rows divided by their lengths, in the type that `compute_type` names.

    The result for a row depends on that row alone. Each row is first divided by its largest entry,
    so that no square overflows or becomes zero; squares are summed in float64.
    """
    dtype = compute_type(rows.dtype)
    if scipy.sparse.issparse(rows):
        return _to_unit_sparse(rows)
    unit = np.empty(rows.shape, dtype)
    for start in range(0, len(rows), STRETCH):
        part = rows[start : start + STRETCH].astype(np.float64)
        largest = np.max(np.abs(part), axis=1, initial=0.0)
        part /= np.where(largest > 0, largest, 1.0)[:, None]
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
        unit[start : start + STRETCH] = part / np.where(lengths > 0, lengths, 1.0)[:, None]
    return unit


def _to_unit_sparse(rows: Any) -> Any:
    unit = rows.copy()
    lengths = np.repeat(_lengths_of(rows), np.diff(rows.indptr))
    unit.data = (rows.data / lengths).astype(compute_type(rows.dtype))
    return unit


def _lengths_of(rows: Any) -> Floats:
    """Return the lengths of CSR rows, and 1 for rows of zeros."""
    values = rows.data.astype(np.float64)
    filled = np.flatnonzero(np.diff(rows.indptr))
    lengths = np.ones(rows.shape[0])
    if len(filled):
        starts = rows.indptr[filled]
        largest = np.maximum.reduceat(np.abs(values), starts)
        scale = np.where(largest > 0, largest, 1.0)
        values /= np.repeat(scale, np.diff(rows.indptr)[filled])
        sums = np.add.reduceat(values * values, starts)
        lengths[filled] = np.where(sums > 0, scale * np.sqrt(sums), 1.0)
    return lengths
