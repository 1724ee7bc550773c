"""READ: rows in memory as block sources: arrays, CSR rows, and rows picked from either."""

from __future__ import annotations

import hashlib
import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource, LocalBlocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.sources.mapped_files import check_file, watch
from projected_kmeans.thread_pool import ThreadPool

# 64 MB: so large that calling a kernel costs nothing beside its work, and so small that progress
# is reported several times a second.
BLOCK_BYTES = 64 * 2**20

# Picked rows are copied block by block. Blocks of 1 MB are small beside the sketch of a fit.
PICKED_BYTES = 2**20

# Arrays are hashed in pieces of 4 MB on four threads.
PIECE_BYTES, THREADS = 2**22, 4


class ArrayBlocks(LocalBlocks):
    """The block source of an array of one of `NATIVE_TYPES` in memory or of a memory map.

    Blocks are views where the rows are contiguous, otherwise copies of one block at a time.
    """

    resident = True

    def __init__(
        self,
        array: NDArray[Any],
        block_rows: int | None = None,
        *,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.array = watch(array)
        self.shape, self.dtype = (array.shape[0], array.shape[1]), array.dtype
        self.block_rows = block_rows or max(1, int(block_bytes // self.row_bytes))

    def __len__(self) -> int:
        """Return the number of blocks."""
        return -(-self.shape[0] // self.block_rows)

    def blocks_from(self, first: int) -> Iterator[Block]:
        """Yield the blocks from row ``first`` to the last row."""
        for start in range(first, self.shape[0], self.block_rows):
            rows = self.array[start : start + self.block_rows]
            contiguous = rows.strides[1] == rows.itemsize or rows.shape[1] == 1
            aligned = rows.strides[0] % rows.itemsize == 0 and rows.flags.aligned
            kept = contiguous and aligned
            yield Block(start, rows if kept else np.require(rows, requirements=["C", "A", "E"]))
            check_file(rows)

    def select(self, indices: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Return some rows in memory, in the form that blocks have; all rows by default."""
        return self.array if indices is None else self.array[indices]

    def identity(self) -> str:
        """Return a hash of all rows."""
        return hash_arrays(self.array)

    def check_files(self) -> None:
        """Raise if the array is a memory map of a file of which a part was lost."""
        check_file(self.array)


class SparseBlocks(LocalBlocks):
    """The block source of CSR rows in memory, as `as_native_sparse` returns them. Blocks are views.

    They are never made dense, and have about ``block_bytes`` of stored entries by default.
    """

    sparse, resident = True, True

    def __init__(
        self, array: Any, block_rows: int | None = None, *, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self.array = array
        self.shape, self.dtype = (array.shape[0], array.shape[1]), array.dtype
        self.nnz = int(array.nnz)
        n_rows, starts = array.shape[0], array.indptr
        if block_rows is None:
            size = block_bytes // (array.data.itemsize + array.indices.itemsize)
            full = np.searchsorted(starts, np.arange(size, int(starts[-1]), size), side="right")
            cuts = np.unique(np.concatenate([[0], full, [n_rows]]))
        else:
            cuts = np.append(np.arange(0, n_rows, block_rows), n_rows)
        self._cuts = [int(cut) for cut in cuts]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._cuts) - 1

    def blocks_from(self, first: int) -> Iterator[Block]:
        """Yield the blocks from row ``first`` to the last row."""
        for start, stop in itertools.pairwise(self._cuts):
            if stop > first:
                yield Block(max(start, first), self._view(max(start, first), stop))

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default."""
        return self.array if indices is None else self.array[indices]

    def identity(self) -> str:
        """Return a hash of all stored entries and their places."""
        return hash_arrays(self.array.data, self.array.indices, self.array.indptr)

    def _view(self, first: int, last: int) -> Any:
        """Return the rows first, ..., last - 1 without copying their entries."""
        if (first, last) == (0, self.shape[0]):
            return self.array
        starts = self.array.indptr[first : last + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        # The arrays are set one by one, because the constructor of SciPy may convert the indices.
        view = scipy.sparse.csr_array((last - first, self.shape[1]), dtype=self.dtype)
        view.data, view.indices = self.array.data[part], self.array.indices[part]
        view.indptr = starts - starts[0]
        return view


class PickedRows(LocalBlocks):
    """Some dense rows of a source in memory, in the order of their indices.

    They are copied block by block, never all at once.
    """

    resident = True

    def __init__(
        self, source: BlockSource, indices: NDArray[np.int64], block_bytes: int = PICKED_BYTES
    ) -> None:
        self.source, self.indices = source, indices
        self.shape, self.dtype = (len(indices), source.shape[1]), source.dtype
        self._block_rows = max(1, int(block_bytes // self.row_bytes))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return a range of the picked rows."""
        found: NDArray[Any] = self.source.select(self.indices[rows])
        return found

    def __len__(self) -> int:
        """Return the number of blocks."""
        return -(-self.shape[0] // self._block_rows)

    def blocks_from(self, first: int) -> Iterator[Block]:
        """Yield the blocks from row ``first`` to the last row."""
        for start in range(first, self.shape[0], self._block_rows):
            yield Block(start, self[start : start + self._block_rows])

    def select(self, indices: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Return some of the picked rows in memory; all of them by default."""
        found: NDArray[Any] = self.source.select(
            self.indices if indices is None else self.indices[indices]
        )
        return found


def open_blocks(rows: Any) -> LocalBlocks:
    """Return the block source of an array, of CSR rows or of picked rows."""
    if isinstance(rows, PickedRows):
        return rows
    return SparseBlocks(rows) if scipy.sparse.issparse(rows) else ArrayBlocks(rows)


def hash_arrays(*arrays: NDArray[Any]) -> str:
    """Return a hash of the entries, shapes and element types of some arrays."""
    sums: list[Any] = []
    with ThreadPool(THREADS) as pool:
        for array in arrays:
            step = max(1, PIECE_BYTES // max(1, array.nbytes // max(1, len(array))))
            pieces = (array[start : start + step] for start in range(0, len(array), step))
            sums += [array.shape, array.dtype.str, *pool.map(_checksum, pieces)]
    return hashlib.sha256(repr(sums).encode()).hexdigest()


def _checksum(piece: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
