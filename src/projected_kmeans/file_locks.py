"""Locks of files and folders, which the system releases when their process ends for any reason.

Some file systems have no locks, as NFS without its lock service, and Windows has none of this kind.
That is told apart from a lock that another process holds, because only the latter must be obeyed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

# Wait at most 60 s for the lock of a folder. A process that holds it so long has been stopped, and
# a result must not wait for it: checksums still tell files of two fits apart.
MAX_WAIT = 60.0
SECONDS_BETWEEN_TRIES = 0.01


class Locked(Enum):
    """What became of the wish for a lock."""

    HELD = "the lock is ours"
    BUSY = "another process holds the lock"
    UNSUPPORTED = "the file system has no locks"


def try_lock(descriptor: int, *, shared: bool = False) -> Locked:
    """Ask for the lock of an open file or folder, and do not wait for it.

    Closing the descriptor of the file releases the lock. Others may share a shared lock.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     try_lock(file.fileno())
    <Locked.HELD: 'the lock is ours'>
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


@contextmanager
def hold_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a folder; wait for it for at most a minute, then go on without it.

    Nothing is written for the lock: it is that of the folder itself. A folder that does not exist,
    or whose file system has no locks, is not locked.

    Readers share a lock; a writer holds it alone.

    Examples
    --------
    >>> import tempfile
    >>> with hold_folder(Path(tempfile.mkdtemp()), shared=True):
    ...     pass
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # what reads or writes there next tells why
        yield
        return
    try:
        end = time.monotonic() + MAX_WAIT
        while try_lock(descriptor, shared=shared) is Locked.BUSY and time.monotonic() < end:
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(descriptor)
