"""READ: walks over blocks on Dask: tasks are sent to the blocks, results are brought back.

`walk_there` is the Dask way of `BlockSource.walk`. The arrays of the tasks are taken apart into
what all blocks share (`Work`), which is sent to each worker once, and the parts of each block
(`Arrays.send`). Each block returns an `Outcome`; totals are merged on the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from projected_kmeans.blocks.dask.block_work import (
    Failure,
    OpenBlock,
    Outcome,
    Slot,
    Work,
    pack_labels,
)
from projected_kmeans.blocks.dask.workers import Workers, hold
from projected_kmeans.blocks.tasks import OnBlock, Role, Task, Use
from projected_kmeans.sources.mapped_files import check_file

# The totals of eight blocks are merged on one worker before the result travels on.
MERGED = 8

# Without a cluster, at most 64 blocks are computed together, because their results are all held
# in the memory of this process.
TOGETHER = 64


class Arrays:
    """The arrays of some tasks in this process, each once, even if several tasks use it.

    ``work`` is what the workers get.
    """

    def __init__(self, tasks: Sequence[Task], open_block: OpenBlock) -> None:
        self.uses: list[Use] = []
        self._indices: dict[Any, int] = {}
        indexed = tuple(
            (task.kernel, tuple(self._index(use) for use in task.uses)) for task in tasks
        )
        self.work = Work(indexed, tuple(_describe(use) for use in self.uses), open_block)

    def send(self, index: int, span: slice) -> list[Any]:
        """Return what kernels read for a block: parts that travel, or futures of those there."""
        roles = (Role.READ, Role.UPDATE)
        return [
            use.array.parts[index] if _stays(use) else pack_labels(use.array[span])
            for use in self.uses
            if use.role in roles
        ]

    def bring(self, span: slice, parts: Sequence[NDArray[Any]]) -> None:
        """Write the parts that a block returned into their arrays."""
        back = [use for use in self.uses if _describe(use).comes_back]
        for use, part in zip(back, parts, strict=True):
            use.array[span] = part

    def merge(self, totals: list[NDArray[Any]] | Failure) -> None:
        """Merge the totals of blocks into their arrays, or raise the error of bad rows."""
        if isinstance(totals, Failure):
            raise totals.error
        for use, part in zip(
            [use for use in self.uses if not use.role.of_rows], totals, strict=True
        ):
            use.role.merge(use.array, part)

    @property
    def kept(self) -> list[Any]:
        """The arrays that a walk writes and whose parts stay on the workers."""
        return [use.array for use in self.uses if _describe(use).is_kept]

    @property
    def bring_any(self) -> bool:
        """Whether parts of arrays come back."""
        return any(_describe(use).comes_back for use in self.uses)

    def _index(self, use: Use) -> int | None:
        """Return the index of an array among all uses; None if there is no array.

        An array that one task reads and another writes gets one use that does both.
        """
        if use.array is None:
            return None
        key = _identity(use.array)
        index = self._indices.setdefault(key, len(self.uses))
        if index == len(self.uses):
            self.uses.append(use)
        elif self.uses[index].role is Role.READ and use.role is not Role.READ:
            self.uses[index] = Use(Role.UPDATE, use.array)
        return index


def _identity(array: Any) -> Any:
    """Return what two uses of the same array have in common, also if they are different views."""
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
    """Do some tasks with every block, given as the range of its rows and a task or future of them.

    What tasks fill may be new rows that stay on the workers. Blocks end in any order; ``on_block``
    is called after each with the number of rows done.
    """
    arrays = Arrays(tasks, open_block)
    together = len(blocks) if workers.client is not None else TOGETHER
    done, numbered = 0, list(enumerate(blocks))
    for first in range(0, len(blocks), together):
        group = numbered[first : first + together]
        for n_rows in _walk_group(group, arrays, workers, told=on_block is not None):
            done += n_rows
            if on_block is not None:
                on_block(done)


def _walk_group(
    blocks: Sequence[tuple[int, tuple[slice, Any]]],
    arrays: Arrays,
    workers: Workers,
    *,
    told: bool,
) -> Iterator[int]:
    """Send tasks to some blocks; yield the number of rows of each when its results are here.

    If nothing comes back of a block and nobody wants to be told, only the totals arrive.
    """
    work = hold(arrays.work)
    run, pick_rows, pick_totals = (
        delayed(one, pure=False) for one in (_run, _pick_rows, _pick_totals)
    )
    outcomes = [run(work, rows, span, *arrays.send(index, span)) for index, (span, rows) in blocks]
    totals = _merge_all(work, [pick_totals(outcome) for outcome in outcomes])
    wanted = [totals]
    if told or arrays.bring_any:
        wanted += [pick_rows(outcome) for outcome in outcomes]
    if arrays.kept:
        found = _compute_and_keep(wanted, outcomes, arrays, workers)
    else:
        found = workers.results(wanted)
    for place, result in found:
        if place == 0:
            arrays.merge(result)
        else:
            span = blocks[place - 1][1][0]
            if result:  # empty if nothing comes back, and if rows are bad, which the totals say
                arrays.bring(span, result)
            yield span.stop - span.start


def _compute_and_keep(
    wanted: Sequence[Delayed], outcomes: Sequence[Delayed], arrays: Arrays, workers: Workers
) -> Iterator[tuple[int, Any]]:
    """Yield results as `Workers.results` does; what stays on the workers becomes the new parts."""
    keep, kept = delayed(_keep, pure=False), arrays.kept
    parts = [keep(outcome, place) for place in range(len(kept)) for outcome in outcomes]
    futures = workers.submit([*wanted, *parts])
    yield from workers.results_of(futures[: len(wanted)])
    for place, array in enumerate(kept):
        begin = len(wanted) + place * len(outcomes)
        array.hold(futures[begin : begin + len(outcomes)])


def _merge_all(work: Delayed, totals: list[Delayed]) -> Delayed:
    """Return the task that merges the totals of all blocks, by a tree of merges."""
    merge = delayed(_merge, pure=False)
    while True:
        totals = [merge(work, totals[i : i + MERGED]) for i in range(0, len(totals), MERGED)]
        if len(totals) == 1:
            return totals[0]


def _run(work: Work, rows: Any, span: slice, *sent: Any) -> Outcome:
    outcome = work.run(rows, span, sent)
    check_file(rows)
    return outcome


def _pick_rows(outcome: Outcome) -> list[NDArray[Any]]:
    return outcome.rows


def _pick_totals(outcome: Outcome) -> Any:
    return outcome.totals


def _keep(outcome: Outcome, place: int) -> Any:
    return outcome.kept[place] if outcome.kept else None  # none if rows are bad


def _merge(work: Work, totals: Sequence[Any]) -> Any:
    return work.merge(totals)
