"""CHECK: the range of every column, and the first entry that is not finite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, maximum, minimum
from projected_kmeans.results import Floats


@dataclass(frozen=True)
class ColumnRanges:
    """The smallest and the largest value of every column, and the largest squared norm of a row."""

    minimum: Floats
    maximum: Floats
    squared_norm: float = np.inf


def scan_columns(
    source: BlockSource, n_threads: int = 0, on_block: OnBlock | None = None
) -> ColumnRanges:
    """Return the ranges of all columns; raise a ValueError that names the first bad entry."""
    scan = ColumnScan(source.shape, n_threads)
    source.walk(scan.task, on_block=on_block)
    return scan.finish()


def check_finite(source: BlockSource) -> None:
    """Raise a ValueError that names the first bad entry, where nobody needs the ranges of columns.

    Of sparse rows these can cost more than their sketch, so that only nonzeros are looked at.
    """
    if not source.sparse or not all(np.isfinite(block.rows.data).all() for block in source):
        scan_columns(source)


class ColumnScan:
    """The ranges of columns as they become known block by block.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns in all.
    n_threads : int
        0 takes what OpenMP allows.
    known : ColumnRanges, optional
        Of rows that were looked at before.
    """

    def __init__(
        self, shape: tuple[int, int], n_threads: int = 0, known: ColumnRanges | None = None
    ) -> None:
        self._shape, self._n_threads = shape, n_threads
        self._minimum = np.full(shape[1], np.inf) if known is None else known.minimum
        self._maximum = np.full(shape[1], -np.inf) if known is None else known.maximum
        self._norm = np.array([0.0 if known is None else known.squared_norm])

    @property
    def so_far(self) -> ColumnRanges:
        """The ranges of what was added; they change as more is."""
        return ColumnRanges(self._minimum, self._maximum, float(self._norm[0]))

    @property
    def task(self) -> Task:
        """What looks at a block, and raises a ValueError that names its first bad entry."""
        uses = (minimum(self._minimum), maximum(self._maximum), maximum(self._norm))
        return Task(partial(_scan, self._n_threads), uses)

    def finish(self) -> ColumnRanges:
        """Return the ranges of all that was added; raise where sums of squares would overflow."""
        with np.errstate(over="ignore"):  # infinity is the answer here, and an error below
            reach = np.maximum(np.abs(self._maximum), np.abs(self._minimum))
            largest = float(np.max(reach, initial=0.0))
            bound = 4 * np.float64(largest) ** 2 * self._shape[0] * self._shape[1]
        if not bound < 1e300:
            raise ValueError(
                f"X reaches {largest:.3g}, so that sums of squares overflow float64; "
                "divide X by a large constant"
            )
        return self.so_far


def _scan(n_threads: int, block: Block, minimum: Floats, maximum: Floats, norm: Floats) -> None:
    row, column = _native.scan_columns(block.rows, minimum, maximum, norm, n_threads)
    if row >= 0:
        raise _not_finite(float(block.rows[row, column]), block.start + row, column)


def _not_finite(value: float, row: int, column: int) -> ValueError:
    name = "NaN" if np.isnan(value) else "infinity (inf)"
    return ValueError(
        f"X contains {name} at row {row}, column {column}; remove or replace what is not finite"
    )
