"""Arrays with an entry for each row, such as labels: in this process, or beside rows on Dask.

`BlockSource.new_row_array` makes one: a NumPy array for rows in this process, a `RowArray` where
rows lie on the workers of a cluster. Both are used in tasks alike. What a step does with all
entries outside of a walk goes through the functions here, which take either. Both are indexed
alike: ``array[rows]`` are the entries of a few rows, and ``array[...] = other`` overwrites all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from projected_kmeans.blocks.tasks import Block, Task, add, minimum, read


class RowArray(ABC):
    """An array with an entry for each row, whose parts lie beside the rows.

    The parts never change. A walk that updates the array, and `put`, replace parts by others, so
    that copies cost nothing. ``numpy.asarray`` brings all entries into this process.
    """

    shape: tuple[int, ...]  # the number of rows, and the shape of an entry
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @abstractmethod
    def copy(self) -> RowArray:
        """Return an array with the same entries, which later changes of this one leave alone."""

    @abstractmethod
    def replace(self, other: Any) -> None:
        """Take over the entries of another array of the same rows."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the entries of a few rows."""

    @abstractmethod
    def put(self, rows: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Set the entries of a few rows."""

    @abstractmethod
    def apply(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> RowArray:
        """Return the array of what a function makes of the entries, as many and of this type."""

    @abstractmethod
    def walk(self, *tasks: Task) -> None:
        """Do some tasks with blocks whose ``rows`` are the entries of this array."""

    @abstractmethod
    def gather(self) -> NDArray[Any]:
        """Return all entries as an array in this process."""

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the entries of a few rows."""
        return self.take(rows)

    def __setitem__(self, rows: Any, values: Any) -> None:
        """Set the entries of a few rows; with ``...`` take over those of another array."""
        if rows is Ellipsis:
            self.replace(values)
        else:
            self.put(rows, np.broadcast_to(values, (len(rows), *self.shape[1:])))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all entries as an array in this process."""
        return np.asarray(self.gather(), dtype)


def apply_to_entries(function: Callable[[NDArray[Any]], NDArray[Any]], array: Any) -> Any:
    """Return what a function makes of the entries; it must look at every entry alone.

    The function must be one that can be pickled.
    """
    return array.apply(function) if isinstance(array, RowArray) else function(array)


def walk_entries(array: Any, *tasks: Task) -> None:
    """Do some tasks with blocks whose ``rows`` are entries of an array."""
    if isinstance(array, RowArray):
        array.walk(*tasks)
        return
    for task in tasks:
        task.run(Block(0, array))


def find_first_rows(labels: Any, n_clusters: int) -> NDArray[np.int64]:
    """Return the index of the first row of each cluster; 0 for a cluster without rows."""
    first = np.full(n_clusters, len(labels), dtype=np.float64)
    walk_entries(labels, Task(_find_first, (minimum(first),)))
    return np.where(first < len(labels), first, 0).astype(np.int64)


def _find_first(block: Block, first: NDArray[np.float64]) -> None:
    found, start = np.full(len(first), np.inf), block.start
    # Of several values for one place NumPy keeps the last: here that of the first row.
    found[block.rows[::-1]] = np.arange(start + len(block.rows) - 1, start - 1, -1)
    np.minimum(first, found, out=first)


class ChangedEntries:
    """Counts the rows whose entries differ in two arrays, one of which a walk may write."""

    def __init__(self, one: Any, other: Any) -> None:
        self._one, self._other = one, other
        self._count = np.zeros(1, dtype=np.int64)
        self.task = Task(_count_changes, (add(self._count), read(one), read(other)))

    def __bool__(self) -> bool:
        """Return whether any entry differs."""
        return bool(self._count[0])

    def find_rows(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the rows whose entries differ now, and their entries in the other array."""
        rows = np.flatnonzero(np.asarray(self._one) != np.asarray(self._other))
        return rows, self._other[rows]


def _count_changes(
    block: Block, count: NDArray[np.int64], one: NDArray[Any], other: NDArray[Any]
) -> None:
    count[0] += np.count_nonzero(one != other)
