"""The scan of columns: exact ranges, and the first entry that is not finite by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import CheckedBlocks, scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.blocks.tasks import Task, fill
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.sources.array_source import as_row_source
from tests import reference
from tests.support.block_sources import ROWS as FEW_ROWS
from tests.support.block_sources import here, there
from tests.support.layouts import TYPES, draw_rows, lay_out, layouts, seeds, threads, types
from tests.support.stored_rows import SpyRows, draw_eighths


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


# Every two of a number of rows, a length, a number of threads and a type occur together.
PIECES = [
    ((1, 2, 4, 7)[(i + j) % 4], d, (1, 3)[(i + j // 2) % 2], dtype)
    for i, d in enumerate((511, 1024, 1025, 2051, 4095, 4096, 8197))
    for j, dtype in enumerate(TYPES)
]


@pytest.mark.parametrize(("n", "d", "n_threads", "dtype"), PIECES)
def test_pieces_of_long_rows(n: int, d: int, n_threads: int, dtype: str) -> None:
    """Ranges and norms are exact where rows are cut into pieces, and with fewer rows than threads.

    The largest norm is that of the last row, which has the widest ranges, too.
    """
    X = draw_rows(n + d, n, d, dtype) // 2
    X[-1] = np.random.default_rng(d).choice([X.min(), X.max()], d)
    ranges = scan_columns(ArrayBlocks(X), n_threads)
    np.testing.assert_array_equal(ranges.minimum, X.min(axis=0))
    np.testing.assert_array_equal(ranges.maximum, X.max(axis=0))
    squares = X.astype(np.float64) ** 2
    assert ranges.squared_norm == pytest.approx(squares.sum(axis=1).max(), rel=1e-12)
    if np.issubdtype(dtype, np.integer):
        assert ranges.squared_norm == squares.sum(axis=1).max()


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
    """The largest and smallest numbers of each floating type are finite, and accepted."""
    for dtype in (np.float16, np.float32):
        limits = np.finfo(dtype)
        X = np.array([[limits.max], [limits.min], [limits.smallest_subnormal]], dtype)
        ranges = scan_columns(ArrayBlocks(X))
        assert (ranges.minimum[0], ranges.maximum[0]) == (float(limits.min), float(limits.max))


@pytest.mark.parametrize("size", [1e155, 1e200, 1.7e308])
def test_columns_too_wide_for_float64_are_refused(size: float) -> None:
    """Entries whose squares would overflow are refused with one sentence and no warning."""
    with pytest.raises(ValueError, match=r"X reaches .*overflow.*divide X by"):
        scan_columns(ArrayBlocks(np.array([[size], [-size]])))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_bad_entry_in_a_long_row(n_threads: int, dtype: str) -> None:
    """The first bad entry is named in any piece of a row and in any row of those taken together."""
    for row, column in ((0, 2048), (2, 5000), (5, 4095), (6, 0)):
        X = np.ones((7, 5001), dtype)
        X[row, column] = np.nan
        X[row:, 5000] = np.inf
        X[row + 1 :] = np.nan
        found = _native.scan_columns(
            X, np.full(5001, np.inf), np.full(5001, -np.inf), np.zeros(1), n_threads
        )
        assert found == (row, column)


def test_squares_that_overflow_are_no_bad_entry() -> None:
    """The kernel tells a norm that overflows from an entry that is not finite."""
    X = np.full((3, 5), 1e200)
    norm = np.zeros(1)
    assert _native.scan_columns(X, np.full(5, np.inf), np.full(5, -np.inf), norm, 1) == (-1, -1)
    assert norm[0] == np.inf


def test_progress_counts_rows() -> None:
    """The scan reports after each block how many rows are done."""
    seen: list[int] = []
    scan_columns(ArrayBlocks(np.zeros((10, 2)), 4), on_block=seen.append)
    assert seen == [4, 8, 10]


# --- rows checked in their first walk -------------------------------------------------------------

ROWS = draw_eighths(0, 500, 12, 3)


def test_checked_blocks_find_ranges_on_the_way() -> None:
    """The first whole walk finds the ranges of columns, without another walk over the rows."""
    spy = SpyRows(ROWS)
    checked = CheckedBlocks(StoredBlocks(spy, 64))
    assert len(list(checked)) == len(checked) == 8
    np.testing.assert_array_equal(checked.ranges.maximum, ROWS.max(axis=0))
    assert spy.n_walks == 1
    list(checked)
    assert spy.n_walks == 2


@pytest.mark.parametrize("sparse", [False, True])
def test_checked_blocks_name_the_first_bad_entry(sparse: bool) -> None:
    """A walk ends before a block with a bad entry, and a selection names the first of all rows."""
    rows = ROWS.copy()
    rows[300, 4], rows[400, 2] = np.nan, np.inf
    source = as_row_source(scipy.sparse.csr_array(rows) if sparse else rows)
    checked = CheckedBlocks(StoredBlocks(source, 64))
    seen = []
    with pytest.raises(ValueError, match="NaN at row 300, column 4"):  # noqa: PT012
        for block in checked:
            seen.append(block.start)
    assert seen == [0, 64, 128, 192]
    with pytest.raises(ValueError, match="NaN at row 300, column 4"):
        checked.select(np.array([400, 7]))
    np.testing.assert_array_equal(checked.take(np.array([7, 8])), rows[7:9])


def test_a_check_goes_on_where_one_ended() -> None:
    """With the ranges of the first rows, a check of the others finds the ranges of all rows."""
    checked = CheckedBlocks(here())
    checked.resume(scan_columns(ArrayBlocks(FEW_ROWS[:20])))
    checked.walk(first=20)
    expected = scan_columns(here())
    np.testing.assert_array_equal(checked.ranges.minimum, expected.minimum)
    np.testing.assert_array_equal(checked.ranges.maximum, expected.maximum)
    assert checked.ranges.squared_norm == expected.squared_norm


@pytest.mark.parametrize("open_source", [here, there])
def test_wrappers_pass_tasks_on(open_source: Any) -> None:
    """Before the tasks of a wrapped walk, rows are checked, and then divided by their lengths."""
    checked, made = CheckedBlocks(open_source()), np.empty((50, 3))
    unit = UnitRows(checked)
    unit.walk(Task(lambda block, out: np.copyto(out, block.rows), (fill(made),)))
    np.testing.assert_allclose(made, unit.select())
    ranges = scan_columns(here())
    assert (checked.ranges.minimum == ranges.minimum).all()
    assert (checked.ranges.maximum == ranges.maximum).all()
    assert checked.ranges.squared_norm == ranges.squared_norm
    assert unit.distant == checked.distant == (open_source is there)
