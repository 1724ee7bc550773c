"""READ: what every block source can do. All steps walk over rows through this interface.

`BlockSource` lists all that a step may ask of rows, wherever they lie. `LocalBlocks` is the part
that sources in this process share, `WrappedBlocks` the part that sources around another source
share. What is computed from rows is not known here.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block, OnBlock, Task
from projected_kmeans.results import Floats, Labels


class BlockSource(ABC):
    """Rows that can be walked over block by block, as often as a caller needs."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]  # of every block, one of `NATIVE_TYPES`
    sparse: bool = False  # whether blocks are CSR arrays
    nnz: int | None = None  # stored entries of sparse rows, perhaps an estimate; None if dense
    feature_names: tuple[str, ...] | None = None  # of the columns, where the source knows them
    # Whether the rows lie in the memory of this process, so that some are fetched again quickly.
    resident: bool = False
    # Whether the rows lie in other processes (Dask), so that arrays with an entry for each row have
    # to travel to them.
    distant: bool = False
    # Whether `new_rows` can keep new rows where these lie, outside this process's memory.
    keeps_new_rows: bool = False
    # Bytes that a walk reads from a file for each row, on average; 0 where it reads no file.
    stored_row_bytes: float = 0.0

    @property
    def row_bytes(self) -> float:
        """Bytes of one row in memory, on average where rows are sparse."""
        if self.nnz is None:
            return max(1, self.shape[1] * self.dtype.itemsize)
        return (self.dtype.itemsize + 4) * self.nnz / max(1, self.shape[0]) + 4

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of blocks."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks in this process, from the first row to the last."""

    @abstractmethod
    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks, in their order, with every block, where the block lies.

        The first block begins at row ``first``. ``on_block`` is called after each block with the
        number of rows done, those before ``first`` included.
        """

    @abstractmethod
    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default."""

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return a few rows as a dense float64 array."""
        rows = self.select(indices)
        return np.asarray(rows.toarray() if self.sparse else rows, dtype=np.float64)

    def resized(self, block_bytes: int, max_selected: int | None) -> BlockSource:
        """Return the same rows in blocks of a size; `select` takes ``max_selected`` bytes at most.

        Rows that lie in memory already are returned as they are.
        """
        return self

    def new_rows(self, n_columns: int, dtype: np.dtype[Any]) -> BlockSource:
        """Return as many new rows, kept where these lie, for a walk over these to fill.

        Only where ``keeps_new_rows`` is true.
        """
        raise NotImplementedError(f"{type(self).__name__} keeps no new rows; use an array instead")

    def new_row_array(
        self, dtype: np.dtype[Any], fill: Any = None, width: tuple[int, ...] = ()
    ) -> Any:
        """Return an array with an entry for each row: a NumPy array, or a `RowArray` on a cluster.

        All entries are ``fill`` at first, a number or a whole entry of shape ``width``; by default
        anything.
        """
        shape = (self.shape[0], *width)
        return np.empty(shape, dtype) if fill is None else np.full(shape, fill, dtype)

    def without(self, rows: NDArray[np.int64]) -> BlockSource:
        """Return the rows but those with these ascending indices; for rows outside this process."""
        raise NotImplementedError(f"{type(self).__name__} leaves no rows out; wrap it instead")

    def labels_like_input(self, labels: Labels) -> Any:
        """Return labels in the form in which the user gave the rows: a Dask array for Dask."""
        return labels

    def identity(self) -> str:
        """Return a text by which a checkpoint recognizes these rows; raise if there is none."""
        raise ValueError(
            f"rows of type {type(self).__name__} have no identity by which a checkpoint could "
            "recognize them; fit without checkpoint, or store the rows in a file"
        )

    def check_files(self) -> None:  # noqa: B027 - most rows do not lie in files
        """Raise if a mapped file was shortened since its rows were selected.

        Walks check this themselves. It is for the end of work with rows that `select` returned.
        """

    def close(self) -> None:  # noqa: B027 - most sources have nothing to close
        """Stop the threads of walks that were left before their end."""


class LocalBlocks(BlockSource):
    """A block source whose blocks come into this process one after another.

    A subclass yields blocks from any row on; iteration and walks follow from that.
    """

    @abstractmethod
    def blocks_from(self, first: int) -> Iterator[Block]:
        """Yield the blocks from row ``first`` to the last row."""

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row to the last."""
        return self.blocks_from(0)

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, from row ``first`` on."""
        # Kernels are called from here, not through `Task.run`, so that tracebacks stay short.
        for block in self.blocks_from(first):
            span = block.span
            for task in tasks:
                task.kernel(block, *task.parts(span))
            if on_block is not None:
                on_block(span.stop)


class WrappedBlocks(BlockSource):
    """A block source that changes what another source gives; all else is the other's."""

    def __init__(self, source: BlockSource) -> None:
        self.source = source
        self.shape, self.dtype = source.shape, source.dtype
        self.sparse, self.nnz = source.sparse, source.nnz
        self.feature_names = source.feature_names
        self.resident, self.distant = source.resident, source.distant
        self.keeps_new_rows = source.keeps_new_rows
        self.stored_row_bytes = source.stored_row_bytes

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.source)

    def resized(self, block_bytes: int, max_selected: int | None) -> Self:
        """Return the same rows under a memory limit."""
        found = copy.copy(self)
        found.source = self.source.resized(block_bytes, max_selected)
        return found

    def new_rows(self, n_columns: int, dtype: np.dtype[Any]) -> BlockSource:
        """Return as many new rows, kept where these lie."""
        return self.source.new_rows(n_columns, dtype)

    def new_row_array(
        self, dtype: np.dtype[Any], fill: Any = None, width: tuple[int, ...] = ()
    ) -> Any:
        """Return an array with an entry for each row, beside the rows if these lie on a cluster."""
        return self.source.new_row_array(dtype, fill, width)

    def labels_like_input(self, labels: Labels) -> Any:
        """Return labels in the form in which the user gave the rows."""
        return self.source.labels_like_input(labels)

    def check_files(self) -> None:
        """Raise if a mapped file was shortened since its rows were selected."""
        self.source.check_files()

    def close(self) -> None:
        """Stop the threads of walks that were left before their end."""
        self.source.close()
