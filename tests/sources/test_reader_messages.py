"""Messages between two processes, and the shared buffers that their arrays go through."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from projected_kmeans.sources.reader_messages import (
    KEPT_BUFFERS,
    LARGEST_BUFFER,
    LENGTH,
    SMALLEST_BUFFER,
    BufferPool,
    receive_message,
    send_message,
)

ARRAYS = [
    np.arange(6, dtype=">i2").reshape(2, 3),
    np.asfortranarray(np.eye(3)),
    np.empty((0, 4), np.float32),
    np.array(["a", "long"]),
]


@pytest.fixture
def channels() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a channel."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("buffered", [False, True])
def test_arrays_arrive(channels: tuple[socket.socket, socket.socket], buffered: bool) -> None:
    """Numbers, types and shapes are those that were sent; the arrays cannot be written to."""
    pool = BufferPool()
    buffer = pool.take(2**16) if buffered else None
    send_message(channels[0], {"text": "ä" * 10**4}, ARRAYS, into=buffer)
    found = receive_message(channels[1], None if buffer is None else pool.lend(buffer))
    assert found is not None
    assert found.document == {"text": "ä" * 10**4}
    for array, expected in zip(found.arrays, ARRAYS, strict=True):
        np.testing.assert_array_equal(array, expected, strict=True)
        assert not array.flags.writeable


def test_arrays_that_do_not_fit_get_new_memory(
    channels: tuple[socket.socket, socket.socket],
) -> None:
    """A buffer that is too small is left as it is."""
    buffer = BufferPool().take(2**16)
    send_message(channels[0], {}, [np.ones(2**16)], into=buffer)
    found = receive_message(channels[1])
    assert found is not None
    assert found.arrays[0].sum() == 2**16


def test_a_file_is_attached(channels: tuple[socket.socket, socket.socket]) -> None:
    """A descriptor arrives as one of the same file."""
    reading, writing = os.pipe()
    send_message(channels[0], {}, attached=writing)
    found = receive_message(channels[1])
    assert found is not None
    assert found.attached is not None
    os.write(found.attached, b"x")
    assert os.read(reading, 1) == b"x"
    for descriptor in (reading, writing, found.attached):
        os.close(descriptor)


def test_ends_and_faults_are_told_apart(channels: tuple[socket.socket, socket.socket]) -> None:
    """A channel that is closed between messages is an end; one inside a message is a fault."""
    channels[0].sendall(LENGTH.pack(100) + b"{")
    channels[0].shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionError, match="cut off"):
        receive_message(channels[1])
    assert receive_message(channels[1]) is None
    channels[1].sendall(LENGTH.pack(2**40))
    with pytest.raises(ConnectionError, match="announces"):
        receive_message(channels[0])


def test_objects_are_not_sent(channels: tuple[socket.socket, socket.socket]) -> None:
    """Nothing is pickled, so arrays of objects are refused by the receiver."""
    send_message(channels[0], {}, [np.array([1, 2])])
    with pytest.raises((ConnectionError, ValueError)):
        send_message(channels[0], {}, [np.array([None])], into=BufferPool().take(2**16))


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
