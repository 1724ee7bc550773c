"""Files of one folder that belong together: they are replaced as a whole, or not at all.

How a group is replaced:

1. All new files are written under temporary names and synchronized to the disk. A full disk, an
   error or a kill up to here leaves the old files as they were.
2. The journal, a small file that lists the temporary files and their names, appears by one rename.
   From this moment on the group is the new one.
3. The temporary files are renamed one by one, and the journal is removed.

A process that is killed during the third step leaves the journal. Whoever opens the group next
finishes the renaming. A reader who may not write there reads the temporary files instead. A writer
holds the lock of the folder alone and readers share it, so that readers see the old group or the
new one. Other files in the folder are never touched.

A program that opens the files by their names and does not use this module can see files of two
groups during the third step, which takes some microseconds a file.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from projected_kmeans.output_files import (
    JOURNAL,
    TEMPORARY,
    Hashing,
    Locked,
    StagedFile,
    cannot_write,
    encode_json,
    remove_abandoned,
    stage_file,
    sync_folder,
    try_lock,
)

# Wait at most 60 s for the lock of a folder. A process that holds it so long has been stopped, and
# a result must not wait for it: checksums still tell files of two fits apart.
MAX_WAIT = 60.0
SECONDS_BETWEEN_TRIES = 0.01


@dataclass(frozen=True)
class GroupReader:
    """The present files of a group, while the folder is held for reading.

    ``waiting`` has the names of files that still have a temporary name, and that name.
    """

    folder: Path
    waiting: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Path:
        """Return the path at which the present content of a file lies, if it exists."""
        target = self.folder / name
        if name not in self.waiting:
            return target
        temporary = Path(os.path.realpath(target)).parent / self.waiting[name]
        return temporary if temporary.exists() else target


class GroupWriter:
    """New files of a group, which get their names all together when the group is closed.

    ``digests`` has the SHA-256 of each new file by its name.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.digests: dict[str, str] = {}
        self._stack = stack
        self._staged: dict[str, StagedFile] = {}
        self._removed: list[str] = []

    def add(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        """Write a file of the group under a temporary name.

        ``write`` gets an object that has no method of a binary file but ``write``.
        """
        hashing: list[Hashing] = []

        def write_hashed(handle: BinaryIO) -> None:
            hashing.append(Hashing(handle))
            write(hashing[-1])  # type: ignore[arg-type]  # writers only write

        try:
            staged = self._stack.enter_context(stage_file(self.folder / name, write_hashed))
        except OSError as error:
            raise cannot_write(self.folder / name, error) from error
        self._staged[name] = staged
        self.digests[name] = hashing[-1].digest.hexdigest()

    def remove(self, name: str) -> None:
        """Remove a file of the old group, which the new one does not have."""
        self._removed.append(name)

    def commit(self) -> None:
        """Let the new group take the place of the old one."""
        waiting = {name: staged.temporary.name for name, staged in self._staged.items()}
        content = encode_json({"waiting": waiting, "removed": self._removed})
        try:
            sync_folder(self.folder)
            with stage_file(self.folder / JOURNAL, lambda handle: handle.write(content)) as journal:
                os.replace(journal.temporary, journal.target)
                sync_folder(self.folder)
            finish_replacement(self.folder)
        except OSError as error:
            self._try_again(error)
        except BaseException:
            finish_replacement(self.folder)
            raise

    def _try_again(self, error: OSError) -> None:
        """Finish a replacement whose renaming has failed; raise if it has not begun."""
        if not (self.folder / JOURNAL).exists():
            raise cannot_write(self.folder, error) from error
        try:
            finish_replacement(self.folder)
        except OSError as second:
            raise ValueError(
                f"the new files in {self.folder} could not be given their names "
                f"({second.strerror}); nothing is lost: cure that, and use the folder again"
            ) from second


@contextmanager
def replace_group(folder: str | os.PathLike[str]) -> Iterator[GroupWriter]:
    """Replace files of a folder together, at the end of the block; none if the block raises."""
    folder = Path(folder)
    with hold_folder(folder), ExitStack() as stack:
        try:
            finish_replacement(folder)
        except OSError as error:
            raise cannot_write(folder, error) from error
        remove_abandoned(folder)
        group = GroupWriter(folder, stack)
        yield group
        group.commit()


@contextmanager
def read_group(folder: str | os.PathLike[str]) -> Iterator[GroupReader]:
    """Hold a folder for reading: no group in it is replaced inside the block.

    A replacement there that a kill has interrupted is finished first.
    """
    folder = Path(folder)
    if (folder / JOURNAL).exists():
        with hold_folder(folder), suppress(OSError):  # a reader may lack the right to rename
            finish_replacement(folder)
    with hold_folder(folder, shared=True):
        yield GroupReader(folder, _read_journal(folder).waiting)


@dataclass(frozen=True)
class _Journal:
    waiting: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def finish_replacement(folder: Path) -> None:
    """Give the files that the journal of a folder lists their names; the lock must be held."""
    path = folder / JOURNAL
    if not path.exists():
        return
    journal = _read_journal(folder)
    targets = {name: Path(os.path.realpath(folder / name)) for name in journal.waiting}
    for name, target in targets.items():
        with suppress(FileNotFoundError):  # an earlier process has renamed it
            os.replace(target.parent / journal.waiting[name], target)
    for name in journal.removed:
        (folder / name).unlink(missing_ok=True)
    for parent in {folder, *(target.parent for target in targets.values())}:
        sync_folder(parent)
    path.unlink(missing_ok=True)


def _read_journal(folder: Path) -> _Journal:
    """Return what the journal says; nothing if there is none, or if it is not one of ours."""
    try:
        journal = json.loads((folder / JOURNAL).read_bytes())
        waiting, removed = dict(journal["waiting"]), tuple(journal["removed"])
        plain = all(re.fullmatch(r"\w[\w.-]*", name) for name in (*waiting, *removed))
        if plain and all(TEMPORARY.fullmatch(name) for name in waiting.values()):
            return _Journal(waiting, removed)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return _Journal()


@contextmanager
def hold_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a folder; wait for it for at most a minute, then go on without it.

    Nothing is written for the lock: it is that of the folder itself. A folder that does not exist,
    or whose file system has no locks, is not locked.

    Readers share a lock; a writer holds it alone.
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
