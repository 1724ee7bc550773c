"""READ: Dask arrays, Dask data frames and files that workers read, as blocks of rows.

Knows where blocks lie and how large they are; `dask_walks.py` sends tasks to them.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse
from dask.delayed import delayed
from numpy.typing import NDArray

from projected_kmeans.blocks import BLOCK_BYTES, as_native, as_native_sparse, compute_type
from projected_kmeans.dask_walks import OpenBlock, Workers, hold, walk_there
from projected_kmeans.results import Floats, Labels
from projected_kmeans.row_sources import RowSource, check_matrix
from projected_kmeans.stored_blocks import StoredBlocks, check_selected
from projected_kmeans.walks import Block, OnBlock, Task


class DaskBlocks:
    """The block source of rows that Dask's workers hold or read.

    Parameters
    ----------
    parts : sequence of Delayed or Future
        Rows of each block, none of them empty.
    lengths : sequence of int
        How many rows each has.
    n_columns : int
        d.
    dtype : dtype
        Of all blocks, one of `NATIVE_TYPES`.
    workers : Workers
        Who computes.
    nnz : int, optional
        Stored entries of sparse rows; None for dense ones.
    feature_names : tuple of str, optional
        Of the columns.
    chunks : tuple of int, optional
        Rows of each chunk of the array that was given, of which labels have the same.
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
        self._most_selected: int | None = None
        ends = list(itertools.accumulate(lengths))
        self._spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in memory, of sparse rows on average."""
        if self.nnz is None:
            return self.shape[1] * self.dtype.itemsize
        return (self.dtype.itemsize + 4) * self.nnz / self.shape[0] + 4

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._parts)

    def __iter__(self) -> Iterator[Block]:
        """Bring one block after the other here, from the first row to the last."""
        for span, part in self._blocks:
            (rows,) = self._workers.gather([delayed(_bring, pure=False)(part)])
            yield self._open_block(rows, span)

    def walk(self, *tasks: Task, on_block: OnBlock | None = None) -> None:
        """Do some tasks with every block, where it lies."""
        walk_there(self._blocks, self._open_block, tasks, self._workers, on_block)

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64, made dense: they must be few."""
        rows = self.select(indices)
        return np.asarray(rows.toarray() if self.sparse else rows, dtype=np.float64)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory as blocks have them, all of them by default.

        Blocks that hold none of them are not asked for.
        """
        n_rows = self.shape[0] if indices is None else len(indices)
        check_selected(n_rows, self.row_bytes, self._most_selected)
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
        rows = found[0] if len(found) == 1 else np.concatenate(found)
        return rows if np.array_equal(places, np.arange(len(places))) else rows[places]

    def resized(self, block_bytes: int, most_selected: int | None) -> DaskBlocks:
        """Return the same rows, of which no more bytes are selected; blocks stay as they are."""
        found = copy.copy(self)
        found._most_selected = most_selected
        return found

    def close(self) -> None:
        """Do nothing: what is computed is Dask's."""

    def new_rows(self, n_columns: int, dtype: np.dtype[Any]) -> DaskBlocks | None:
        """Return a place for as many rows beside these, which a walk is to fill.

        None where no cluster has memory of its own.
        """
        if self._workers.client is None:
            return None
        return DaskBlocks([], self._lengths, n_columns, dtype, self._workers)

    def hold(self, parts: Sequence[Any]) -> None:
        """Take what fills the place that this was."""
        self._parts = list(parts)

    def give_labels(self, labels: Labels) -> Any:
        """Return labels as the rows were given: a Dask array where they were one."""
        return labels if self._chunks is None else da.from_array(labels, chunks=(self._chunks,))

    @property
    def _blocks(self) -> list[tuple[slice, Any]]:
        return list(zip(self._spans, self._parts, strict=True))

    @property
    def _open_block(self) -> OpenBlock:
        return partial(_open_block, self.shape[1], self.dtype, self.sparse)


def _open_block(
    n_columns: int, dtype: np.dtype[Any], sparse: bool, rows: Any, span: slice
) -> Block:
    """Return what a worker has as rows that kernels read; raise where it is not what was said."""
    if scipy.sparse.issparse(rows) != sparse:
        raise ValueError(
            f"a block of X is {'dense' if sparse else 'sparse'} where its meta says otherwise; "
            "give X the meta that its blocks have, as map_blocks and from_delayed take it"
        )
    expected = (span.stop - span.start, n_columns)
    if rows.shape != expected:
        raise ValueError(
            f"a block of X has shape {rows.shape} where its chunks say {expected}; give X the "
            "chunks that it has, such as by X.compute_chunk_sizes()"
        )
    if sparse:
        return Block(span.start, as_native_sparse(rows).astype(dtype, copy=False))
    return Block(span.start, np.ascontiguousarray(as_native(np.asarray(rows)), dtype=dtype))


def _pick(open_block: OpenBlock, rows: Any, span: slice, indices: NDArray[np.int64]) -> Any:
    return open_block(rows, span).rows[indices - span.start]


def _bring(rows: Any) -> Any:
    return rows


def open_collection(X: Any, client: Any = None) -> DaskBlocks:
    """Return the block source of a Dask array or a Dask data frame.

    Where its lengths are unknown, or its blocks are sparse, all blocks are computed once to be
    counted.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame (n, d)
        Rows. Several chunks of columns are joined.
    client : distributed.Client, optional
        Who computes; by default whom Dask would ask.
    """
    array, workers = as_matrix(X), Workers.find(client)
    dtype = native_type(array)
    parts = list(array.to_delayed().ravel())
    lengths, nnz = [*array.chunks[0]], None
    if is_sparse(array) or any(np.isnan(length) for length in lengths):
        counted = workers.gather([delayed(_count, pure=False)(part) for part in parts])
        lengths = [rows for rows, _ in counted]
        nnz = sum(stored for _, stored in counted) if is_sparse(array) else None
    if not sum(lengths):
        raise ValueError(f"X has shape (0, {array.shape[1]}); give at least one row")
    filled = [(part, int(length)) for part, length in zip(parts, lengths, strict=True) if length]
    return DaskBlocks(
        [part for part, _ in filled],
        [length for _, length in filled],
        array.shape[1],
        dtype,
        workers,
        nnz=nnz,
        feature_names=names_of(X),
        chunks=tuple(int(length) for length in lengths),
    )


def open_source(source: RowSource, client: Any) -> DaskBlocks:
    """Return the block source of files that the workers of a cluster read, each its ranges.

    Parameters
    ----------
    source : RowSource
        Pickled it tells workers where the data is, so that they must see the same files.
    client : distributed.Client
        Of the cluster.
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


def map_rows(
    X: Any, function: Callable[[Block], NDArray[Any]], n_columns: int | None, dtype: np.dtype[Any]
) -> Any:
    """Return the Dask array of what a function makes of each block, chunked as the rows are.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame (n, d)
        Rows; nothing is computed before the result is.
    function : callable
        From a block to one row, or one number, for each of its rows.
    n_columns : int or None
        Columns of the result; None for a vector.
    dtype : dtype
        Of the result.
    """
    array = as_matrix(X)
    work = hold(partial(_map_block, function, array.shape[1], native_type(array), is_sparse(array)))
    run = delayed(_call, pure=False)
    width = () if n_columns is None else (n_columns,)
    lengths, start, made = array.chunks[0], 0, []
    for index, (part, length) in enumerate(zip(array.to_delayed().ravel(), lengths, strict=True)):
        begin = None if np.isnan(start) else int(start)
        value = run(work, part, index, begin)
        made.append(da.from_delayed(value, (length, *width), dtype=dtype))
        start += length
    return da.concatenate(made, allow_unknown_chunksizes=True)


def _map_block(
    function: Callable[[Block], NDArray[Any]],
    n_columns: int,
    dtype: np.dtype[Any],
    sparse: bool,
    rows: Any,
    index: int,
    start: int | None,
) -> NDArray[Any]:
    first = start or 0
    try:
        return function(
            _open_block(n_columns, dtype, sparse, rows, slice(first, first + rows.shape[0]))
        )
    except ValueError as error:
        if start is not None:
            raise
        raise ValueError(f"in block {index}, whose rows are counted from 0, {error}") from None


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def bring(vector: Any, client: Any = None) -> NDArray[Any]:
    """Return a Dask array, such as of weights, in memory."""
    (found,) = Workers.find(client).gather([delayed(np.asarray, pure=False)(vector)])
    return np.asarray(found)


def as_matrix(X: Any) -> Any:
    """Return a Dask array of whole rows; raise where X is none."""
    if not isinstance(X, da.Array):
        if not hasattr(X, "to_dask_array"):
            raise TypeError(
                f"X is a {type(X).__module__}.{type(X).__name__}; give a dask.array or a "
                "dask.dataframe"
            )
        X = X.to_dask_array()
    if X.ndim == 2 and np.isnan(X.shape[1]):
        raise ValueError(
            "X has an unknown number of columns; give it the chunks that it has, such as by "
            "X.compute_chunk_sizes()"
        )
    check_matrix((1 if np.isnan(X.shape[0]) else X.shape[0], *X.shape[1:]), X.dtype, "X")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, where all are text."""
    names = list(getattr(X, "columns", ()))
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


def is_sparse(array: Any) -> bool:
    """Return whether the blocks of a Dask array are said to be sparse."""
    return bool(scipy.sparse.issparse(array._meta))


def native_type(array: Any) -> np.dtype[Any]:
    """Return the element type in which kernels read a Dask array."""
    native = as_native(np.empty(0, array.dtype)).dtype
    return compute_type(native) if is_sparse(array) else native


def _count(rows: Any) -> tuple[int, int]:
    return int(rows.shape[0]), int(getattr(rows, "nnz", 0))


def _read(source: RowSource, start: int, stop: int) -> Any:
    return source.read(start, stop)
