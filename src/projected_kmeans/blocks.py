"""READ: rows as a sequence of blocks, and what is known of their columns.

Knows where rows lie; it does not know what is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.results import Floats

# Large enough that a pass is bound by its kernel, small enough that progress is seen.
BLOCK_BYTES = 64 * 2**20

NATIVE_TYPES = tuple(
    np.dtype(name) for name in ("float32", "float64", "float16", "uint8", "int8", "uint16", "int16")
)


class Block(NamedTuple):
    """Consecutive rows, unit stride inside a row, and the index of the first."""

    start: int
    rows: NDArray[Any]

    @property
    def span(self) -> slice:
        """Where the block's rows stand among all rows."""
        return slice(self.start, self.start + len(self.rows))


class BlockSource(Protocol):
    """Rows that are walked over block by block, as often as a caller needs."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block, one of `NATIVE_TYPES`."""

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64."""


class ArrayBlocks:
    """The block source of an array in memory or a memory map.

    Parameters
    ----------
    array : ndarray (n, d)
        Its elements are of one of `NATIVE_TYPES`. Blocks are views where rows are contiguous,
        else copies of one block at a time.
    block_rows : int, optional
        Rows of a block; by default as many as `BLOCK_BYTES` hold. No result depends on it.
    """

    def __init__(self, array: NDArray[Any], block_rows: int | None = None) -> None:
        self.array = array
        row_bytes = max(1, array.shape[1] * array.itemsize)
        self.block_rows = block_rows or max(1, BLOCK_BYTES // row_bytes)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block."""
        return self.array.dtype

    def __len__(self) -> int:
        """Return the number of blocks."""
        return -(-self.shape[0] // self.block_rows)

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""
        for start in range(0, self.array.shape[0], self.block_rows):
            rows = self.array[start : start + self.block_rows]
            inner = rows.strides[1] == rows.itemsize or rows.shape[1] == 1
            aligned = rows.strides[0] % rows.itemsize == 0 and rows.flags.aligned
            yield Block(start, rows if inner and aligned else np.ascontiguousarray(rows))

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64."""
        return np.asarray(self.array[indices], dtype=np.float64)


def as_native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in an element type that kernels read: itself, or float64 where it must."""
    if array.dtype.newbyteorder("=") in NATIVE_TYPES:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return array.astype(np.uint8 if array.dtype == np.bool_ else np.float64)


def as_native_sparse(rows: Any) -> Any:
    """Return CSR rows as kernels read them: float32 or float64, indices ascending and unique."""
    dtype = compute_type(as_native(rows.data[:0]).dtype)
    native = rows.astype(dtype, copy=False)
    if not native.has_canonical_format:
        native = native.copy() if native is rows else native
        native.sum_duplicates()
    return native


def compute_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision that rows of this type are computed in: float64 only for float64."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


@dataclass(frozen=True)
class ColumnRanges:
    """The smallest and the largest value of every column."""

    minimum: Floats
    maximum: Floats


def scan_columns(
    source: BlockSource, n_threads: int = 0, on_block: Callable[[int], object] | None = None
) -> ColumnRanges:
    """Return the ranges of all columns; raise a ValueError that names the first bad entry."""
    minimum = np.full(source.shape[1], np.inf)
    maximum = np.full(source.shape[1], -np.inf)
    for index, block in enumerate(source):
        row, column = _native.scan_columns(block.rows, minimum, maximum, n_threads)
        if row >= 0:
            raise _not_finite(float(block.rows[row, column]), block.start + row, column)
        if on_block is not None:
            on_block(index + 1)
    with np.errstate(over="ignore"):  # infinity is the answer here, and an error below
        largest = float(np.max(np.maximum(np.abs(maximum), np.abs(minimum)), initial=0.0))
        bound = 4 * np.float64(largest) ** 2 * source.shape[0] * source.shape[1]
    if not bound < 1e300:
        raise ValueError(
            f"X reaches {largest:.3g}, so that sums of squares overflow float64; "
            "divide X by a large constant"
        )
    return ColumnRanges(minimum, maximum)


def scan_sparse(rows: Any) -> None:
    """Raise a ValueError that names the first entry of CSR rows that is not finite."""
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if len(bad):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise _not_finite(float(rows.data[bad[0]]), row, int(rows.indices[bad[0]]))


def _not_finite(value: float, row: int, column: int) -> ValueError:
    name = "NaN" if np.isnan(value) else "infinity (inf)"
    return ValueError(
        f"X contains {name} at row {row}, column {column}; remove or replace what is not finite"
    )
