"""Tasks: what a kernel gets of its arrays, here and on Dask, and what becomes of its results."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import (
    RANKED,
    Block,
    Role,
    Task,
    add,
    fill,
    first,
    maximum,
    merge_ranked,
    minimum,
    prepare,
    read,
    update,
)
from tests.support.block_sources import CUTS, ROWS, here, there


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
    """Kernels read, update and fill the parts for their rows; totals go on from what they were."""
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


def list_first(block: Block, lists: NDArray[Any]) -> None:
    """Rank the rows of a block by the entries of their first column."""
    own = np.array([(key, block.start + row) for row, key in enumerate(block.rows[:, 0])], RANKED)
    merge_ranked(lists, own, out=lists)


@pytest.mark.parametrize("open_source", [here, there])
def test_lists_keep_the_first_rows(open_source: Any) -> None:
    """Lists of blocks merge to the rows that come first by key, and by index where keys tie."""
    lists = Role.FIRST.empty((5,), RANKED)
    open_source().walk(Task(list_first, (first(lists),)))
    expected = np.lexsort((np.arange(50), ROWS[:, 0]))[:5]
    assert lists["row"].tolist() == expected.tolist()
    assert lists["key"].tolist() == ROWS[expected, 0].tolist()


def test_tasks_that_change_rows_first_share_the_changed_rows() -> None:
    """Each kernel of a prepared task gets the changed rows, and its own arrays."""
    column, total = np.zeros(50), np.zeros(3)
    tasks = [
        Task(lambda block, out: np.copyto(out, block.rows[:, 0]), (fill(column),)),
        Task(lambda block, out: np.add(out, block.rows.sum(axis=0), out=out), (add(total),)),
    ]
    here().walk(prepare(lambda rows: 2 * rows, tasks))
    np.testing.assert_array_equal(column, 2 * ROWS[:, 0])
    np.testing.assert_array_equal(total, 2 * ROWS.sum(axis=0))
