"""Writing files: completely or not at all, in a folder that is known to be writable."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from projected_kmeans import output_files
from projected_kmeans.output_files import (
    Locked,
    open_output_folder,
    write_array,
    write_atomically,
    write_json,
)


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """The new content takes the place of the old, and nothing else appears."""
    path = tmp_path / "file.txt"
    write_atomically(path, lambda handle: handle.write(b"old"))
    write_atomically(path, lambda handle: handle.write(b"new"))
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [RuntimeError("stop"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(failure: BaseException, tmp_path: Path) -> None:
    """Whatever interrupts the writing, the old content stays and no temporary file is left."""
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")

    def fail(handle: BinaryIO) -> None:
        handle.write(b"half")
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    """A written file is as readable as one that open() creates."""
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "file", lambda handle: handle.write(b""))
    modes = {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("plain", "file")}
    assert len(modes) == 1


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    """A file that only its owner may read stays so when it is replaced."""
    path = tmp_path / "file"
    path.touch(mode=0o600)
    write_atomically(path, lambda handle: handle.write(b"new"))
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The target of a symbolic link is replaced, whether it exists or not."""
    (tmp_path / "store").mkdir()
    for name in ("old", "missing"):
        target = tmp_path / "store" / name
        (tmp_path / name).symlink_to(target)
        if name == "old":
            target.write_bytes(b"old")
        write_atomically(tmp_path / name, lambda handle: handle.write(b"new"))
        assert (tmp_path / name).is_symlink()
        assert target.read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """A pipe, as a device, is not replaced by a file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(path, lambda handle: handle.write(b"through"))
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert path.is_fifo()


def test_the_folder_is_synchronized_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, its new name and the folder reach the disk in this order."""
    calls: list[str] = []
    sync, rename = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        calls.append("folder" if is_folder else "file")
        sync(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        calls.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    write_atomically(tmp_path / "file", lambda handle: handle.write(b"new"))
    assert calls == ["file", "rename", "folder"]


def test_a_folder_that_cannot_be_synchronized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that synchronizes no folders is no error; a disk that fails is one."""
    sync = os.fsync

    def fail(code: int) -> Callable[[int], None]:
        def call(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(code, os.strerror(code))
            sync(descriptor)

        return call

    monkeypatch.setattr(os, "fsync", fail(errno.EINVAL))
    write_atomically(tmp_path / "file", lambda handle: handle.write(b"new"))
    monkeypatch.setattr(os, "fsync", fail(errno.EIO))
    with pytest.raises(ValueError, match="Input/output error"):
        write_atomically(tmp_path / "file", lambda handle: handle.write(b"newer"))


def leave_temporary(folder: Path) -> Path:
    """Leave a temporary file as a killed process does, and return it."""
    path = folder / ".projected-kmeans-0123456789abcdef.tmp"
    path.write_bytes(b"half")
    return path


def test_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """The next process that writes into a folder removes what a killed one has left there."""
    for use in (
        lambda: write_json(tmp_path / "a.json", {}),
        lambda: open_output_folder(tmp_path).__enter__(),
    ):
        left = leave_temporary(tmp_path)
        use()
        assert not left.exists()


def test_files_of_living_processes_stay(tmp_path: Path) -> None:
    """A temporary file that is being written is not removed by another writer, nor is any other."""
    others = [tmp_path / ".notes.tmp", tmp_path / ".labels.npy.0123abcd.tmp", tmp_path / "x.tmp"]
    for other in others:
        other.write_bytes(b"")

    def write_slowly(handle: BinaryIO) -> None:
        handle.write(b"ha")
        write_json(tmp_path / "other.json", {})
        handle.write(b"lf")

    write_atomically(tmp_path / "file", write_slowly)
    assert (tmp_path / "file").read_bytes() == b"half"
    assert {file.name for file in tmp_path.iterdir()} == {
        "file",
        "other.json",
        *(other.name for other in others),
    }


def test_files_stay_where_locks_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without locks nobody knows whether a writer lives, so that its file stays."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    left = leave_temporary(tmp_path)
    write_json(tmp_path / "a.json", {})
    assert left.exists()


def test_a_file_that_is_removed_before_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer whose file another process has taken for abandoned starts a new one."""
    plain, seen = output_files.try_lock, list[Path]()

    def lock(descriptor: int) -> Locked:
        if not seen:
            seen.extend(tmp_path.glob(".projected-kmeans-*.tmp"))
            seen[0].unlink()
        return plain(descriptor)

    monkeypatch.setattr(output_files, "try_lock", lock)
    write_atomically(tmp_path / "file", lambda handle: handle.write(b"new"))
    assert seen
    assert (tmp_path / "file").read_bytes() == b"new"


def test_json_and_arrays_come_back(tmp_path: Path) -> None:
    """What write_json and write_array write, json and numpy read."""
    write_json(tmp_path / "a.json", {"name": "größe", "sizes": [1, 2]})
    assert json.loads((tmp_path / "a.json").read_bytes()) == {"name": "größe", "sizes": [1, 2]}
    write_array(tmp_path / "a.npy", np.arange(3))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), [0, 1, 2])


def test_values_that_a_format_cannot_hold_are_refused(tmp_path: Path) -> None:
    """NaN in JSON and Python objects in arrays are refused before a file exists."""
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"inertia": float("nan")})
    with pytest.raises(ValueError, match="Object arrays"):
        write_array(tmp_path / "a.npy", np.array([{}], dtype=object))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """A path without its folder, and a path that is a folder, give one sentence each."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none" / "file.txt", tmp_path / "folder"):
        with pytest.raises(ValueError, match=r"cannot be written \(.*\); choose another place"):
            write_atomically(path, lambda handle: handle.write(b"text"))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_is_created(tmp_path: Path) -> None:
    """A folder is created with its parents, empty, and may exist already."""
    for _ in range(2):
        with open_output_folder(tmp_path / "a" / "b") as folder:
            assert folder == tmp_path / "a" / "b"
            assert list(folder.iterdir()) == []


def test_a_folder_under_a_file(tmp_path: Path) -> None:
    """A path under a regular file, or the file itself, is refused and nothing is created."""
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with (
            pytest.raises(ValueError, match=r"cannot be written \(.*\); choose another place"),
            open_output_folder(path),
        ):
            pytest.fail("the work must not start")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_failed_work_leaves_no_empty_folder(tmp_path: Path) -> None:
    """If the work fails, the empty folders that were created for it are removed."""
    with pytest.raises(RuntimeError), open_output_folder(tmp_path / "a" / "b"):
        raise RuntimeError("the work failed")
    assert list(tmp_path.iterdir()) == []


def test_failed_work_keeps_what_was_there(tmp_path: Path) -> None:
    """If the work fails, folders that existed or that hold a file stay."""
    (tmp_path / "a").mkdir()
    with pytest.raises(RuntimeError), open_output_folder(tmp_path / "a"):
        raise RuntimeError("the work failed")
    assert (tmp_path / "a").is_dir()

    def fail_half_way() -> None:
        with open_output_folder(tmp_path / "b" / "c") as folder:
            (folder / "file").touch()
            raise RuntimeError("the work failed")

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert (tmp_path / "b" / "c" / "file").exists()
