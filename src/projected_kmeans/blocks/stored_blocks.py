"""READ: rows of files and other row sources as blocks, of which a few are in memory at a time."""

from __future__ import annotations

import copy
import mmap
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import LocalBlocks
from projected_kmeans.blocks.element_types import as_native, as_native_sparse, compute_type
from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.sources.mapped_files import check_file, check_mapping, mapping_of
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.read_ahead import DEPTH, N_READERS, read_ahead

# The number of blocks in memory at a time: those read ahead, the one that kernels work on, and
# those that readers are converting.
BLOCKS_HELD = DEPTH + 1 + N_READERS

# Selected rows that are at most 1 MB apart are read together, because most formats decode pieces
# of about that size anyway.
GAP_BYTES = 2**20

# The nonzeros of sparse rows are estimated from 64 consecutive rows at each of 16 places.
COUNTED_PLACES, COUNTED_ROWS = 16, 64


class StoredBlocks(LocalBlocks):
    """The block source of a row source. The next blocks are read while kernels work on one.

    Blocks have ``block_rows`` rows, by default as many as fit into ``block_bytes``; no result
    depends on it. `select` may bring ``max_selected`` bytes into memory, by default any number. The
    number of stored entries of sparse rows is estimated from 1,024 rows if there are more.
    """

    def __init__(
        self,
        source: RowSource,
        block_rows: int | None = None,
        *,
        block_bytes: int = BLOCK_BYTES,
        max_selected: int | None = None,
    ) -> None:
        self.source = source
        self.shape = source.shape
        self.sparse = source.sparse
        self.feature_names = source.feature_names
        self.forward_only = source.forward_only
        native = as_native(np.empty(0, source.dtype)).dtype
        self.dtype = compute_type(native) if self.sparse else native
        self.nnz = _count_nonzeros(source) if self.sparse else None
        self.stored_row_bytes = self.row_bytes
        self.block_rows = block_rows or max(1, int(block_bytes // self.row_bytes))
        self._max_selected = max_selected
        self._walks: WeakSet[Any] = WeakSet()
        self._selected: set[int] = set()  # mappings that selected rows are views of

    def resized(self, block_bytes: int, max_selected: int | None) -> StoredBlocks:
        """Return the same rows in blocks of another size, under a limit on `select`."""
        found = copy.copy(self)
        found._walks, found._max_selected = WeakSet(), max_selected
        found.block_rows = max(1, int(block_bytes // self.row_bytes))
        return found

    def __len__(self) -> int:
        """Return the number of blocks."""
        return -(-self.shape[0] // self.block_rows)

    def blocks_from(self, first: int) -> Iterator[Block]:
        """Yield the blocks from row ``first`` to the last row; rows before it are not read."""
        walk = self._walk(first)
        self._walks.add(walk)
        return walk

    def identity(self) -> str:
        """Return what the row source says of its identity."""
        return self.source.identity()

    def check_files(self) -> None:
        """Raise if a part of a mapped file was lost after all its rows were selected."""
        for number in self._selected:
            check_mapping(number)

    def close(self) -> None:
        """Stop walks that were left before their end, and their threads."""
        for walk in list(self._walks):
            walk.close()

    def read(self, start: int, stop: int) -> Any:
        """Return the rows start, ..., stop - 1 in the form that kernels read."""
        rows = self.source.read(start, stop)
        native = as_native_sparse(rows) if self.sparse else as_native(np.asarray(rows))
        check_file(rows)
        return native

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default.

        Ranges without any of these rows are not read.
        """
        n_rows = self.shape[0] if indices is None else len(indices)
        check_selected(n_rows, self.row_bytes, self._max_selected)
        if indices is None:
            rows = self.read(0, self.shape[0])
            self._selected.add(mapping_of(rows))
            return rows
        wanted, places = np.unique(indices, return_inverse=True)
        parts = (self._read_some(part) for part in self._group(wanted))
        if self.sparse:
            empty = scipy.sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
            return scipy.sparse.vstack([empty, *parts], format="csr")[places]
        rows, done = np.empty((len(wanted), self.shape[1]), self.dtype), 0
        for part in parts:
            rows[done : done + len(part)] = part
            done += len(part)
        return rows if np.array_equal(places, np.arange(len(places))) else rows[places]

    def _walk(self, first: int) -> Iterator[Block]:
        for start, rows in read_ahead(self, self.block_rows, first=first):
            yield Block(start, rows)
            check_file(rows)
            release(rows)

    def _group(self, wanted: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield groups of ascending rows that are read together: close, and at most one block."""
        gap = GAP_BYTES / self.row_bytes
        first = 0
        for index in range(1, len(wanted) + 1):
            if (
                index == len(wanted)
                or wanted[index] - wanted[index - 1] > gap
                or wanted[index] - wanted[first] >= self.block_rows
            ):
                yield wanted[first:index]
                first = index

    def _read_some(self, wanted: NDArray[np.int64]) -> Any:
        start, stop = int(wanted[0]), int(wanted[-1]) + 1
        if self.sparse:
            return self.read(start, stop)[wanted - start]
        rows = self.source.read(start, stop)
        some = rows[wanted - start]
        check_file(rows)
        release(rows)
        return as_native(np.asarray(some))


def check_selected(n_rows: int, row_bytes: float, max_selected: int | None) -> None:
    """Raise if some rows take more than ``max_selected`` bytes of memory."""
    if max_selected is not None and n_rows * row_bytes > max_selected:
        raise ValueError(
            f"{n_rows} rows of X are needed in memory at once, {n_rows * row_bytes:.3g} bytes, "
            f"but memory_limit leaves {max_selected} bytes; raise it, or use projection='sign'"
        )


def release(rows: Any) -> None:
    """Give the memory of rows in a mapped file back to the system.

    The system keeps the pages in its cache as long as it has room, but they no longer count as
    memory of this process. Does nothing for other arrays, and for maps of mode "c", whose pages may
    hold changes that are not in the file.
    """
    owner: Any = rows
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    mapping: Any = getattr(owner, "_mmap", None)
    if mapping is None or getattr(owner, "mode", "c") == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    if not rows.size:
        return
    first_entry = rows.__array_interface__["data"][0]
    spans = [(n - 1) * step for n, step in zip(rows.shape, rows.strides, strict=True)]
    low = first_entry + sum(span for span in spans if span < 0)
    high = first_entry + sum(span for span in spans if span > 0) + rows.itemsize
    begin = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    # The last page may hold the beginning of the next rows; it is given back with them.
    first = (low - begin) // mmap.PAGESIZE * mmap.PAGESIZE
    length = min((high - begin) // mmap.PAGESIZE * mmap.PAGESIZE, len(mapping)) - first
    if length > 0:
        mapping.madvise(mmap.MADV_DONTNEED, first, length)


def _count_nonzeros(source: RowSource) -> int:
    """Return the number of nonzeros, estimated from evenly spread rows if there are many."""
    n_rows = source.shape[0]
    if n_rows <= COUNTED_PLACES * COUNTED_ROWS:
        return _count(source, 0, n_rows)
    starts = np.linspace(0, n_rows - COUNTED_ROWS, COUNTED_PLACES).astype(int)
    counts = [_count(source, start, start + COUNTED_ROWS) for start in starts.tolist()]
    return round(sum(counts) / (COUNTED_PLACES * COUNTED_ROWS) * n_rows)


def _count(source: RowSource, start: int, stop: int) -> int:
    rows: Any = source.read(start, stop)
    return int(rows.nnz)
