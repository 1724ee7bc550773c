"""READ: Dask arrays and data frames as block sources, and Dask arrays made from their blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
import scipy.sparse
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from projected_kmeans.blocks.dask.block_work import OpenBlock
from projected_kmeans.blocks.dask.blocks import DaskBlocks, open_block
from projected_kmeans.blocks.dask.workers import Workers, hold
from projected_kmeans.blocks.element_types import as_native, compute_type
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.messages import one_line
from projected_kmeans.sources.protocol import check_matrix


def open_collection(X: Any, client: Any = None) -> DaskBlocks:
    """Return the block source of a Dask array or a Dask data frame.

    If the number of rows of a chunk is unknown, or chunks are sparse, all chunks are computed once
    to count their rows and stored entries. By default whatever Dask would use computes.
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


def map_rows(
    X: Any, function: Callable[[Block], NDArray[Any]], n_columns: int | None, dtype: np.dtype[Any]
) -> Any:
    """Return the Dask array of the results of a function for each block of rows.

    It has the chunks of the rows, and ``n_columns`` columns; None for a vector. Nothing is computed
    until the result is.
    """
    array = as_matrix(X)
    opened = partial(open_block, array.shape[1], native_type(array), is_sparse(array))
    width = () if n_columns is None else (n_columns,)
    work = hold(partial(_map_block, function, opened, np.empty((0, *width), dtype)))
    starts = [0.0, *itertools.accumulate(array.chunks[0])]
    run = delayed(_call, pure=False)
    made = [
        run(work, part, index, None if np.isnan(start) else int(start))
        for index, (part, start) in enumerate(zip(array.to_delayed().ravel(), starts, strict=False))
    ]
    name = f"rows-{uuid4().hex}"
    places = itertools.product(range(len(made)), *[(0,) for _ in width])
    layer = {(name, *place): (_return, one.key) for place, one in zip(places, made, strict=True)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=made)
    chunks = (array.chunks[0], *[(size,) for size in width])
    return da.Array(graph, name, chunks, dtype=dtype)


def _map_block(
    function: Callable[[Block], NDArray[Any]],
    opened: OpenBlock,
    empty: NDArray[Any],
    rows: Any,
    index: int,
    start: int | None,
) -> NDArray[Any]:
    if not rows.shape[0]:
        return empty
    first = start or 0
    try:
        return function(opened(rows, slice(first, first + rows.shape[0])))
    except ValueError as error:
        if start is not None:
            raise
        # The place of the block among all rows is unknown, so the row is counted within the block.
        raise ValueError(
            f"in block {index}, whose rows are counted from 0, {one_line(str(error))}"
        ) from None


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _return(value: Any) -> Any:
    return value


def bring(vector: Any, client: Any = None) -> NDArray[Any]:
    """Return a Dask array, such as weights, as an array in memory."""
    (found,) = Workers.find(client).gather([delayed(np.asarray, pure=False)(vector)])
    return np.asarray(found)


def as_matrix(X: Any) -> Any:
    """Return X as a Dask array whose chunks hold whole rows; raise if that is not possible."""
    if not isinstance(X, da.Array):
        if isinstance(X, Delayed) or not hasattr(X, "to_dask_array"):
            raise TypeError(
                f"X is a {type(X).__module__}.{type(X).__name__}; give a dask.array or a "
                "dask.dataframe"
            )
        X = X.to_dask_array()
    if X.ndim == 2 and np.isnan(X.shape[1]):
        raise ValueError(
            "X has an unknown number of columns; set the right chunks, such as by "
            "X.compute_chunk_sizes()"
        )
    check_matrix((1 if np.isnan(X.shape[0]) else X.shape[0], *X.shape[1:]), X.dtype, "X")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, if all of them are text."""
    names = list(getattr(X, "columns", ()))
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


def is_sparse(array: Any) -> bool:
    """Return whether the meta of a Dask array says that its chunks are sparse."""
    return bool(scipy.sparse.issparse(array._meta))


def native_type(array: Any) -> np.dtype[Any]:
    """Return the element type in which kernels read a Dask array."""
    native = as_native(np.empty(0, array.dtype)).dtype
    return compute_type(native) if is_sparse(array) else native


def _count(rows: Any) -> tuple[int, int]:
    return int(rows.shape[0]), int(getattr(rows, "nnz", 0))
