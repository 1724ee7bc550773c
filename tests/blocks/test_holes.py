"""Rows with holes: found in every form of rows, and left out of walks and selections."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.dask.collections import open_collection
from projected_kmeans.blocks.holes import Holes, drop_holes, find_holes, have_holes, leave_out
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.blocks.tasks import Block, Task, fill
from projected_kmeans.sources.array_source import as_row_source

MISSING = [0, 4, 5, 6, 7, 19]


@pytest.fixture
def rows() -> Any:
    """Return 20 rows of 3 numbers, of which six have a hole; one block of four has nothing else."""
    found = np.arange(60.0).reshape(20, 3)
    found[MISSING, [0, 1, 2, 0, 1, 2]] = np.nan
    return found


def open_as(form: str, rows: Any) -> BlockSource:
    """Return the rows as one of the block sources, in blocks of four rows."""
    if form == "array":
        return ArrayBlocks(rows, block_rows=4)
    if form == "sparse":
        return SparseBlocks(scipy.sparse.csr_array(rows), block_rows=4)
    if form == "stored":
        return StoredBlocks(as_row_source(rows), block_rows=4)
    return open_collection(da.from_array(rows, chunks=(4, 3)))


@pytest.mark.parametrize("form", ["array", "sparse", "stored", "dask"])
def test_complete_rows_are_those_without_nan(rows: Any, form: str) -> None:
    """Walks, blocks and selections give the rows that are complete, numbered without gaps."""
    source = open_as(form, rows)
    holes = find_holes(source)
    assert holes.rows.tolist() == MISSING
    kept, expected = leave_out(source, holes), rows[holes.complete]
    assert kept.shape == (14, 3)
    found = [(block.start, block.rows) for block in kept]
    dense = [part.toarray() if kept.sparse else part for _, part in found]
    np.testing.assert_array_equal(np.concatenate(dense), expected)
    assert [start for start, _ in found] == np.cumsum([0, *map(len, dense)])[:-1].tolist()
    sums = np.zeros(14)
    kept.walk(Task(_add_up, (fill(sums),)))
    np.testing.assert_array_equal(sums, expected.sum(axis=1))
    np.testing.assert_array_equal(kept.take(np.array([13, 0, 4])), expected[[13, 0, 4]])
    every = kept.select()
    np.testing.assert_array_equal(every.toarray() if kept.sparse else every, expected)


def _add_up(block: Block, out: Any) -> None:
    out[:] = np.asarray(block.rows.sum(axis=1)).ravel()


@pytest.mark.parametrize("first", range(14))
def test_a_walk_may_begin_at_any_complete_row(rows: Any, first: int) -> None:
    """A fit that continues asks for the rows from a complete row on."""
    source = open_as("stored", rows)
    kept = leave_out(source, find_holes(source))
    found = np.full(14, -1.0)
    kept.walk(Task(_add_up, (fill(found),)), first=first)
    expected = rows[find_holes(source).complete].sum(axis=1)
    np.testing.assert_array_equal(found, np.where(np.arange(14) < first, -1.0, expected))


def test_stored_entries_are_counted_without_lost_rows(rows: Any) -> None:
    """Plans of sparse rows in memory are those of the rows that are left."""
    source = open_as("sparse", rows)
    kept = leave_out(source, find_holes(source))
    assert kept.nnz == scipy.sparse.csr_array(rows[find_holes(source).complete]).nnz


def test_integers_have_no_holes_and_are_not_read() -> None:
    """Their source is given back as it is."""
    source = ArrayBlocks(np.ones((3, 2), np.uint8))
    assert leave_out(source, find_holes(source)) is source
    assert not have_holes(np.ones((3, 2), np.int8)).any()


def test_a_block_without_complete_rows_is_empty() -> None:
    """What is computed for no row is spread over all of them."""
    block, holes = drop_holes(Block(7, np.full((2, 3), np.nan)))
    assert block.rows.shape == (0, 3)
    assert holes.spread(np.empty(0, np.int32), -1).tolist() == [-1, -1]


def test_numbers_of_rows_are_translated_both_ways() -> None:
    """Find and renumber are inverse to each other on complete rows."""
    holes = Holes(np.array(MISSING), 20)
    complete = np.flatnonzero(holes.complete)
    np.testing.assert_array_equal(holes.find(np.arange(14)), complete)
    np.testing.assert_array_equal(holes.renumber(complete), np.arange(14))
