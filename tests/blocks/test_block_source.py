"""Arrays as sequences of blocks, and the scan of their columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import as_native, compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.tasks import Block
from tests import reference
from tests.support.layouts import TYPES, draw_rows, lay_out, layouts, seeds, threads, types


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
    """One column taken out of a wide array is read right."""
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
    """Shape and element type are the array's."""
    source = ArrayBlocks(np.zeros((3, 2), np.int16))
    assert (source.shape, source.dtype) == ((3, 2), np.int16)
    assert Block(4, np.zeros((3, 2))).span == slice(4, 7)


@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=st.integers(1, 40),
    dtype=types,
    layout=layouts,
    n_threads=threads,
    block_rows=st.integers(1, 61),
)
def test_ranges_equal_the_twin(
    seed: int, n: int, d: int, dtype: str, layout: str, n_threads: int, block_rows: int
) -> None:
    """The smallest and largest value of each column are exact, for any type, blocks and threads."""
    X = lay_out(draw_rows(seed, n, d, dtype), layout)
    ranges = scan_columns(ArrayBlocks(X, block_rows), n_threads)
    minimum, maximum, _ = reference.scan_columns(X)
    squares = X.astype(np.longdouble) ** 2
    assert ranges.squared_norm == pytest.approx(float(squares.sum(axis=1).max()), rel=1e-13)
    np.testing.assert_array_equal(ranges.minimum, minimum)
    np.testing.assert_array_equal(ranges.maximum, maximum)


@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=st.integers(1, 40),
    n_threads=threads,
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    n_bad=st.integers(1, 5),
)
def test_the_first_bad_entry_equals_the_twin(
    seed: int, n: int, d: int, n_threads: int, dtype: str, n_bad: int
) -> None:
    """The kernel names the first entry that is not finite, in reading order, on any threads."""
    stream = np.random.default_rng(seed)
    X = draw_rows(seed, n, d, dtype)
    for _ in range(n_bad):
        X[stream.integers(n), stream.integers(d)] = stream.choice([np.nan, np.inf, -np.inf])
    found = _native.scan_columns(X, np.full(d, np.inf), np.full(d, -np.inf), np.zeros(1), n_threads)
    bad = np.argwhere(~np.isfinite(X))[0]
    assert found == tuple(bad)


@pytest.mark.parametrize("block_rows", [1, 3, 7, 100])
@pytest.mark.parametrize("place", [(0, 0), (6, 4), (7, 0), (19, 16)])
@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_a_bad_entry_is_named(
    block_rows: int, place: tuple[int, int], value: float, name: str
) -> None:
    """The error says what is wrong and in which row and column of the whole array."""
    X = np.zeros((20, 17))
    X[place] = value
    X[19, 16] = np.inf if place != (19, 16) else value
    sentence = rf"X contains {name}.* at row {place[0]}, column {place[1]}; remove or replace"
    with pytest.raises(ValueError, match=sentence):
        scan_columns(ArrayBlocks(X, block_rows))


def test_the_largest_finite_values_are_finite() -> None:
    """The extremes of each floating type are no bad entries."""
    for dtype in (np.float16, np.float32):
        limits = np.finfo(dtype)
        X = np.array([[limits.max], [limits.min], [limits.smallest_subnormal]], dtype)
        ranges = scan_columns(ArrayBlocks(X))
        assert (ranges.minimum[0], ranges.maximum[0]) == (float(limits.min), float(limits.max))


@pytest.mark.parametrize("size", [1e155, 1e200, 1.7e308])
def test_columns_too_wide_for_float64_are_refused(size: float) -> None:
    """Ranges whose squares overflow give a sentence, and no warning on the way."""
    with pytest.raises(ValueError, match=r"X reaches .*overflow.*divide X by"):
        scan_columns(ArrayBlocks(np.array([[size], [-size]])))


def test_progress_counts_rows() -> None:
    """The scan reports after each block how many rows are done."""
    seen: list[int] = []
    scan_columns(ArrayBlocks(np.zeros((10, 2)), 4), on_block=seen.append)
    assert seen == [4, 8, 10]


@pytest.mark.parametrize("dtype", TYPES)
def test_native_types_are_kept(dtype: str) -> None:
    """An array that kernels read is returned itself."""
    X = np.zeros((2, 2), dtype)
    assert as_native(X) is X


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (">f4", "float32"),
        (">f8", "float64"),
        (">i2", "int16"),
        ("bool", "uint8"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("uint32", "float64"),
        ("longdouble", "float64"),
    ],
)
def test_other_types_are_converted(dtype: str, expected: str) -> None:
    """Other byte orders become native, booleans bytes, and the rest float64, values unchanged."""
    X = np.array([[0, 1], [1, 0]], dtype)
    found = as_native(X)
    assert found.dtype == expected
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, X.astype(float))


def test_only_float64_is_computed_in_float64() -> None:
    """Rows of smaller types are computed in float32."""
    found = {name for name in TYPES if compute_type(np.dtype(name)) == np.float64}
    assert found == {"float64"}
