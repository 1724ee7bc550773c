"""What all block sources can do, wherever their rows lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import CheckedBlocks
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, PickedRows, SparseBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.blocks.tasks import Block, Task, add, fill
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.sources.array_source import as_row_source
from tests.support.block_sources import ROWS, here, there
from tests.support.stored_rows import reading_threads


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
    """A walk from a later row on leaves out the rows before it and no others."""
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


def sparse_rows() -> SparseBlocks:
    """Return the rows in memory as CSR."""
    return SparseBlocks(scipy.sparse.csr_array(ROWS), 7)


def stored_rows() -> StoredBlocks:
    """Return the rows as blocks of a row source."""
    return StoredBlocks(as_row_source(ROWS), 7)


def test_sources_say_where_their_rows_lie() -> None:
    """Rows are in memory, or read from storage, or in other processes; wrappers say the same."""
    for open_source, resident, distant, stored in (
        (here, True, False, 0),
        (sparse_rows, True, False, 0),
        (stored_rows, False, False, 3 * 8),
        (there, False, True, 0),
    ):
        source = open_source()
        for rows in (source, CheckedBlocks(source), UnitRows(source)):
            assert (rows.resident, rows.distant) == (resident, distant)
            assert rows.stored_row_bytes == stored
            assert rows.shape == (50, 3)
            assert rows.nnz == (np.count_nonzero(ROWS) if rows.sparse else None)
            assert len(rows) == len(source)
            assert not rows.keeps_new_rows


def test_rows_are_taken_as_dense_float64() -> None:
    """Whatever a source holds, a few rows are taken in the order asked for, as float64."""
    indices = np.array([49, 0, 7, 0])
    for source in (here(), sparse_rows(), stored_rows(), there(), CheckedBlocks(sparse_rows())):
        taken = source.take(indices)
        assert taken.dtype == np.float64
        np.testing.assert_array_equal(taken, ROWS[indices])


def test_wrapped_rows_are_resized_and_closed_with_their_source() -> None:
    """A memory limit reaches the source behind a wrapper, and so does closing it."""
    limited = CheckedBlocks(stored_rows()).resized(10 * 24, max_selected=24)
    assert len(limited) == 5
    with pytest.raises(ValueError, match="2 rows of X are needed in memory at once"):
        limited.select(np.array([0, 1]))
    walk = iter(limited)
    next(walk)
    assert reading_threads()
    limited.close()
    assert reading_threads() == []


def test_rows_in_memory_have_no_other_size() -> None:
    """A memory limit does not change rows that are in memory already."""
    source = here()
    assert source.resized(1, max_selected=1) is source


def test_labels_are_given_back_like_the_input() -> None:
    """Unless rows were a Dask array, labels are returned as they are."""
    labels = np.zeros(50, np.int32)
    for source in (here(), stored_rows(), there(), UnitRows(here())):
        assert source.labels_like_input(labels) is labels


def test_rows_are_recognized_by_their_identity() -> None:
    """Rows in memory have a hash, files what their source says; other rows have none."""
    assert here().identity() == ArrayBlocks(ROWS.copy()).identity()
    assert here().identity() != ArrayBlocks(ROWS + 1).identity()
    assert sparse_rows().identity() == sparse_rows().identity() != here().identity()
    assert stored_rows().identity() == as_row_source(ROWS).identity()
    with pytest.raises(ValueError, match="rows of type PickedRows have no identity"):
        PickedRows(here(), np.arange(3)).identity()
    with pytest.raises(ValueError, match="rows on Dask cannot be recognized by a later run"):
        there().identity()


def test_new_rows_need_a_cluster() -> None:
    """Sources that cannot keep new rows say so, and refuse to make them."""
    source = here()
    assert not source.keeps_new_rows
    with pytest.raises(NotImplementedError, match="ArrayBlocks keeps no new rows"):
        source.new_rows(2, np.dtype(np.float32))
