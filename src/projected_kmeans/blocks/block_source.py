"""READ: rows as a sequence of blocks, and what is known of their columns.

Knows where rows lie; it does not know what is computed from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, least, most, walk_here
from projected_kmeans.results import Floats

# Large enough that a pass is bound by its kernel, small enough that progress is seen.
BLOCK_BYTES = 64 * 2**20

# Blocks of picked rows, which are fetched rather than looked at: little beside a sketch.
PICKED_BYTES = 2**20

NATIVE_TYPES = tuple(
    np.dtype(name) for name in ("float32", "float64", "float16", "uint8", "int8", "uint16", "int16")
)


class BlockSource(Protocol):
    """Rows that are walked over block by block, as often as a caller needs."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block, one of `NATIVE_TYPES`."""

    @property
    def sparse(self) -> bool:
        """Whether blocks are CSR arrays."""

    @property
    def resident(self) -> bool:
        """Whether rows lie in memory, so that some of them may be fetched again and again."""

    @property
    def distant(self) -> bool:
        """Whether blocks lie elsewhere, so that what tasks use of rows has to travel."""

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks, in their order, with every block: here or where it lies.

        A block begins at row ``first``, and those before it are left out.
        """

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64."""

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory as blocks have them, all of them by default."""

    def __len__(self) -> int:
        """Return the number of blocks."""


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

    sparse, resident, distant = False, True, False

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
        return self._blocks_from(0)

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, from row ``first`` on."""
        walk_here(self._blocks_from(first), tasks, on_block)

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64."""
        return np.asarray(self.array[indices], dtype=np.float64)

    def select(self, indices: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Return some rows in memory as blocks have them, all of them by default."""
        return self.array if indices is None else self.array[indices]

    def _blocks_from(self, first: int) -> Iterator[Block]:
        for start in range(first, self.array.shape[0], self.block_rows):
            rows = self.array[start : start + self.block_rows]
            inner = rows.strides[1] == rows.itemsize or rows.shape[1] == 1
            aligned = rows.strides[0] % rows.itemsize == 0 and rows.flags.aligned
            yield Block(start, rows if inner and aligned else np.ascontiguousarray(rows))


class SparseBlocks:
    """The block source of CSR rows in memory, which are never made dense.

    Parameters
    ----------
    array : csr_array (n, d)
        As `as_native_sparse` returns it. Blocks are views.
    block_rows : int, optional
        Rows of a block; by default as many as have `BLOCK_BYTES` of nonzeros. No result depends
        on it.
    """

    sparse, resident, distant = True, True, False

    def __init__(self, array: Any, block_rows: int | None = None) -> None:
        self.array = array
        n_rows, starts = array.shape[0], array.indptr
        if block_rows is None:
            size = BLOCK_BYTES // (array.data.itemsize + array.indices.itemsize)
            full = np.searchsorted(starts, np.arange(size, int(starts[-1]), size), side="right")
            cuts = np.unique(np.concatenate([[0], full, [n_rows]]))
        else:
            cuts = np.append(np.arange(0, n_rows, block_rows), n_rows)
        self._cuts = [int(cut) for cut in cuts]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def nnz(self) -> int:
        """Stored entries in all."""
        return int(self.array.nnz)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._cuts) - 1

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""
        return self._blocks_from(0)

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, from row ``first`` on."""
        walk_here(self._blocks_from(first), tasks, on_block)

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64, made dense: they must be few."""
        return np.asarray(self.array[indices].toarray(), dtype=np.float64)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory as blocks have them, all of them by default."""
        return self.array if indices is None else self.array[indices]

    def _blocks_from(self, first: int) -> Iterator[Block]:
        for start, stop in itertools.pairwise(self._cuts):
            if stop > first:
                yield Block(max(start, first), self._view(max(start, first), stop))

    def _view(self, first: int, last: int) -> Any:
        """Return some rows without a copy, whatever type their indices are of."""
        if (first, last) == (0, self.shape[0]):
            return self.array
        starts = self.array.indptr[first : last + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        view = scipy.sparse.csr_array((last - first, self.shape[1]), dtype=self.dtype)
        view.data, view.indices = self.array.data[part], self.array.indices[part]
        view.indptr = starts - starts[0]
        return view


class PickedRows:
    """Some rows of a source in memory, fetched as they are asked for and never all at once.

    Parameters
    ----------
    source : BlockSource
        Dense and resident.
    indices : ndarray of int64 (m,)
        Which rows, in which order.

    Examples
    --------
    >>> picked = PickedRows(ArrayBlocks(np.arange(8.0).reshape(4, 2)), np.array([3, 0, 2]))
    >>> picked.shape, picked[1:].tolist()
    ((3, 2), [[0.0, 1.0], [4.0, 5.0]])
    """

    sparse, resident, distant = False, True, False

    def __init__(self, source: BlockSource, indices: NDArray[np.int64]) -> None:
        self.source, self.indices = source, indices
        self.shape, self.dtype = (len(indices), source.shape[1]), source.dtype
        self._block_rows = max(1, PICKED_BYTES // max(1, self.shape[1] * self.dtype.itemsize))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Fetch a range of the rows."""
        found: NDArray[Any] = self.source.select(self.indices[rows])
        return found

    def __len__(self) -> int:
        """Return the number of blocks."""
        return -(-self.shape[0] // self._block_rows)

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""
        return self._blocks_from(0)

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, from row ``first`` on."""
        walk_here(self._blocks_from(first), tasks, on_block)

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some of the rows as float64."""
        return self.source.take(self.indices[indices])

    def select(self, indices: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Return some of the rows in memory, all of them by default."""
        found: NDArray[Any] = self.source.select(
            self.indices if indices is None else self.indices[indices]
        )
        return found

    def _blocks_from(self, first: int) -> Iterator[Block]:
        for start in range(first, self.shape[0], self._block_rows):
            yield Block(start, self[start : start + self._block_rows])


def open_blocks(rows: Any) -> ArrayBlocks | SparseBlocks | PickedRows:
    """Return the block source of an array, of CSR rows or of rows that were picked."""
    if isinstance(rows, PickedRows):
        return rows
    return SparseBlocks(rows) if scipy.sparse.issparse(rows) else ArrayBlocks(rows)


def as_native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in an element type that kernels read: itself, or float64 where it must."""
    if array.dtype.newbyteorder("=") in NATIVE_TYPES:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return array.astype(np.uint8 if array.dtype == np.bool_ else np.float64)


def as_native_sparse(rows: Any) -> Any:
    """Return CSR rows as kernels read them: float32 or float64, indices ascending and unique."""
    dtype = compute_type(as_native(rows.data[:0]).dtype)
    native = scipy.sparse.csr_array(rows).astype(dtype, copy=False)
    index = np.promote_types(native.indices.dtype, native.indptr.dtype)
    native.indices = native.indices.astype(index, copy=False)
    native.indptr = native.indptr.astype(index, copy=False)
    if not native.has_canonical_format:
        native = native.copy() if np.shares_memory(native.data, rows.data) else native
        native.sum_duplicates()
    return native


def compute_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision that rows of this type are computed in: float64 only for float64."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


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
        uses = (least(self._minimum), most(self._maximum), most(self._norm))
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
