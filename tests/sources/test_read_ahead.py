"""Reading ahead: blocks in order, few in memory, errors unchanged, and no thread left behind."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.sources.array_source import ArrayRows, as_row_source
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.read_ahead import read_ahead
from tests.support.row_files import SINGLES, SPARSE
from tests.support.stored_rows import reading_threads


class Broken(Exception):
    """What a source in these tests raises."""


class WatchedRows(ArrayRows):
    """Rows that count how many of their blocks are alive, and break at a row if asked."""

    def __init__(self, array: Any, broken_at: int | None = None) -> None:
        super().__init__(array)
        self.alive = 0
        self.max_alive = 0
        self.n_reads = 0
        self.broken_at = broken_at
        self.lock = threading.Lock()

    def read(self, start: int, stop: int) -> Any:
        """Return a copy that is watched."""
        if self.broken_at is not None and stop > self.broken_at:
            raise Broken(start)
        rows = np.array(super().read(start, stop))
        with self.lock:
            self.n_reads += 1
            self.alive += 1
            self.max_alive = max(self.max_alive, self.alive)
        weakref.finalize(rows, self.count_down)
        return rows

    def count_down(self) -> None:
        """Note that a block is gone."""
        with self.lock:
            self.alive -= 1


@given(n_rows=st.integers(1, 40), rows_per_block=st.integers(1, 50), depth=st.integers(1, 4))
def test_blocks_in_order(n_rows: int, rows_per_block: int, depth: int) -> None:
    """The blocks have all rows in order, whatever their size and number."""
    source = as_row_source(SINGLES[:n_rows])
    expected = 0
    for start, rows in read_ahead(source, rows_per_block, depth=depth):
        assert start == expected
        np.testing.assert_array_equal(
            rows, SINGLES[start : start + rows_per_block][: n_rows - start]
        )
        expected += rows.shape[0]
    assert expected == n_rows
    assert reading_threads() == []


def test_sparse_and_mapped_rows(tmp_path: Path) -> None:
    """CSR blocks and views of files are passed on unchanged."""
    blocks = read_ahead(as_row_source(scipy.sparse.csr_array(SPARSE)), 1000)
    for start, rows in blocks:
        np.testing.assert_array_equal(rows.toarray(), SPARSE[start : start + 1000])
    np.save(tmp_path / "rows.npy", SINGLES)
    for start, rows in read_ahead(open_rows(tmp_path / "rows.npy"), 1000):
        assert not rows.flags.owndata
        np.testing.assert_array_equal(rows, SINGLES[start : start + 1000])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_memory_is_bounded(depth: int) -> None:
    """Besides the caller's block, at most `depth` blocks are alive at any time."""
    source = WatchedRows(SINGLES)
    block: Any = None
    for _, block in read_ahead(source, 100, depth=depth):  # noqa: B007
        pass
    del block
    assert source.n_reads == 90
    assert source.max_alive <= depth + 1
    assert source.alive == 0


def test_errors_are_raised_unchanged() -> None:
    """What a read raises is raised after the blocks before it, and the thread ends."""
    walk = read_ahead(WatchedRows(SINGLES, broken_at=450), 100)
    assert [next(walk)[0] for _ in range(4)] == [0, 100, 200, 300]
    with pytest.raises(Broken) as caught:
        next(walk)
    assert caught.value.args == (400,)
    assert reading_threads() == []


def test_leaving_early_ends_the_thread() -> None:
    """A walk that is left, by break or by an exception, reads no further and leaves no thread."""
    source = WatchedRows(SINGLES)
    walk = read_ahead(source, 100)
    assert reading_threads() == []  # nothing is begun before the first block is asked for
    next(walk)
    walk.close()  # type: ignore[attr-defined]
    assert reading_threads() == []
    assert source.n_reads <= 3
    walk = read_ahead(source, 100)
    next(walk)
    with pytest.raises(Broken):
        walk.throw(Broken())  # type: ignore[attr-defined]
    assert reading_threads() == []


def test_sizes_must_be_positive() -> None:
    """A block without rows is refused at the call."""
    with pytest.raises(ValueError, match="must be positive; give at least 1"):
        read_ahead(as_row_source(SINGLES), 0)


class ThreadRows(ArrayRows):
    """Rows that note which threads read them; each read waits for as many threads as there are."""

    def __init__(self, array: Any, forward_only: bool) -> None:
        super().__init__(array)
        self.forward_only = forward_only
        self.names: set[str] = set()
        self.meeting = threading.Barrier(1 if forward_only else 2)

    def read(self, start: int, stop: int) -> Any:
        """Return rows once as many threads as should read are here."""
        self.names.add(threading.current_thread().name)
        self.meeting.wait(timeout=60)
        return super().read(start, stop)


@pytest.mark.parametrize("forward_only", [False, True])
def test_two_threads_read_unless_a_source_goes_forwards(forward_only: bool) -> None:
    """Two threads read, and one if the source is forward only; blocks come in their order."""
    source = ThreadRows(np.arange(40.0).reshape(20, 2), forward_only)
    starts = [start for start, _ in read_ahead(source, 5)]
    assert starts == [0, 5, 10, 15]
    assert len(source.names) == (1 if forward_only else 2)
