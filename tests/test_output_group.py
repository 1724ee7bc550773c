"""Files that are replaced together: readers find the old ones or the new ones, as a whole."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from projected_kmeans import output_group
from projected_kmeans.output_files import (
    JOURNAL,
    Locked,
    open_output_folder,
    try_lock,
    write_atomically,
)
from projected_kmeans.output_group import finish_replacement, hold_folder, read_group, replace_group

NAMES = ("a.txt", "b.txt", "c.txt")


class Stopped(BaseException):
    """What a signal handler raises at any moment."""


def write(folder: Path, content: bytes, names: tuple[str, ...] = NAMES) -> None:
    """Replace the files of a folder by one content."""
    with replace_group(folder) as group:
        for name in names:
            group.add(name, lambda handle: handle.write(content))


def read(folder: Path, names: tuple[str, ...] = NAMES) -> set[bytes]:
    """Return the contents that a reader finds."""
    with read_group(folder) as group:
        return {group.find(name).read_bytes() for name in names}


def stop_at(monkeypatch: pytest.MonkeyPatch, name: str, number: int, error: BaseException) -> None:
    """Let one call of a function of `os` raise, and all others work."""
    plain: Callable[..., Any] = getattr(os, name)
    calls = 0

    def call(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            raise error
        return plain(*arguments, **keywords)

    monkeypatch.setattr(os, name, call)


def leave_journal(folder: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace a group up to the moment when its files are to be renamed."""

    def stop(folder: Path) -> None:
        if (folder / JOURNAL).exists():
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(output_group, "finish_replacement", stop)
        with pytest.raises(Stopped):
            write(folder, content)
    assert (folder / JOURNAL).exists()


def test_files_are_replaced_together(tmp_path: Path) -> None:
    """All files get their new content, and nothing else is left or touched."""
    (tmp_path / "mine.txt").write_text("mine")
    write(tmp_path, b"old")
    write(tmp_path, b"new")
    assert read(tmp_path) == {b"new"}
    assert sorted(file.name for file in tmp_path.iterdir()) == [*NAMES, "mine.txt"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Stopped()])
@pytest.mark.parametrize("name", ["replace", "fsync"])
@pytest.mark.parametrize("number", range(1, 9))
def test_stopped_anywhere(
    name: str, number: int, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error or a signal at any fsync or rename leaves one whole group and no other file."""
    write(tmp_path, b"old")
    with monkeypatch.context() as patch:
        stop_at(patch, name, number, error)
        with suppress(ValueError, Stopped):
            write(tmp_path, b"new")
            assert {(tmp_path / name).read_bytes() for name in NAMES} == {b"new"}
    assert {(tmp_path / name).read_bytes() for name in NAMES} in ({b"old"}, {b"new"})
    assert sorted(file.name for file in tmp_path.iterdir()) == list(NAMES)


def test_a_block_that_raises_replaces_nothing(tmp_path: Path) -> None:
    """If a later file cannot be made, the earlier ones stay as they were."""
    write(tmp_path, b"old")

    def fail() -> None:
        with replace_group(tmp_path) as group:
            group.add("a.txt", lambda handle: handle.write(b"new"))
            raise KeyError("b.txt")

    with pytest.raises(KeyError):
        fail()
    assert read(tmp_path) == {b"old"}
    assert sorted(file.name for file in tmp_path.iterdir()) == list(NAMES)


@pytest.mark.parametrize("n_renamed", range(4))
def test_the_next_reader_finishes(
    n_renamed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between two renames leaves a journal, by which a reader finds all new."""
    write(tmp_path, b"old")
    leave_journal(tmp_path, b"new", monkeypatch)
    waiting = json.loads((tmp_path / JOURNAL).read_text())["waiting"]
    for name in NAMES[:n_renamed]:
        os.replace(tmp_path / waiting[name], tmp_path / name)
    assert read(tmp_path) == {b"new"}
    assert sorted(file.name for file in tmp_path.iterdir()) == list(NAMES)


def test_a_reader_who_may_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who cannot finish the renaming reads the new files under their temporary names."""
    write(tmp_path, b"old")
    leave_journal(tmp_path, b"new", monkeypatch)

    def refuse(*arguments: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        assert read(tmp_path) == {b"new"}
        with pytest.raises(ValueError, match=r"cannot be written \(Permission denied\)"):
            write(tmp_path, b"newer")
    assert read(tmp_path) == {b"new"}


def test_renames_that_keep_failing_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the system refuses a rename again, the sentence says so and the new files are kept."""
    write(tmp_path, b"old")
    plain = os.replace

    def refuse(source: Any, target: Any) -> None:
        if Path(target).name == "b.txt":
            raise OSError(errno.EIO, "Input/output error")
        plain(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(ValueError, match="nothing is lost: cure that, and use the folder"):
            write(tmp_path, b"new")
        assert read(tmp_path) == {b"new"}
    assert read(tmp_path) == {b"new"}
    assert sorted(file.name for file in tmp_path.iterdir()) == list(NAMES)


def test_waiting_files_are_not_taken_for_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes another file into the folder does not remove files that a journal lists."""
    write(tmp_path, b"old")
    leave_journal(tmp_path, b"new", monkeypatch)
    write_atomically(tmp_path / "other.txt", lambda handle: handle.write(b"other"))
    with open_output_folder(tmp_path):
        pass
    assert read(tmp_path) == {b"new"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"waiting": 3, "removed": []}',
        '{"waiting": {"../x": ".projected-kmeans-0123456789abcdef.tmp"}, "removed": []}',
        '{"waiting": {"a.txt": "mine.txt"}, "removed": []}',
        '{"waiting": {}, "removed": ["../mine.txt"]}',
    ],
)
def test_a_journal_of_others_moves_nothing(text: str, tmp_path: Path) -> None:
    """A journal that is damaged or forged touches no file, and the next writer removes it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder, b"old")
    for place in (tmp_path, folder):
        (place / "mine.txt").write_text("mine")
    (folder / JOURNAL).write_text(text)
    assert read(folder) == {b"old"}
    write(folder, b"new")
    assert read(folder) == {b"new"}
    assert {(place / "mine.txt").read_text() for place in (tmp_path, folder)} == {"mine"}
    assert not (folder / JOURNAL).exists()


def test_links_and_modes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A symbolic link stays one and its target is replaced, after an interruption too."""
    store, folder = tmp_path / "store", tmp_path / "folder"
    store.mkdir()
    folder.mkdir()
    (store / "real.txt").write_bytes(b"old")
    (store / "real.txt").chmod(0o640)
    (folder / "a.txt").symlink_to(store / "real.txt")
    write(folder, b"new")
    leave_journal(folder, b"newer", monkeypatch)
    assert read(folder) == {b"newer"}
    assert (folder / "a.txt").is_symlink()
    assert (store / "real.txt").read_bytes() == b"newer"
    assert stat.S_IMODE((store / "real.txt").stat().st_mode) == 0o640
    assert [file.name for file in store.iterdir()] == ["real.txt"]


def test_files_that_the_new_group_does_not_have(tmp_path: Path) -> None:
    """A file of the old group is removed with the others, and one that is missing is no error."""
    write(tmp_path, b"old")
    with replace_group(tmp_path) as group:
        group.add("a.txt", lambda handle: handle.write(b"new"))
        group.remove("b.txt")
        group.remove("none.txt")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt", "c.txt"]


def test_the_folder_is_held(tmp_path: Path) -> None:
    """Inside the block of a reader there is no writer, and inside that of a writer no reader."""
    for hold, shared in ((read_group, False), (replace_group, True)):
        with hold(tmp_path):
            descriptor = os.open(tmp_path, os.O_RDONLY)
            assert try_lock(descriptor, shared=shared) is Locked.BUSY
            os.close(descriptor)


def test_the_disk_gets_everything_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No power failure leaves a journal without its files, or names without their files."""
    write(tmp_path, b"old")
    done: list[str] = []
    sync, rename, remove = os.fsync, os.replace, os.unlink

    def note_sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        done.append("sync folder" if is_folder else "sync file")
        sync(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        done.append(f"rename {target.name}")
        rename(source, target)

    def note_removal(path: Path) -> None:
        if path.name == JOURNAL:
            done.append("remove journal")
        remove(path)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    monkeypatch.setattr(os, "unlink", note_removal)
    write(tmp_path, b"new", NAMES[:2])
    journal = ["sync folder", "sync file", f"rename {JOURNAL}", "sync folder"]
    names = ["rename a.txt", "rename b.txt", "sync folder", "remove journal"]
    assert done == ["sync file", "sync file", *journal, *names]


def test_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """What a killed process has left before its journal is gone before new files are written."""
    left = tmp_path / ".projected-kmeans-0123456789abcdef.tmp"
    left.write_bytes(b"half")
    with replace_group(tmp_path):
        assert not left.exists()


def test_readers_beside_writers(tmp_path: Path) -> None:
    """While two writers replace a group 12 times each, every reader finds one whole group."""
    write(tmp_path, b"0")
    contents = [[b"%d.%d" % (writer, turn) for turn in range(12)] for writer in range(2)]

    def replace(mine: list[bytes]) -> None:
        for content in mine:
            write(tmp_path, content)

    writers = [threading.Thread(target=replace, args=(mine,)) for mine in contents]
    for writer in writers:
        writer.start()
    n_read = 0
    while any(writer.is_alive() for writer in writers) or n_read == 0:
        with read_group(tmp_path) as group:
            assert len({group.find(name).read_bytes() for name in NAMES}) == 1
        n_read += 1
    for writer in writers:
        writer.join()
    assert read(tmp_path) in ({contents[0][-1]}, {contents[1][-1]})
    finish_replacement(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == list(NAMES)


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
    monkeypatch.setattr(output_group, "MAX_WAIT", 0.05)
    with hold_folder(tmp_path), hold_folder(tmp_path):
        pass


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    """There is nothing to lock, and who reads there tells so."""
    with hold_folder(tmp_path / "none", shared=True):
        pass
