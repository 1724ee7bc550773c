"""Messages between processes: documents, arrays in new memory and in a buffer, attached files."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from projected_kmeans.sources.reader_buffers import BufferPool
from projected_kmeans.sources.reader_messages import LENGTH, receive_message, send_message

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
