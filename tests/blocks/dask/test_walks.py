"""Walks over blocks on Dask: what travels, what comes back, and what errors become."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.blocks.dask.walks import Arrays
from projected_kmeans.blocks.tasks import Block, Task, fill, read, update
from tests.support.block_sources import there


def keep(block: Block, state: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy what a task before has updated."""
    out[:] = state


def test_a_walk_there_begins_at_the_first_row() -> None:
    """A walk over rows on Dask cannot begin at a later row."""
    with pytest.raises(ValueError, match="first=7, but a walk over rows on Dask begins at row 0"):
        there().walk(Task(keep), first=7)


def test_an_array_travels_once_however_many_tasks_use_it() -> None:
    """An array that two tasks use is sent once; labels are sent in the narrowest type."""
    labels = np.arange(50, dtype=np.int32)
    tasks = [Task(keep, (read(labels), fill(np.empty(50)))), Task(keep, (update(labels),))]
    arrays = Arrays(tasks, lambda rows, span: Block(span.start, rows))
    assert len(arrays.work.slots) == 2
    (sent,) = arrays.send(0, slice(0, 50))
    assert sent.dtype == np.uint8
    labels[3] = 300
    (sent,) = arrays.send(0, slice(0, 50))
    assert sent.dtype == np.uint16
    labels[3] = -1
    (sent,) = arrays.send(0, slice(0, 50))
    assert sent.dtype == np.int32
    assert (sent == labels).all()


def test_errors_of_kernels_are_reported() -> None:
    """Of several bad blocks the first in the order of rows is reported; other errors stay."""

    def refuse(block: Block) -> None:
        raise ValueError(f"bad from {block.start} on")

    def fail(block: Block) -> None:
        raise ZeroDivisionError(block.start)

    with pytest.raises(ValueError, match="bad from 0 on"):
        there().walk(Task(refuse))
    with pytest.raises(ZeroDivisionError):
        there().walk(Task(fail))


def test_workers_get_no_array_of_all_rows() -> None:
    """What every worker gets holds no array with an entry for each row."""
    big = np.zeros(10**6)
    arrays = Arrays([Task(keep, (read(big), fill(np.empty(10**6))))], there().walk)
    assert len(pickle.dumps((arrays.work.slots, arrays.work.tasks))) < 1000
