"""Write files completely or not at all, and check before long work that a folder is writable.

A file is written under a temporary name beside its place, synchronized to the disk, and renamed.
The folder is synchronized then, too. While a process writes a temporary file, it holds the lock of
that file. If the process is killed, the system releases the lock, and the next process that writes
into the folder removes the file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

# The file that lists temporary files of a group whose renaming has begun; see `output_group`.
JOURNAL = ".projected-kmeans-commit.json"
TEMPORARY = re.compile(r"\.projected-kmeans-[0-9a-f]{16}\.tmp")

# What systems answer if they cannot synchronize a folder.
CANNOT_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES)


class Locked(Enum):
    """What became of the wish for a lock."""

    HELD = "the lock is ours"
    BUSY = "another process holds the lock"
    UNSUPPORTED = "the file system has no locks"


def try_lock(descriptor: int, *, shared: bool = False) -> Locked:
    """Ask for the lock of an open file or folder, and do not wait for it.

    Closing the descriptor of the file, or the end of the process, releases the lock. filelock would
    leave a second file beside each, and has no shared locks of a folder.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return Locked.UNSUPPORTED
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return Locked.BUSY
    except OSError:  # ENOLCK, EOPNOTSUPP, ENOSYS; NFS gives EBADF for a folder
        return Locked.UNSUPPORTED
    return Locked.HELD


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file through a temporary one beside it: readers see the old content or the new.

    A file that is replaced keeps its mode, and a symbolic link stays one: its target is replaced.
    A pipe or a device is written to directly.

    If ``write`` raises, the file at the path is unchanged.
    """
    path = Path(path)
    try:
        if _is_stream(path):
            with open(path, "wb") as handle:
                write(handle)
            return
        remove_abandoned(Path(os.path.realpath(path)).parent)
        with stage_file(path, write) as staged:
            os.replace(staged.temporary, staged.target)
            sync_folder(staged.target.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


@dataclass(frozen=True)
class StagedFile:
    """A new file that is whole and synchronized, but does not have its name yet."""

    temporary: Path
    target: Path


@contextmanager
def stage_file(path: Path, write: Callable[[BinaryIO], object]) -> Iterator[StagedFile]:
    """Write a file under a temporary name; what was not renamed at the end is removed.

    If the place is a symbolic link, the temporary file lies beside its target.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    while True:
        temporary = target.parent / f".projected-kmeans-{secrets.token_hex(8)}.tmp"
        try:
            with open(temporary, "xb") as handle:
                lock = try_lock(handle.fileno())  # it shows that the writer of the file is alive
                if lock is Locked.BUSY or not temporary.exists():
                    continue  # another process found the file before its lock, and removes it
                _copy_mode(target, temporary)
                write(handle)
                handle.flush()
                os.fsync(handle.fileno())
                if lock is Locked.UNSUPPORTED:
                    handle.close()  # Windows renames no open file
                yield StagedFile(temporary, target)
                return
        finally:
            if not _is_committed(temporary, path.parent):
                with suppress(OSError):
                    temporary.unlink()


def write_json(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document as indented JSON, atomically; NaN and infinity are refused."""
    content = encode_json(document)
    write_atomically(path, lambda handle: handle.write(content))


def encode_json(document: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes of an indented JSON file."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    return text.encode()


def write_array(path: str | os.PathLike[str], array: NDArray[Any]) -> None:
    """Write an array of numbers as ``.npy``, atomically; Python objects are refused."""
    write_atomically(path, lambda handle: save_array(handle, array))


def save_array(handle: BinaryIO, array: NDArray[Any]) -> None:
    """Write an array of numbers as ``.npy`` to an open file; a full disk raises an OSError."""
    np.save(_Stream(handle), array, allow_pickle=False)


def hash_array(array: NDArray[Any]) -> str:
    """Return the SHA-256 of the ``.npy`` file that `save_array` writes."""
    hashing = Hashing()
    save_array(hashing, array)  # type: ignore[arg-type]  # it only writes
    return hashing.digest.hexdigest()


class Hashing:
    """A binary file whose content is hashed while it is written; without a file, only hashed."""

    def __init__(self, handle: BinaryIO | None = None) -> None:
        self.digest = hashlib.sha256()
        self._handle = handle

    def write(self, content: Any) -> int:
        """Hash bytes, and write them to the file if there is one."""
        self.digest.update(content)
        return memoryview(content).nbytes if self._handle is None else self._handle.write(content)


class _Stream:
    """A file that NumPy writes to through Python, because its own way ignores a full disk."""

    def __init__(self, handle: BinaryIO) -> None:
        self.write = handle.write


@contextmanager
def open_output_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Create a folder and write a probe file there, so that long work does not end in an error.

    The folder may exist. Temporary files that killed processes left there are removed. If the
    work inside fails, the folders that were created here and are still empty are removed again.
    """
    folder = Path(path)
    created = [level for level in (folder, *folder.parents) if not level.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_abandoned(folder)
            with stage_file(folder / "probe", lambda handle: handle.write(b"probe")):
                pass
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield folder
    except BaseException:
        for level in created:
            with suppress(OSError):  # a folder that is not empty stays, because rmdir refuses it
                level.rmdir()
        raise


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that have ended from a folder.

    A file whose lock is held has a living writer and stays, and so does every file if the file
    system has no locks. Files that a journal lists stay, because they are still to be renamed.
    """
    try:
        names = [name for name in os.listdir(folder) if TEMPORARY.fullmatch(name)]
    except OSError:  # what is written there next tells why
        return
    for path in (folder / name for name in names):
        with suppress(OSError), open(path, "r+b") as handle:
            if try_lock(handle.fileno()) is Locked.HELD and not _is_committed(path, folder):
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power failure, if the system can."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def _is_committed(temporary: Path, folder: Path) -> bool:
    """Tell whether the journal of a folder lists a temporary file."""
    try:
        return temporary.name in (folder / JOURNAL).read_text("utf-8", "replace")
    except OSError:
        return False


def _is_stream(path: Path) -> bool:
    """Tell whether a path is a pipe or a device, which a file must not replace."""
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def _copy_mode(target: Path, temporary: Path) -> None:
    """Give a new file the mode of the file that it replaces, if there is one."""
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(target).st_mode)
        if mode != stat.S_IMODE(os.stat(temporary).st_mode):
            os.chmod(temporary, mode)


def cannot_write(path: Path, error: OSError) -> ValueError:
    """Return the error to raise if a file or folder cannot be written."""
    reason = error.strerror or type(error).__name__
    return ValueError(f"{path} cannot be written ({reason}); choose another place")
