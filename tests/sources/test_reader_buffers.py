"""Shared buffers: used again when their arrays are gone, and not before."""

from __future__ import annotations

import numpy as np

from projected_kmeans.sources.reader_buffers import (
    KEPT_BUFFERS,
    LARGEST_BUFFER,
    SMALLEST_BUFFER,
    BufferPool,
)

SIZE = SMALLEST_BUFFER


def test_a_buffer_is_free_when_its_last_array_is_dropped() -> None:
    """A view of an array holds the buffer too."""
    pool = BufferPool()
    first = pool.take(SIZE)
    assert first is not None
    rows = np.frombuffer(pool.lend(first), np.uint8)
    part = rows[10:20]
    del rows
    other = pool.take(SIZE)
    assert other is not None
    assert other.number != first.number
    del part
    assert pool.take(SIZE) is first


def test_sizes_that_are_not_worth_a_buffer() -> None:
    """Small answers and very large ones get memory of their own."""
    pool = BufferPool()
    assert pool.take(SMALLEST_BUFFER - 1) is None
    assert pool.take(LARGEST_BUFFER + 1) is None


def test_buffers_that_are_too_small_or_too_many_go() -> None:
    """The other process is told once which buffers are gone."""
    pool = BufferPool()
    lent = [pool.lend(pool.take(SIZE)) for _ in range(KEPT_BUFFERS + 1)]  # type: ignore[arg-type]
    del lent
    assert len(pool.take_gone()) == 1
    larger = pool.take(2 * SIZE)
    assert larger is not None
    assert len(pool.take_gone()) == KEPT_BUFFERS
    assert pool.take_gone() == []
    lent = [pool.lend(larger)]
    del lent, larger
    pool.clear()
    assert len(pool.take_gone()) == 1
