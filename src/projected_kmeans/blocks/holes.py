"""READ: rows with holes (NaN), found by one walk, and the other rows as a block source.

`Holes` knows which rows have a hole, and how the numbers of the other rows relate to those of all
rows. What becomes of a row with a hole is not decided here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource, LocalBlocks
from projected_kmeans.blocks.tasks import Block, Task, fill

# Dense rows are looked at 4,096 at a time, so that what is found of their entries stays small.
STRETCH = 4096

# The rows with a hole where no row has one.
NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Holes:
    """Which of all rows have a hole: their indices, ascending, and the number of all rows."""

    rows: NDArray[np.int64]
    n_rows: int

    def add(self, missing: NDArray[np.bool_]) -> Holes:
        """Return these holes and those of further rows."""
        return Holes(np.flatnonzero(missing | ~self.complete).astype(np.int64), self.n_rows)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each of all rows is complete."""
        found = np.ones(self.n_rows, dtype=np.bool_)
        found[self.rows] = False
        return found

    def spread(self, values: NDArray[Any], missing: float) -> NDArray[Any]:
        """Return values of the complete rows as values of all rows, the others ``missing``."""
        if not len(self.rows):
            return values
        found = np.full((self.n_rows, *values.shape[1:]), missing, values.dtype)
        found[self.complete] = values
        return found

    def find(self, indices: NDArray[Any]) -> NDArray[np.int64]:
        """Return where complete rows stand among all rows."""
        before = self.rows - np.arange(len(self.rows))  # complete rows before each hole
        return np.asarray(indices + np.searchsorted(before, indices, side="right"), dtype=np.int64)

    def renumber(self, indices: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of some complete rows among the complete rows."""
        return np.asarray(indices - np.searchsorted(self.rows, indices), dtype=np.int64)


def find_holes(source: BlockSource) -> Holes:
    """Return which rows have NaN, by one walk; integers have none and are not read."""
    missing = np.zeros(source.shape[0], dtype=np.bool_)
    if source.dtype.kind == "f":
        source.walk(Task(_mark, (fill(missing),)))
    return Holes(np.flatnonzero(missing).astype(np.int64), source.shape[0])


def leave_out(source: BlockSource, holes: Holes) -> BlockSource:
    """Return the complete rows, of which there may be none."""
    if not len(holes.rows):
        return source
    if isinstance(source, LocalBlocks):
        return CompleteRows(source, holes)
    return source.without(holes.rows)


def have_holes(rows: Any) -> NDArray[np.bool_]:
    """Return whether each row, dense or CSR, has an entry that is NaN."""
    sparse: bool = scipy.sparse.issparse(rows)
    if sparse:
        found = np.zeros(rows.shape[0], dtype=np.bool_)
        places = np.flatnonzero(np.isnan(rows.data))
        found[np.searchsorted(rows.indptr, places, side="right") - 1] = True
        return found
    if rows.dtype.kind != "f":
        return np.zeros(len(rows), dtype=np.bool_)
    parts = (rows[start : start + STRETCH] for start in range(0, len(rows), STRETCH))
    return np.concatenate([np.zeros(0, np.bool_), *(np.isnan(part).any(axis=1) for part in parts)])


def drop_holes(block: Block) -> tuple[Block, Holes]:
    """Return a block without its rows that have holes, and which rows these are."""
    missing = have_holes(block.rows)
    holes = Holes(np.flatnonzero(missing).astype(np.int64), len(missing))
    return (Block(block.start, block.rows[~missing]) if len(holes.rows) else block), holes


def _mark(block: Block, missing: NDArray[np.bool_]) -> None:
    missing[:] = have_holes(block.rows)


class CompleteRows(LocalBlocks):
    """The rows of another source that have no hole. Blocks with holes are copied without them."""

    def __init__(self, source: LocalBlocks, holes: Holes) -> None:
        self.source, self.holes = source, holes
        n_rows, n_columns = source.shape
        self.shape = (n_rows - len(holes.rows), n_columns)
        self.dtype, self.sparse = source.dtype, source.sparse
        self.nnz = source.nnz
        if source.nnz is not None:
            lost = source.select(holes.rows).nnz if source.resident else 0
            self.nnz = source.nnz - int(lost)
        self.feature_names, self.resident = source.feature_names, source.resident
        self.stored_row_bytes = source.stored_row_bytes

    def __len__(self) -> int:
        """Return the number of blocks, at most."""
        return len(self.source)

    def blocks_from(self, first: int) -> Iterator[Block]:
        """Yield the blocks from complete row ``first`` to the last row."""
        missing = self.holes.rows
        for block in self.source.blocks_from(int(self.holes.find(np.array(first)))):
            span = block.span
            begin, end = np.searchsorted(missing, [span.start, span.stop]).tolist()
            start = span.start - begin
            if begin == end:
                yield Block(start, block.rows)
            elif end - begin < span.stop - span.start:
                kept = np.ones(span.stop - span.start, dtype=np.bool_)
                kept[missing[begin:end] - span.start] = False
                yield Block(start, block.rows[kept])

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some complete rows in memory; all of them by default."""
        every = np.arange(self.shape[0]) if indices is None else indices
        return self.source.select(self.holes.find(every))

    def resized(self, block_bytes: int, max_selected: int | None) -> CompleteRows:
        """Return the same rows under a memory limit."""
        found = copy.copy(self)
        resized = self.source.resized(block_bytes, max_selected)
        assert isinstance(resized, LocalBlocks)
        found.source = resized
        return found

    def identity(self) -> str:
        """Return the identity of all rows, which tell which of them have holes."""
        return self.source.identity()

    def check_files(self) -> None:
        """Raise if a mapped file was shortened since its rows were selected."""
        self.source.check_files()

    def close(self) -> None:
        """Stop the threads of walks that were left before their end."""
        self.source.close()
