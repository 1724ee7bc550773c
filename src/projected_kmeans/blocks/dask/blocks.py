"""READ: `DaskBlocks`, the block source of rows that Dask's workers hold, or read from files."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse
from dask.delayed import delayed
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.dask.block_work import OpenBlock
from projected_kmeans.blocks.dask.walks import walk_there
from projected_kmeans.blocks.dask.worker_arrays import WorkerArray
from projected_kmeans.blocks.dask.workers import Workers, hold
from projected_kmeans.blocks.element_types import as_native, as_native_sparse
from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.stored_blocks import StoredBlocks, check_selected
from projected_kmeans.blocks.tasks import Block, OnBlock, Task
from projected_kmeans.results import Labels
from projected_kmeans.sources.protocol import RowSource


class DaskBlocks(BlockSource):
    """The block source of rows that Dask's workers hold or read.

    ``parts`` are tasks or futures of the rows of each block, of which none is empty, and ``chunks``
    the numbers of rows of the chunks of the user's Dask array. Labels get the same chunks.
    """

    distant = True

    def __init__(
        self,
        parts: Sequence[Any],
        lengths: Sequence[int],
        n_columns: int,
        dtype: np.dtype[Any],
        workers: Workers,
        *,
        nnz: int | None = None,
        feature_names: tuple[str, ...] | None = None,
        chunks: tuple[int, ...] | None = None,
    ) -> None:
        self.shape = (sum(lengths), n_columns)
        self.dtype = dtype
        self.nnz = nnz
        self.sparse = nnz is not None
        self.feature_names = feature_names
        self._parts, self._lengths = list(parts), list(lengths)
        self._workers, self._chunks = workers, chunks
        self.keeps_new_rows = workers.client is not None
        self._max_selected: int | None = None
        ends = list(itertools.accumulate(lengths))
        self._spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._parts)

    def __iter__(self) -> Iterator[Block]:
        """Bring one block after the other into this process, from the first row to the last."""
        for span, part in self._blocks:
            (rows,) = self._workers.gather([delayed(_bring, pure=False)(part)])
            yield self._open_block(rows, span)

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, where it lies. ``first`` must be 0."""
        if first:
            raise ValueError(
                f"first={first}, but a walk over rows on Dask begins at row 0; use first=0"
            )
        walk_there(self._blocks, self._open_block, tasks, self._workers, on_block)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory, in the form that blocks have; all rows by default.

        Blocks without any of these rows are not computed.
        """
        n_rows = self.shape[0] if indices is None else len(indices)
        check_selected(n_rows, self.row_bytes, self._max_selected)
        every = np.arange(self.shape[0]) if indices is None else indices
        wanted, places = np.unique(every, return_inverse=True)
        cuts = np.searchsorted(wanted, [0, *(span.stop for span in self._spans)])
        pick = delayed(_pick, pure=False)
        picked = [
            pick(self._open_block, part, span, wanted[first:last])
            for (span, part), (first, last) in zip(
                self._blocks, itertools.pairwise(cuts.tolist()), strict=True
            )
            if last > first
        ]
        found = self._workers.gather(picked)
        if self.sparse:
            return scipy.sparse.vstack(found, format="csr")[places]
        rows = np.concatenate(found)  # a copy, also of one part: it may have arrived misaligned
        return rows if np.array_equal(places, np.arange(len(places))) else rows[places]

    def resized(self, block_bytes: int, max_selected: int | None) -> DaskBlocks:
        """Return the same rows under a limit on `select`; blocks keep their sizes."""
        found = copy.copy(self)
        found._max_selected = max_selected
        return found

    def new_rows(self, n_columns: int, dtype: np.dtype[Any]) -> DaskBlocks:
        """Return as many new rows, kept by the same workers, for a walk over these to fill."""
        return DaskBlocks([], self._lengths, n_columns, dtype, self._workers)

    def new_row_array(
        self, dtype: np.dtype[Any], fill: Any = None, width: tuple[int, ...] = ()
    ) -> Any:
        """Return an array with an entry for each row, beside the rows if there is a cluster."""
        if self._workers.client is None:
            return super().new_row_array(dtype, fill, width)
        return WorkerArray(
            self._spans, np.dtype(dtype), width, 0 if fill is None else fill, self._workers
        )

    def without(self, rows: NDArray[np.int64]) -> DaskBlocks:
        """Return the rows but those with these ascending indices; workers leave them out."""
        drop = delayed(_drop, pure=False)
        parts, lengths = [], []
        for span, part in self._blocks:
            begin, end = np.searchsorted(rows, [span.start, span.stop]).tolist()
            left = span.stop - span.start - (end - begin)
            if left:
                some = rows[begin:end] - span.start
                parts.append(drop(self._open_block, part, span, some) if len(some) else part)
                lengths.append(left)
        share = sum(lengths) / self.shape[0]
        return DaskBlocks(
            parts,
            lengths,
            self.shape[1],
            self.dtype,
            self._workers,
            nnz=None if self.nnz is None else round(share * self.nnz),
            feature_names=self.feature_names,
        )

    def identity(self) -> str:
        """Raise, because Dask's rows cannot be recognized without computing them all."""
        raise ValueError("rows on Dask cannot be recognized by a later run; fit without checkpoint")

    def hold(self, parts: Sequence[Any]) -> None:
        """Keep the parts that a walk made for these rows, as `new_rows` promised."""
        self._parts = list(parts)

    def labels_like_input(self, labels: Labels) -> Any:
        """Return labels as a Dask array if the user gave one, with the same chunks.

        Labels that lie on the workers stay there. Those of a row source come into this process.
        """
        if self._chunks is None:
            return np.asarray(labels)
        if isinstance(labels, WorkerArray):
            return labels.as_dask_array(self._chunks)
        return da.from_array(labels, chunks=(self._chunks,))

    @property
    def _blocks(self) -> list[tuple[slice, Any]]:
        return list(zip(self._spans, self._parts, strict=True))

    @property
    def _open_block(self) -> OpenBlock:
        return partial(open_block, self.shape[1], self.dtype, self.sparse)


def open_block(n_columns: int, dtype: np.dtype[Any], sparse: bool, rows: Any, span: slice) -> Block:
    """Return the rows of a worker as a block that kernels can read.

    Raises a ValueError if the rows have another form or shape than Dask said.
    """
    if scipy.sparse.issparse(rows) != sparse:
        raise ValueError(
            f"a block of X is {'dense' if sparse else 'sparse'}, but the meta of X says otherwise; "
            "give map_blocks or from_delayed the meta that the blocks have"
        )
    expected = (span.stop - span.start, n_columns)
    if rows.shape != expected:
        raise ValueError(
            f"a block of X has shape {rows.shape}, but the chunks of X say {expected}; set the "
            "right chunks, such as by X.compute_chunk_sizes()"
        )
    if sparse:
        return Block(span.start, as_native_sparse(rows).astype(dtype, copy=False))
    return Block(span.start, np.require(as_native(np.asarray(rows)), dtype, ["C", "A", "E"]))


def _pick(open_block: OpenBlock, rows: Any, span: slice, indices: NDArray[np.int64]) -> Any:
    return open_block(rows, span).rows[indices - span.start]


def _drop(opened: OpenBlock, rows: Any, span: slice, missing: NDArray[np.int64]) -> Any:
    kept = np.ones(span.stop - span.start, dtype=np.bool_)
    kept[missing] = False
    return opened(rows, span).rows[kept]


def _bring(rows: Any) -> Any:
    return rows


def open_source(source: RowSource, client: Any) -> DaskBlocks:
    """Return the block source of a row source whose ranges are read by the workers of a cluster.

    They are told where the data is, and must be able to open the same files.
    """
    stored = StoredBlocks(source)
    n_rows, size = source.shape[0], max(1, int(BLOCK_BYTES // stored.row_bytes))
    cuts = [*range(0, n_rows, size), n_rows]
    held = hold(source)
    read = delayed(_read, pure=False)
    return DaskBlocks(
        [read(held, start, stop) for start, stop in itertools.pairwise(cuts)],
        [stop - start for start, stop in itertools.pairwise(cuts)],
        source.shape[1],
        stored.dtype,
        Workers.find(client),
        nnz=stored.nnz,
        feature_names=source.feature_names,
    )


def _read(source: RowSource, start: int, stop: int) -> Any:
    return source.read(start, stop)
