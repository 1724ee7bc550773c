"""READ: rows in memory as block sources: arrays, CSR rows, and rows picked from either."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, walk_here
from projected_kmeans.results import Floats

# Large enough that a pass is bound by its kernel, small enough that progress is seen.
BLOCK_BYTES = 64 * 2**20


# Blocks of picked rows, which are fetched rather than looked at: little beside a sketch.
PICKED_BYTES = 2**20


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
