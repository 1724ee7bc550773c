"""READ: walks over blocks that Dask holds: tasks are sent to them, what they made is brought back.

Knows schedulers and graphs; rows and what is computed from them are others' business.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block, OnBlock, Role, Task, Use

# From what a worker has of some rows, and their place among all, to a block that kernels read.
OpenBlock: TypeAlias = Callable[[Any, slice], Block]

# Sums of so many blocks are merged where most of them lie before they travel on.
MERGED = 8

# Blocks whose results are in memory together where no cluster holds them.
TOGETHER = 64


@dataclass(frozen=True)
class Workers:
    """Who computes: a distributed cluster, or one of Dask's schedulers on this machine.

    Attributes
    ----------
    client : distributed.Client or None
        Of the cluster.
    scheduler : callable or None
        One of Dask's own; None for the default.
    """

    client: Any = None
    scheduler: Any = None

    @classmethod
    def find(cls, client: Any = None) -> Workers:
        """Return those of a client, or those that Dask would ask at this moment."""
        scheduler = dask.base.get_scheduler(scheduler=client)
        owner = getattr(scheduler, "__self__", None)
        return cls(owner) if owner is not None else cls(None, scheduler)

    def gather(self, wanted: Sequence[Delayed]) -> list[Any]:
        """Return the results of some tasks in their order."""
        found: list[Any] = [None] * len(wanted)
        for place, result in self.results(wanted):
            found[place] = result
        return found

    def results(self, wanted: Sequence[Delayed]) -> Iterator[tuple[int, Any]]:
        """Yield the results of some tasks, each with its place among them, as they come."""
        if self.client is None:
            yield from enumerate(dask.compute(*wanted, scheduler=self.scheduler))
            return
        yield from self.results_of(self.submit(wanted))

    def submit(self, wanted: Sequence[Delayed]) -> list[Any]:
        """Let a cluster begin; return its futures."""
        # What tasks read of rows is part of the graph, so that a lost task can be run again.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            futures: list[Any] = self.client.compute(list(wanted))
        return futures

    def results_of(self, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the results of futures, each with its place among them, as they come."""
        from distributed import as_completed

        places = {future.key: place for place, future in enumerate(futures)}
        for future, result in as_completed(futures, loop=self.client.loop, with_results=True):
            yield places.pop(future.key), result
            future.release()


class Slot(NamedTuple):
    """An array of a walk as workers know it: what is done with it, and its shape but for rows."""

    role: Role
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stays: bool


class Failure(NamedTuple):
    """What is wrong with the rows of a block."""

    start: int
    error: ValueError


class Outcome(NamedTuple):
    """What a block brought: parts of rows' arrays to bring back, those that stay, and sums."""

    rows: list[NDArray[Any]]
    kept: list[NDArray[Any]]
    totals: list[NDArray[Any]] | Failure


@dataclass(frozen=True)
class Work:
    """The tasks of a walk without their arrays: what travels to every worker once.

    Attributes
    ----------
    tasks : tuple
        Of each its kernel and the places of its arrays among the slots, None for no array.
    slots : tuple of Slot
        The arrays, each once.
    open_block : callable
        From what a worker has to a block.
    """

    tasks: tuple[tuple[Any, tuple[int | None, ...]], ...]
    slots: tuple[Slot, ...]
    open_block: OpenBlock

    def run(self, rows: Any, span: slice, sent: Sequence[NDArray[Any]]) -> Outcome:
        """Do the tasks with one block; ``sent`` has the parts that are read or updated."""
        left = iter(sent)
        parts = [_open_part(slot, span.stop - span.start, left) for slot in self.slots]
        try:
            block = self.open_block(rows, span)
            for kernel, places in self.tasks:
                kernel(block, *[None if place is None else parts[place] for place in places])
        except ValueError as error:  # bad rows; anything else is for Dask to tell
            return Outcome([], [], Failure(span.start, error))
        made = list(zip(self.slots, parts, strict=True))
        return Outcome(
            [_pack(part) for slot, part in made if _comes_back(slot)],
            [part for slot, part in made if slot.stays],
            [part for slot, part in made if not slot.role.of_rows],
        )

    def merge(self, found: Sequence[Any]) -> Any:
        """Return the sums of some blocks as one, or the first failure in the order of rows."""
        failures = [one for one in found if isinstance(one, Failure)]
        if failures:
            return min(failures, key=lambda failure: failure.start)
        slots = [slot for slot in self.slots if not slot.role.of_rows]
        merged = [slot.role.empty(slot.shape, slot.dtype) for slot in slots]
        for parts in found:
            for slot, into, part in zip(slots, merged, list(parts), strict=True):
                slot.role.merge(into, part)
        return merged


def _comes_back(slot: Slot) -> bool:
    return slot.role in (Role.UPDATE, Role.FILL) and not slot.stays


def _open_part(slot: Slot, n_rows: int, sent: Iterator[NDArray[Any]]) -> NDArray[Any]:
    if slot.role is Role.READ:
        return np.asarray(next(sent), dtype=slot.dtype)
    if slot.role is Role.UPDATE:
        return np.array(next(sent), dtype=slot.dtype)
    if slot.role is Role.FILL:
        return np.empty((n_rows, *slot.shape), slot.dtype)
    return slot.role.empty(slot.shape, slot.dtype)


def _pack(part: NDArray[Any]) -> NDArray[Any]:
    """Return labels in as few bytes as they need on their way."""
    if part.dtype != np.int32 or not part.size or part.min() < 0:
        return part
    return part.astype(np.min_scalar_type(int(part.max())))


class Arrays:
    """The arrays of some tasks, each once, however many tasks use it.

    Parameters
    ----------
    tasks : sequence of Task
        In the order in which they are done.
    open_block : callable
        As in `Work`.
    """

    def __init__(self, tasks: Sequence[Task], open_block: OpenBlock) -> None:
        self.uses: list[Use] = []
        self._places: dict[Any, int] = {}
        placed = tuple(
            (task.kernel, tuple(self._place(use) for use in task.uses)) for task in tasks
        )
        self.work = Work(placed, tuple(_describe(use) for use in self.uses), open_block)

    def send(self, span: slice) -> list[NDArray[Any]]:
        """Return what has to travel to the rows of a block."""
        roles = (Role.READ, Role.UPDATE)
        return [_pack(use.array[span]) for use in self.uses if use.role in roles]

    def bring(self, span: slice, parts: Sequence[NDArray[Any]]) -> None:
        """Put what a block's rows were given into its place."""
        back = [use for use in self.uses if _comes_back(_describe(use))]
        for use, part in zip(back, parts, strict=True):
            use.array[span] = part

    def merge(self, totals: list[NDArray[Any]] | Failure) -> None:
        """Take the sums of blocks in, or raise what is wrong with one."""
        if isinstance(totals, Failure):
            raise totals.error
        for use, part in zip(
            [use for use in self.uses if not use.role.of_rows], totals, strict=True
        ):
            use.role.merge(use.array, part)

    @property
    def places(self) -> list[Any]:
        """What is filled where it lies."""
        return [use.array for use in self.uses if _stays(use)]

    def _place(self, use: Use) -> int | None:
        if use.array is None:
            return None
        key = _identity(use.array)
        place = self._places.setdefault(key, len(self.uses))
        if place == len(self.uses):
            self.uses.append(use)
        elif self.uses[place].role is Role.READ and use.role is not Role.READ:
            self.uses[place] = Use(Role.UPDATE, use.array)
        return place


def _identity(array: Any) -> Any:
    if not isinstance(array, np.ndarray):
        return id(array)
    return array.__array_interface__["data"][0], array.shape, array.strides


def _stays(use: Use) -> bool:
    return not isinstance(use.array, np.ndarray)


def _describe(use: Use) -> Slot:
    shape = use.array.shape[1:] if use.role.of_rows else use.array.shape
    return Slot(use.role, tuple(shape), use.array.dtype, _stays(use))


def walk_there(
    blocks: Sequence[tuple[slice, Any]],
    open_block: OpenBlock,
    tasks: Sequence[Task],
    workers: Workers,
    on_block: OnBlock | None = None,
) -> None:
    """Do some tasks with every block where it lies.

    Parameters
    ----------
    blocks : sequence of (slice, Delayed or Future)
        Where the rows of each stand among all, and what holds them.
    open_block : callable
        From what holds rows, once it is computed, and their place to a `Block`.
    tasks : sequence of Task
        Done in their order with each block. What they fill may be a list of futures to be.
    workers : Workers
        Who does them.
    on_block : callable, optional
        Told how many rows are done, whichever they are.
    """
    arrays = Arrays(tasks, open_block)
    together = len(blocks) if workers.client is not None else TOGETHER
    done = 0
    for first in range(0, len(blocks), together):
        group = blocks[first : first + together]
        for n_rows in _walk_group(group, arrays, workers):
            done += n_rows
            if on_block is not None:
                on_block(done)


def _walk_group(
    blocks: Sequence[tuple[slice, Any]], arrays: Arrays, workers: Workers
) -> Iterator[int]:
    """Send tasks to some blocks; yield the number of rows of each, once its results are here."""
    work = hold(arrays.work)
    run = delayed(_run, pure=False)
    outcomes = [run(work, rows, span, arrays.send(span)) for span, rows in blocks]
    rows = [outcome[0] for outcome in outcomes]
    totals = _merge_all(work, [outcome[2] for outcome in outcomes])
    if not arrays.places:
        found = workers.results([*rows, totals])
    else:
        stay = [outcome[1] for outcome in outcomes]
        pick = delayed(operator.getitem, pure=False)
        kept = [pick(parts, place) for place in range(len(arrays.places)) for parts in stay]
        futures = workers.submit([*rows, totals, *kept])
        for place, array in enumerate(arrays.places):
            begin = len(rows) + 1 + place * len(rows)
            array.hold(futures[begin : begin + len(rows)])
        found = workers.results_of(futures[: len(rows) + 1])
    for place, result in found:
        if place == len(rows):
            arrays.merge(result)
        else:
            span = blocks[place][0]
            if result:  # empty also where rows are bad, which the sums tell
                arrays.bring(span, result)
            yield span.stop - span.start


def _merge_all(work: Delayed, totals: list[Delayed]) -> Delayed:
    merge = delayed(_merge, pure=False)
    while True:
        totals = [merge(work, totals[i : i + MERGED]) for i in range(0, len(totals), MERGED)]
        if len(totals) == 1:
            return totals[0]


def hold(value: Any) -> Delayed:
    """Return a value as a result of its own: it travels to a worker once, and can be remade."""
    return delayed(_return, pure=False)(value)


def _return(value: Any) -> Any:
    return value


def _run(work: Work, rows: Any, span: slice, sent: Sequence[NDArray[Any]]) -> Outcome:
    return work.run(rows, span, sent)


def _merge(work: Work, totals: Sequence[Any]) -> Any:
    return work.merge(totals)
