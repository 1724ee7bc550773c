"""READ: what a Dask worker does with one block of rows, and what it returns."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block, Role

# Takes the rows that a worker has, and their range among all rows; returns a block for kernels.
OpenBlock: TypeAlias = Callable[[Any, slice], Block]


class Slot(NamedTuple):
    """An array of a walk as workers know it: without its entries."""

    role: Role
    shape: tuple[int, ...]  # of a total; of an array with an entry for each row, that of one entry
    dtype: np.dtype[Any]
    stays: bool  # whether parts stay on the workers (`new_rows`, `new_row_array`)

    @property
    def comes_back(self) -> bool:
        """Whether a kernel writes parts of the array that travel back."""
        return self.role in (Role.UPDATE, Role.FILL) and not self.stays

    @property
    def is_kept(self) -> bool:
        """Whether a kernel writes parts of the array that stay where they are."""
        return self.role in (Role.UPDATE, Role.FILL) and self.stays


class Constant(NamedTuple):
    """A part of an array whose entries are all the same; each worker makes it for itself."""

    value: Any


class Failure(NamedTuple):
    """What is wrong with the rows of a block: its first row, and the error of the kernel."""

    start: int
    error: ValueError


class Outcome(NamedTuple):
    """The results of one block."""

    rows: list[NDArray[Any]]  # parts of arrays with an entry for each row, which travel back
    kept: list[NDArray[Any]]  # parts that stay on the worker
    totals: list[NDArray[Any]] | Failure  # over the rows of the block, unless these are bad


@dataclass(frozen=True)
class Work:
    """The tasks of a walk without the entries of their arrays; sent to every worker once."""

    # For each task its kernel and, for each of its arrays, the index among the slots; None if the
    # kernel gets None.
    tasks: tuple[tuple[Any, tuple[int | None, ...]], ...]
    slots: tuple[Slot, ...]  # the arrays, each once, even if several tasks use it
    open_block: OpenBlock

    def run(self, rows: Any, span: slice, sent: Sequence[Any]) -> Outcome:
        """Do the tasks with one block; ``sent`` holds the parts that kernels read or update."""
        left = iter(sent)
        parts = [_open_part(slot, span.stop - span.start, left) for slot in self.slots]
        try:
            block = self.open_block(rows, span)
            for kernel, indices in self.tasks:
                kernel(block, *[None if index is None else parts[index] for index in indices])
        except ValueError as error:  # bad rows; Dask reports all other errors
            return Outcome([], [], Failure(span.start, error))
        made = list(zip(self.slots, parts, strict=True))
        return Outcome(
            [pack_labels(part) for slot, part in made if slot.comes_back],
            [part for slot, part in made if slot.is_kept],
            [part for slot, part in made if not slot.role.of_rows],
        )

    def merge(self, found: Sequence[Any]) -> Any:
        """Return the merged totals of some blocks, or the first failure in the order of rows."""
        failures = [one for one in found if isinstance(one, Failure)]
        if failures:
            return min(failures, key=lambda failure: failure.start)
        slots = [slot for slot in self.slots if not slot.role.of_rows]
        merged = [slot.role.empty(slot.shape, slot.dtype) for slot in slots]
        for parts in found:
            for slot, into, part in zip(slots, merged, list(parts), strict=True):
                slot.role.merge(into, part)
        return merged

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all arrays inside: Dask puts those that travel beside it at any address."""
        return _unpickle, (cloudpickle.dumps((self.tasks, self.slots, self.open_block)),)


def _unpickle(document: bytes) -> Work:
    return Work(*pickle.loads(document))


def _open_part(slot: Slot, n_rows: int, sent: Iterator[Any]) -> NDArray[Any]:
    if slot.role is Role.FILL:
        return np.empty((n_rows, *slot.shape), slot.dtype)
    if not slot.role.of_rows:
        return slot.role.empty(slot.shape, slot.dtype)
    entries = open_entries(slot.shape, slot.dtype, next(sent), slice(0, n_rows)).rows
    return np.array(entries) if slot.role is Role.UPDATE else np.asarray(entries)


def open_entries(width: tuple[int, ...], dtype: np.dtype[Any], part: Any, span: slice) -> Block:
    """Return the part of an array with an entry of shape ``width`` for each row as a block.

    The part is a `Constant`, or an array, perhaps of a narrower type and at any address.
    """
    if isinstance(part, Constant):
        return Block(span.start, np.full((span.stop - span.start, *width), part.value, dtype))
    return Block(span.start, np.require(part, dtype, ["C", "A", "E"]))  # as kernels need it


def pack_labels(part: NDArray[Any]) -> NDArray[Any]:
    """Return labels in the narrowest integer type that holds them, so that less is sent."""
    if part.dtype != np.int32 or not part.size or part.min() < 0:
        return part
    return part.astype(np.min_scalar_type(int(part.max())))
