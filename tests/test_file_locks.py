"""Locks: held by one writer or many readers, and told apart from a file system without locks."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from projected_kmeans import file_locks
from projected_kmeans.file_locks import Locked, hold_folder, try_lock


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    """A second wish for the lock is refused until the first holder closes its file."""
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert try_lock(first) is Locked.HELD
    assert try_lock(second) is Locked.BUSY
    os.close(first)
    assert try_lock(second) is Locked.HELD
    os.close(second)


def test_readers_share_a_lock(tmp_path: Path) -> None:
    """Readers hold a folder together, and a writer does not get it meanwhile."""
    with hold_folder(tmp_path, shared=True), hold_folder(tmp_path, shared=True):
        descriptor = os.open(tmp_path, os.O_RDONLY)
        assert try_lock(descriptor) is Locked.BUSY
        os.close(descriptor)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF])
def test_no_locks_are_not_a_lock_in_use(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What NFS without locks answers is not taken for another process."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with open(tmp_path / "file", "wb") as handle:
        assert try_lock(handle.fileno()) is Locked.UNSUPPORTED
    with hold_folder(tmp_path):
        pass


def test_a_lock_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A holder that never ends, as a stopped process, does not stop a result from being written."""
    monkeypatch.setattr(file_locks, "MAX_WAIT", 0.05)
    with hold_folder(tmp_path), hold_folder(tmp_path):
        pass


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    """There is nothing to lock, and who reads there tells so."""
    with hold_folder(tmp_path / "none", shared=True):
        pass
