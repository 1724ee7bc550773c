"""READ: rows brought to length one as they are walked over, for clustering by direction.

Wraps another block source; it keeps nothing but one block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, prepare
from projected_kmeans.results import Floats

# Rows that are divided at a time: they stay in the cache between the sum and the division.
STRETCH = 256

# Rounding may leave a unit row longer than one by less than this.
LONGEST = 1 + 2.0**-20


@dataclass(frozen=True)
class UnitRows:
    """The block source of another's rows, each divided by its length; a row of zeros stays.

    Parameters
    ----------
    source : BlockSource
        Rows, finite.
    """

    source: BlockSource

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block."""
        return compute_type(self.source.dtype)

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

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.source)

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""
        for block in self.source:
            yield Block(block.start, to_unit_rows(block.rows))

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, once its rows have length one."""
        self.source.walk(prepare(to_unit_rows, tasks), first=first, on_block=on_block)

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64, as they are in their blocks."""
        rows = to_unit_rows(self.source.select(indices))
        return np.asarray(rows.toarray() if self.sparse else rows, dtype=np.float64)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, all of them by default."""
        return to_unit_rows(self.source.select(indices))

    @staticmethod
    def bound(ranges: ColumnRanges) -> ColumnRanges:
        """Return bounds on the entries of unit rows, from the ranges of the rows themselves."""
        low = np.where(ranges.minimum < 0, -LONGEST, 0.0)
        high = np.where(ranges.maximum > 0, LONGEST, 0.0)
        return ColumnRanges(low, high, LONGEST**2)


def to_unit_rows(rows: Any) -> Any:
    """Return rows divided by their lengths, in the precision that they are computed in.

    A row's result depends on that row alone. Squares are summed in float64 after division by the
    largest entry, so that none overflows or vanishes.

    Examples
    --------
    >>> import numpy as np
    >>> to_unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
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
    """Return the lengths of CSR rows, 1 for those of zeros."""
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
