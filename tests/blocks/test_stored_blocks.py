"""Blocks of row sources: in a form that kernels read, of any size, only what is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import ColumnRanges, scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.stored_blocks import GAP_BYTES, StoredBlocks, release
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.open_rows import open_rows
from tests.support.stored_rows import SpyRows, draw_eighths, reading_threads

ROWS = draw_eighths(0, 500, 12, 3)


def dense(rows: Any) -> np.ndarray:
    """Return rows as an array."""
    return np.asarray(rows.toarray() if scipy.sparse.issparse(rows) else rows)


@pytest.mark.parametrize("block_rows", [1, 7, 499, 500, 1000])
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_the_rows(block_rows: int, sparse: bool) -> None:
    """A walk gives all rows once, in order, as the sources of rows in memory do."""
    rows = scipy.sparse.csr_array(ROWS) if sparse else ROWS
    blocks = StoredBlocks(as_row_source(rows), block_rows)
    walked = list(blocks)
    assert len(walked) == len(blocks) == -(-500 // block_rows)
    assert [block.start for block in walked] == list(range(0, 500, block_rows))
    np.testing.assert_array_equal(np.concatenate([dense(block.rows) for block in walked]), ROWS)
    assert blocks.sparse == sparse
    assert blocks.dtype == open_blocks(rows).dtype
    ranges: list[ColumnRanges] = [scan_columns(blocks), scan_columns(open_blocks(rows))]
    np.testing.assert_array_equal(ranges[0].minimum, ranges[1].minimum)
    assert ranges[0].squared_norm == ranges[1].squared_norm


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float16", ">f4", "float64"])
def test_types_are_those_that_kernels_read(dtype: str) -> None:
    """Narrow types stay, others become float64, as with arrays."""
    rows = np.abs(ROWS).astype(dtype)
    blocks = StoredBlocks(as_row_source(rows), 100)
    (first, *_) = blocks
    assert blocks.dtype == first.rows.dtype
    low, high, norm = np.zeros(12), np.zeros(12), np.zeros(1)
    _native.scan_columns(first.rows, low, high, norm, 1)
    np.testing.assert_array_equal(high, rows[:100].astype(np.float64).max(axis=0))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("wanted", [[3], [499, 0, 0, 250], [], list(range(500))])
def test_some_rows_in_any_order(wanted: list[int], sparse: bool) -> None:
    """Select and take give the rows asked for, in that order, repeated where asked twice."""
    blocks = StoredBlocks(as_row_source(scipy.sparse.csr_array(ROWS) if sparse else ROWS), 50)
    indices = np.array(wanted, dtype=np.int64)
    np.testing.assert_array_equal(dense(blocks.select(indices)), ROWS[indices])
    taken = blocks.take(indices)
    assert taken.dtype == np.float64
    np.testing.assert_array_equal(taken, ROWS[indices])
    np.testing.assert_array_equal(dense(blocks.select()), ROWS)


def test_only_ranges_with_wanted_rows_are_read() -> None:
    """Selected rows that are close are read together; rows between distant ones are not read."""
    rows = np.zeros((4000, 1024), dtype=np.float32)
    gap = GAP_BYTES // 4096
    spy = SpyRows(rows)
    StoredBlocks(spy, block_rows=600).select(np.array([3900, 0, 10, 10 + gap, 2000]))
    assert spy.selected == [(0, 11 + gap), (2000, 2001), (3900, 3901)]
    spy = SpyRows(rows)
    StoredBlocks(spy, block_rows=100).select(np.arange(0, 300, 60))
    assert max(stop - start for start, stop in spy.selected) <= 100


def test_the_size_of_blocks_follows_bytes() -> None:
    """Blocks have as many rows as fit, at least one; sparse rows are measured by their nonzeros."""
    assert StoredBlocks(as_row_source(ROWS), block_bytes=12 * 8 * 25).block_rows == 25
    assert StoredBlocks(as_row_source(ROWS), block_bytes=1).block_rows == 1
    sparse = StoredBlocks(as_row_source(scipy.sparse.csr_array(ROWS)), block_bytes=12_000)
    nonzeros = np.count_nonzero(ROWS)
    assert sparse.nnz == nonzeros
    assert sparse.block_rows == int(12_000 // (12 * nonzeros / 500 + 4))
    many = scipy.sparse.csr_array(np.tile(ROWS, (5, 1)))
    assert StoredBlocks(as_row_source(many)).nnz == pytest.approx(5 * nonzeros, rel=0.05)


def test_rows_that_do_not_fit_are_not_read() -> None:
    """Selecting more rows than the limit allows is refused, and nothing is read."""
    spy = SpyRows(ROWS)
    blocks = StoredBlocks(spy, 100).resized(10_000, max_selected=50 * 96)
    assert blocks.block_rows == 10_000 // 96
    assert blocks.select(np.arange(50)).shape == (50, 12)
    spy.selected.clear()
    with pytest.raises(ValueError, match=r"51 rows of X are needed in memory at once.*raise it"):
        blocks.select(np.arange(51))
    with pytest.raises(ValueError, match="500 rows of X"):
        blocks.select()
    assert spy.selected == []


def test_closing_ends_walks_that_were_left() -> None:
    """A walk that is left before its end keeps a thread until the source is closed."""
    blocks = StoredBlocks(as_row_source(ROWS), 10)
    walk = iter(blocks)
    next(walk)
    assert reading_threads()
    blocks.close()
    assert reading_threads() == []
    assert list(walk) == []
    assert len(list(blocks)) == 50


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_released_pages_come_back_as_they_were(tmp_path: Path, mode: Any) -> None:
    """A mapped array has the same entries after its pages were given back, also changed ones."""
    np.save(tmp_path / "rows.npy", np.arange(100_000.0).reshape(1000, 100))
    rows = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    expected = np.arange(100_000.0).reshape(1000, 100)
    if mode != "r":
        rows[500] = expected[500] = -1
    release(rows[100:900])
    release(rows[::7, 3:5])
    release(rows[:0])
    release(np.zeros((3, 3)))
    np.testing.assert_array_equal(rows, expected)


def test_a_mapped_file_is_walked_without_a_copy(tmp_path: Path) -> None:
    """Blocks of a .npy file are views of it."""
    np.save(tmp_path / "rows.npy", ROWS)
    for block in StoredBlocks(open_rows(tmp_path / "rows.npy"), 64):
        assert not block.rows.flags.owndata
        assert not block.rows.flags.writeable
