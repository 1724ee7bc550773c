"""Checked rows: ranges found on the way, bad entries named, checks that go on where one ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.checked_blocks import CheckedBlocks
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.blocks.tasks import Task, fill
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.sources.array_source import as_row_source
from tests.support.block_sources import ROWS as FEW_ROWS
from tests.support.block_sources import here, there
from tests.support.stored_rows import SpyRows, draw_eighths

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
