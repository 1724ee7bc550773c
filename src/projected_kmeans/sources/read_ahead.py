"""Walk over the blocks of a source; the next blocks are read while the caller works on one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np

from projected_kmeans.sources.protocol import Rows
from projected_kmeans.thread_pool import ThreadPool

# Two blocks are read before they are asked for, by two threads: decoding is often slower than the
# computation, and two threads take little more than half the time of one.
DEPTH = 2
N_READERS = 2

PAGE_BYTES = 4096


class Ranges(Protocol):
    """What this module asks of a source: a part of `RowSource`, which block sources have too."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""

    @property
    def forward_only(self) -> bool:
        """Whether one thread should read, because ranges are decoded from the last one on."""

    def read(self, start: int, stop: int) -> Any:
        """Return the rows start, ..., stop - 1."""


def read_ahead(
    source: Ranges, rows_per_block: int, *, depth: int = DEPTH, first: int = 0
) -> Iterator[tuple[int, Rows]]:
    """Yield for each block, from the first to the last, the index of its first row and its rows.

    Besides the block that the caller holds, at most `depth` blocks are in memory. Errors of the
    source are raised unchanged, in the order of the rows. If the caller stops early, reads that
    are under way are awaited and their threads end. A source that is ``forward_only`` is read by
    one thread, others by two.

    Parameters
    ----------
    source : Ranges
        The rows, such as a `RowSource`.
    rows_per_block : int
        Rows of a block; the last block may have fewer.
    depth : int
        The number of blocks that are read ahead.
    first : int
        The row to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import as_row_source, read_ahead
    >>> source = as_row_source(np.arange(10).reshape(5, 2))
    >>> [(start, block.tolist()) for start, block in read_ahead(source, 3)]
    [(0, [[0, 1], [2, 3], [4, 5]]), (3, [[6, 7], [8, 9]])]
    """
    if rows_per_block < 1 or depth < 1:
        raise ValueError(
            f"rows_per_block={rows_per_block} and depth={depth} must be positive; give at least 1"
        )
    return _walk(source, rows_per_block, depth, first)


def _walk(
    source: Ranges, rows_per_block: int, depth: int, first: int
) -> Iterator[tuple[int, Rows]]:
    n_readers = 1 if source.forward_only else min(N_READERS, depth)
    pool = ThreadPool(n_readers, thread_name_prefix="read-ahead")
    pending: deque[tuple[int, Future[Rows]]] = deque()
    try:
        for start in range(first, source.shape[0], rows_per_block):
            stop = min(start + rows_per_block, source.shape[0])
            pending.append((start, pool.submit(_read, source, start, stop)))
            if len(pending) == depth:
                yield _first_of(pending)
        while pending:
            yield _first_of(pending)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _first_of(pending: deque[tuple[int, Future[Rows]]]) -> tuple[int, Rows]:
    start, future = pending.popleft()
    return start, future.result()


def _read(source: Ranges, start: int, stop: int) -> Rows:
    rows: Rows = source.read(start, stop)
    if isinstance(rows, np.ndarray) and rows.base is not None and rows.size:
        # Perhaps a memory map: touching a byte of each page loads it here and not in a kernel.
        np.max(rows.reshape(-1).view(np.uint8)[::PAGE_BYTES])
    return rows
