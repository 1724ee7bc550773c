"""Rows in memory as blocks: arrays of any layout, and CSR rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import (
    PIECE_BYTES,
    ArrayBlocks,
    SparseBlocks,
    hash_arrays,
)
from projected_kmeans.blocks.tasks import Block
from tests.support.layouts import lay_out
from tests.support.sparse_rows import draw_sparse


@given(n=st.integers(1, 50), block_rows=st.integers(1, 60))
def test_blocks_cover_the_rows_in_order(n: int, block_rows: int) -> None:
    """Blocks are consecutive, none is empty, and together they are the array."""
    X = np.arange(3.0 * n).reshape(n, 3)
    source = ArrayBlocks(X, block_rows)
    found = list(source)
    assert len(source) == len(found)
    assert all(0 < len(block.rows) <= block_rows for block in found)
    np.testing.assert_array_equal(np.concatenate([block.rows for block in found]), X)
    for block in found:
        np.testing.assert_array_equal(X[block.span], block.rows)


def test_blocks_hold_about_block_bytes() -> None:
    """A block has as many rows as fit into ``block_bytes``, and at least one."""
    narrow, wide = np.zeros((7, 4)), np.zeros((2, 400))
    assert [len(block.rows) for block in ArrayBlocks(narrow, block_bytes=100)] == [3, 3, 1]
    assert [len(block.rows) for block in ArrayBlocks(wide, block_bytes=100)] == [1, 1]


@pytest.mark.parametrize("layout", ["plain", "wide", "second", "reversed"])
def test_rows_with_unit_stride_are_not_copied(layout: str) -> None:
    """Blocks are views where rows are contiguous inside, whatever lies between them."""
    X = lay_out(np.arange(40.0).reshape(10, 4), layout)
    for block in ArrayBlocks(X, 3):
        assert np.shares_memory(block.rows, X)


def unaligned(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows one byte off their alignment."""
    memory = np.zeros(X.nbytes + 1, np.uint8)
    view = memory[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


def padded_records(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows as fields of records with a length that no element size divides."""
    kind = np.dtype([("row", X.dtype, (X.shape[1],)), ("rest", np.uint8)])
    records = np.zeros(len(X), kind)
    records["row"] = X
    return records["row"]


@pytest.mark.parametrize(
    "arrange",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        unaligned,
        padded_records,
        lambda X: X[:, ::-1].copy()[:, ::-1],
    ],
    ids=["fortran", "every second column", "unaligned", "records", "columns reversed"],
)
def test_other_rows_are_copied_block_by_block(arrange: Any) -> None:
    """Kernels take every block, however the array lies in memory, and see the same rows."""
    X = np.random.default_rng(0).normal(size=(11, 4))
    source = ArrayBlocks(arrange(X), 4)
    found = np.concatenate([block.rows for block in source])
    np.testing.assert_array_equal(found, X)
    ranges = scan_columns(source)
    np.testing.assert_array_equal(ranges.minimum, X.min(axis=0))
    np.testing.assert_array_equal(ranges.maximum, X.max(axis=0))


def test_a_single_column_of_any_stride() -> None:
    """A column taken out of a wide array, with gaps between its entries, is read correctly."""
    X = np.arange(30.0).reshape(10, 3)
    ranges = scan_columns(ArrayBlocks(X[:, 1:2], 4))
    assert (ranges.minimum[0], ranges.maximum[0]) == (1.0, 28.0)


def test_a_memory_map_is_read_in_place(tmp_path: Path) -> None:
    """A read-only memory map gives blocks without a copy, and its bad entries are found."""
    X = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    X[13, 2] = np.nan
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    source = ArrayBlocks(mapped, 6)
    assert all(np.shares_memory(block.rows, mapped) for block in source)
    with pytest.raises(ValueError, match="NaN at row 13, column 2"):
        scan_columns(source)


def test_take_gives_float64_rows() -> None:
    """Rows are taken in the order asked for, repeated if asked twice, as float64."""
    X = np.arange(12, dtype=np.uint8).reshape(4, 3)
    found = ArrayBlocks(X).take(np.array([3, 0, 3]))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, X[[3, 0, 3]])


def test_a_source_tells_its_shape_and_type() -> None:
    """A source has the shape and the element type of its array."""
    source = ArrayBlocks(np.zeros((3, 2), np.int16))
    assert (source.shape, source.dtype) == ((3, 2), np.int16)
    assert Block(4, np.zeros((3, 2))).span == slice(4, 7)


def test_sparse_blocks_are_views_of_about_one_size() -> None:
    """Blocks follow one another, share memory with the rows and hold about as many bytes each."""
    rows = draw_sparse(0, 400, 50, density=0.3, wide=True).sparse
    source = SparseBlocks(rows, block_bytes=16 * 500)
    blocks = list(source)
    assert len(blocks) == len(source) > 5
    assert [block.start for block in blocks[1:]] == [block.span.stop for block in blocks[:-1]]
    assert max(block.rows.nnz for block in blocks) <= 500 + 50
    for block in blocks:
        assert np.shares_memory(block.rows.data, rows.data)
        assert np.shares_memory(block.rows.indices, rows.indices)
        np.testing.assert_array_equal(block.rows.toarray(), rows[block.span].toarray())
    taken = source.take(np.array([5, 399, 5]))
    np.testing.assert_array_equal(taken, rows.toarray()[[5, 399, 5]])


# --- hashes of arrays -----------------------------------------------------------------------------


def test_every_entry_counts() -> None:
    """One changed bit anywhere, also beyond the first piece, gives another hash."""
    rows = np.zeros((PIECE_BYTES // 400, 101), np.float64)
    assert rows.nbytes > 2 * PIECE_BYTES
    before = hash_arrays(rows)
    for place in ((0, 0), (len(rows) // 2, 50), (-1, -1)):
        rows[place] = 5e-324
        assert hash_arrays(rows) != before
        rows[place] = 0
    assert hash_arrays(rows) == before


def test_shape_and_type_count() -> None:
    """Equal bytes in another shape, of another type or in another split are other arrays."""
    rows = np.zeros((6, 4))
    others = [rows.reshape(4, 6), rows.view(np.int64), rows[:5]]
    hashes = {hash_arrays(each) for each in (rows, *others)}
    assert len({*hashes, hash_arrays(rows[:3], rows[3:])}) == 5


def test_the_layout_does_not_count() -> None:
    """The same entries in another order of memory have the same hash."""
    rows = np.random.default_rng(0).normal(size=(7, 5))
    assert hash_arrays(np.asfortranarray(rows)) == hash_arrays(rows)
    assert hash_arrays(np.repeat(rows, 2, axis=0)[::2]) == hash_arrays(rows)
