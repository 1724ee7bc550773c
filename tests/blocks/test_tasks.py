"""Walks: what a kernel is handed, here and elsewhere, and what becomes of what it made."""

from __future__ import annotations

import itertools
import pickle
from functools import partial
from typing import Any

import dask
import numpy as np
import pytest
import scipy.sparse
from dask.delayed import delayed
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.checked_blocks import CheckedBlocks
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.dask.blocks import DaskBlocks
from projected_kmeans.blocks.dask.walks import Arrays
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, PickedRows, SparseBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.blocks.tasks import Block, Task, add, fill, maximum, minimum, read, update
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.sources.array_source import as_row_source

ROWS = np.random.default_rng(0).integers(-9, 9, size=(50, 3)).astype(np.float64)
CUTS = (0, 7, 8, 30, 50)


def here() -> BlockSource:
    """Return rows in blocks of this process."""
    return ArrayBlocks(ROWS, 7)


def there() -> BlockSource:
    """Return the same rows in uneven blocks that Dask holds."""
    spans = list(itertools.pairwise(CUTS))
    parts = [delayed(np.array)(ROWS[first:last]) for first, last in spans]
    lengths = [last - first for first, last in spans]
    return DaskBlocks(parts, lengths, 3, ROWS.dtype, Workers(None, dask.get))


def use_all(
    factor: float,
    block: Block,
    given: NDArray[Any],
    nothing: None,
    state: NDArray[Any],
    made: NDArray[Any],
    total: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
) -> None:
    """Use an array in every role."""
    assert nothing is None
    state += given
    made[:] = factor * block.rows + block.start
    total += block.rows.sum(axis=0)
    np.minimum(low, block.rows.min(axis=0), out=low)
    np.maximum(high, block.rows.max(axis=0), out=high)


def keep(block: Block, state: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy what a task before has updated."""
    out[:] = state


@pytest.mark.parametrize("open_source", [here, there])
def test_every_role(open_source: Any) -> None:
    """Rows' parts are read, updated and filled; sums and ranges go on from what they were."""
    given, state = np.arange(50), np.arange(50, dtype=np.int32)
    made, seen = np.empty((50, 3)), np.empty(50, dtype=np.int32)
    total, low, high = np.ones(3), np.full(3, -1.0), np.zeros(3)
    uses = (
        read(given),
        read(None),
        update(state),
        fill(made),
        add(total),
        minimum(low),
        maximum(high),
    )
    done: list[int] = []
    source = open_source()
    tasks = (Task(partial(use_all, 2.0), uses), Task(keep, (read(state), fill(seen))))
    source.walk(*tasks, on_block=done.append)
    assert done == ([*range(7, 50, 7), 50] if open_source is here else list(CUTS[1:]))
    assert (state == 2 * given).all()
    assert (seen == state).all()
    starts = np.concatenate([[block.start] * len(block.rows) for block in source])
    assert (made == 2 * ROWS + starts[:, None]).all()
    assert (total == 1 + ROWS.sum(axis=0)).all()
    assert (low == np.minimum(-1, ROWS.min(axis=0))).all()
    assert (high == np.maximum(0, ROWS.max(axis=0))).all()


@pytest.mark.parametrize(
    "source",
    [
        here(),
        SparseBlocks(scipy.sparse.csr_array(ROWS), 7),
        PickedRows(here(), np.arange(50)),
        StoredBlocks(as_row_source(ROWS), 7),
        UnitRows(here()),
    ],
    ids=lambda source: type(source).__name__,
)
@pytest.mark.parametrize("first", [1, 7, 30, 49, 50])
def test_a_walk_may_begin_later(source: BlockSource, first: int) -> None:
    """A walk over the first rows and one over the others do what one over all does."""
    whole, parts, rest = np.zeros(3), np.zeros(3), np.zeros(50)
    source.walk(Task(add_squares, (add(whole), fill(np.empty(50)))))
    done: list[int] = []
    source.walk(Task(add_squares, (add(parts), fill(rest))), first=first, on_block=done.append)
    assert done[-1:] == ([] if first == 50 else [50])
    assert all(stop > first for stop in done)
    assert (rest[:first] == 0).all()
    rows = UnitRows(here()).select() if isinstance(source, UnitRows) else ROWS
    np.testing.assert_array_equal(rest[first:], np.sum(rows[first:] ** 2, axis=1))
    np.testing.assert_allclose(parts + np.sum(rows[:first] ** 2, axis=0), whole, rtol=1e-14)


def add_squares(block: Block, total: NDArray[Any], out: NDArray[Any]) -> None:
    """Add squares of a block's numbers by column, and keep their sums by row."""
    rows = block.rows.toarray() if scipy.sparse.issparse(block.rows) else block.rows
    total += np.sum(rows**2, axis=0)
    out[:] = np.sum(rows**2, axis=1)


def test_a_look_at_rows_goes_on() -> None:
    """Ranges of rows that were looked at before are those of all in the end."""
    checked = CheckedBlocks(here())
    checked.resume(scan_columns(ArrayBlocks(ROWS[:20])))
    checked.check(lambda done: None, first=20)
    expected = scan_columns(here())
    np.testing.assert_array_equal(checked.ranges.minimum, expected.minimum)
    np.testing.assert_array_equal(checked.ranges.maximum, expected.maximum)
    assert checked.ranges.squared_norm == expected.squared_norm


def test_a_walk_there_begins_at_the_first_row() -> None:
    """Blocks that lie elsewhere are walked over as a whole, or not at all."""
    with pytest.raises(ValueError, match="first=7, but a walk over rows on Dask begins at row 0"):
        there().walk(Task(keep), first=7)


@pytest.mark.parametrize("open_source", [here, there])
def test_wrappers_pass_tasks_on(open_source: Any) -> None:
    """Rows are looked at before, and brought to length one for, the tasks of a wrapped walk."""
    checked, made = CheckedBlocks(open_source()), np.empty((50, 3))
    unit = UnitRows(checked)
    unit.walk(Task(lambda block, out: np.copyto(out, block.rows), (fill(made),)))
    np.testing.assert_allclose(made, unit.select())
    ranges = scan_columns(here())
    assert (checked.ranges.minimum == ranges.minimum).all()
    assert (checked.ranges.maximum == ranges.maximum).all()
    assert checked.ranges.squared_norm == ranges.squared_norm
    assert unit.distant == checked.distant == (open_source is there)


def test_an_array_travels_once_however_many_tasks_use_it() -> None:
    """What two tasks use is one array on its way, labels in as few bytes as they need."""
    labels = np.arange(50, dtype=np.int32)
    tasks = [Task(keep, (read(labels), fill(np.empty(50)))), Task(keep, (update(labels),))]
    arrays = Arrays(tasks, lambda rows, span: Block(span.start, rows))
    assert len(arrays.work.slots) == 2
    (sent,) = arrays.send(slice(0, 50))
    assert sent.dtype == np.uint8
    labels[3] = 300
    (sent,) = arrays.send(slice(0, 50))
    assert sent.dtype == np.uint16
    labels[3] = -1
    (sent,) = arrays.send(slice(0, 50))
    assert sent.dtype == np.int32
    assert (sent == labels).all()


def test_what_a_kernel_breaks_is_told_as_it_is() -> None:
    """Bad rows are one sentence, the first of all; other errors are those of the kernel."""

    def refuse(block: Block) -> None:
        raise ValueError(f"bad from {block.start} on")

    def fail(block: Block) -> None:
        raise ZeroDivisionError(block.start)

    with pytest.raises(ValueError, match="bad from 0 on"):
        there().walk(Task(refuse))
    with pytest.raises(ZeroDivisionError):
        there().walk(Task(fail))


def test_the_work_of_a_walk_is_small() -> None:
    """What goes to workers holds no array that has an entry a row."""
    big = np.zeros(10**6)
    arrays = Arrays([Task(keep, (read(big), fill(np.empty(10**6))))], there().walk)
    assert len(pickle.dumps((arrays.work.slots, arrays.work.tasks))) < 1000
