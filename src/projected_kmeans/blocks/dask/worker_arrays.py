"""READ: `WorkerArray`, an array with an entry for each row whose parts stay on the workers."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from projected_kmeans.blocks.dask.block_work import Constant, open_entries
from projected_kmeans.blocks.dask.walks import walk_there
from projected_kmeans.blocks.dask.workers import Workers, hold
from projected_kmeans.blocks.row_arrays import RowArray
from projected_kmeans.blocks.tasks import Task


class WorkerArray(RowArray):
    """An array with an entry for each row of some `DaskBlocks`, in parts for their blocks.

    A part is the future of a task, which Dask runs again if the worker that holds the part is lost.
    There must be a cluster. Entries, of shape ``width``, are ``fill`` before a walk writes them.
    """

    def __init__(
        self,
        spans: Sequence[slice],
        dtype: np.dtype[Any],
        width: tuple[int, ...],
        fill: Any,
        workers: Workers,
    ) -> None:
        self.shape, self.dtype = (spans[-1].stop, *width), dtype
        self._spans, self._workers = spans, workers
        self.parts: list[Any] = [Constant(fill)] * len(spans)

    def hold(self, parts: Sequence[Any]) -> None:
        """Keep the parts that a walk made in place of those before."""
        self.parts = list(parts)

    def copy(self) -> WorkerArray:
        """Return an array that shares the parts, because no part ever changes."""
        return copy.copy(self)

    def replace(self, other: Any) -> None:
        """Take over the entries of another array, on the workers or in this process."""
        if isinstance(other, WorkerArray):
            self.parts = other.parts
            return
        made = [hold(np.array(other[span], dtype=self.dtype)) for span in self._spans]
        self.parts = self._workers.submit(made)

    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the entries of a few rows; only these travel."""
        wanted, places = np.unique(rows, return_inverse=True)
        pick = delayed(_pick, pure=False)
        picked = [
            pick(self.parts[index], self._open, span, wanted[some] - span.start)
            for index, span, some in self._divide(wanted)
        ]
        found = [np.empty((0, *self.shape[1:]), self.dtype), *self._workers.gather(picked)]
        return np.asarray(np.concatenate(found)[places])

    def put(self, rows: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Set the entries of a few rows."""
        if not len(rows):
            return
        order = np.argsort(rows, kind="stable")
        rows, values = rows[order], values[order]
        change = delayed(_put, pure=False)
        hit = list(self._divide(rows))
        changed = [
            change(self.parts[index], self._open, span, rows[some] - span.start, values[some])
            for index, span, some in hit
        ]
        parts = list(self.parts)  # copies share the list
        for (index, _, _), part in zip(hit, self._workers.submit(changed), strict=True):
            parts[index] = part
        self.parts = parts

    def apply(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> WorkerArray:
        """Return the array of what a function makes of the entries."""
        work, call = hold(function), delayed(_apply, pure=False)
        made = [
            call(part, self._open, span, work)
            for part, span in zip(self.parts, self._spans, strict=True)
        ]
        found = self.copy()
        found.parts = self._workers.submit(made)
        return found

    def walk(self, *tasks: Task) -> None:
        """Do some tasks with blocks whose ``rows`` are the entries of this array."""
        blocks = list(zip(self._spans, self.parts, strict=True))
        walk_there(blocks, self._open, tasks, self._workers)

    def gather(self) -> NDArray[Any]:
        """Return all entries as an array in this process."""
        found, bring = np.empty(self.shape, self.dtype), delayed(_bring, pure=False)
        wanted = [
            bring(part, self._open, span)
            for part, span in zip(self.parts, self._spans, strict=True)
        ]
        for index, part in self._workers.results(wanted):
            found[self._spans[index]] = part
        return found

    def as_dask_array(self, chunks: Sequence[int]) -> Any:
        """Return the entries as a Dask array, whose chunks stay on the workers.

        Chunks have the rows of the blocks; chunks of 0 rows may lie between them.
        """
        name, bring = f"entries-{uuid4().hex}", delayed(_bring, pure=False)
        empty = np.empty((0, *self.shape[1:]), self.dtype)
        spans, made = iter(zip(self.parts, self._spans, strict=True)), []
        for length in chunks:
            part, span = next(spans) if length else (empty, slice(0, 0))
            made.append(bring(part, self._open, span))
        futures = self._workers.submit(made)
        layer = {(name, index): future for index, future in enumerate(futures)}
        found = da.Array(layer, name, (tuple(chunks),), dtype=self.dtype)
        # Only this cluster knows the chunks, also if it is not the one that Dask would ask.
        found.__dask_scheduler__ = self._workers.client.get
        return found

    @property
    def _open(self) -> Callable[..., Any]:
        return partial(open_entries, self.shape[1:], self.dtype)

    def _divide(self, rows: NDArray[np.int64]) -> list[tuple[int, slice, slice]]:
        """Return for each block with some of these ascending rows: its index, its rows, which."""
        stops = [span.stop for span in self._spans]
        cuts = np.searchsorted(rows, [0, *stops]).tolist()
        return [
            (index, self._spans[index], slice(first, last))
            for index, (first, last) in enumerate(itertools.pairwise(cuts))
            if last > first
        ]


def _pick(part: Any, opened: Any, span: slice, rows: NDArray[np.int64]) -> NDArray[Any]:
    found: NDArray[Any] = opened(part, span).rows[rows]
    return found


def _put(
    part: Any,
    opened: Any,
    span: slice,
    rows: NDArray[np.int64],
    values: NDArray[Any],
) -> NDArray[Any]:
    entries = np.array(opened(part, span).rows)
    entries[rows] = values
    return entries


def _apply(part: Any, opened: Any, span: slice, function: Any) -> NDArray[Any]:
    found: NDArray[Any] = function(opened(part, span).rows)
    return found


def _bring(part: Any, opened: Any, span: slice) -> NDArray[Any]:
    found: NDArray[Any] = opened(part, span).rows
    return found
