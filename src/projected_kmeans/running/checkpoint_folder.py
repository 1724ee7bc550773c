"""A folder of named parts, which one process at a time may use.

Knows files and locks; it does not know what the parts mean, and `part_files` how they are stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from projected_kmeans.documents import quote
from projected_kmeans.output_files import (
    TEMPORARY,
    Locked,
    cannot_write,
    open_output_folder,
    try_lock,
)
from projected_kmeans.running.part_files import DamagedPart, Part, read_part, write_part

# The part that describes the run, and the file that a process locks while it uses the folder.
RUN, LOCK = "run", "lock"
SUFFIX, ARRAY_SUFFIX = ".part", ".part.npy"

# Temporary files of earlier versions, which nothing else in the folder of a checkpoint resembles.
OLD_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


class CheckpointFolder:
    """The parts of one run. Parts of another run in the same folder are ignored.

    What distinguishes the run from others, as values that JSON can hold, is stored before any other
    part, and its hash is written into every part.
    """

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        text = json.dumps(run, sort_keys=True, allow_nan=False)
        self.path = folder
        self._described = Part(json.loads(text))
        self._run = hashlib.sha256(text.encode()).hexdigest()

    def read(self, name: str) -> Part | None:
        """Return a part; None if this run has none. Warns if the part is damaged."""
        path = self._place(name)
        try:
            run, part = read_part(path)
        except FileNotFoundError:
            return None
        except DamagedPart:
            warn_of_damage(path)
            return None
        return part if run == self._run else None

    def write(self, name: str, part: Part) -> None:
        """Store a part in place of an earlier one, completely or not at all."""
        if not self._place(RUN).exists():
            write_part(self._place(RUN), self._run, self._described)
        write_part(self._place(name), self._run, part)

    def array_file(self, name: str) -> Path:
        """Return the file of an array that is too large for a part."""
        return self.path / f"{name}{ARRAY_SUFFIX}"

    def clear(self, *kept: str) -> None:
        """Remove all parts except those named, and all array files."""
        stay = {self._place(name) for name in (RUN, *kept)}
        for file in self.path.iterdir():
            if file.name.endswith((SUFFIX, ARRAY_SUFFIX)) and file not in stay:
                file.unlink()

    def warn_of_damage(self, name: str) -> None:
        """Warn that a part is ignored."""
        warn_of_damage(self._place(name))

    def _place(self, name: str) -> Path:
        return self.path / f"{name}{SUFFIX}"


@contextmanager
def open_checkpoint_folder(
    path: str | os.PathLike[str], run: Mapping[str, Any]
) -> Iterator[CheckpointFolder]:
    """Open the folder of a run and lock it: one process at a time may use it.

    It is new, empty, or that of the same run. What distinguishes the run from others has names that
    the caller knows, because an error quotes them if the folder is that of another run.
    """
    with open_output_folder(path) as folder, _hold(folder):
        _check_run(folder, json.loads(json.dumps(run)))
        for file in folder.iterdir():  # files that a killed process was writing
            if _is_temporary(file):
                file.unlink()
        yield CheckpointFolder(folder, run)


def warn_of_damage(path: Path) -> None:
    """Warn that a file is ignored."""
    warnings.warn(
        f"{path} is damaged and is ignored: what it held is computed again",
        UserWarning,
        stacklevel=2,
    )


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Lock a folder. The system releases the lock when the process ends, for whatever reason."""
    with _open_lock(folder):
        try:
            yield
        finally:
            if not (folder / f"{RUN}{SUFFIX}").exists():  # no part was stored
                (folder / LOCK).unlink(missing_ok=True)


def _open_lock(folder: Path) -> BinaryIO:
    """Return the locked file of a folder; raise if another process has locked it."""
    while True:
        try:
            handle = open(folder / LOCK, "ab")  # noqa: SIM115 - it stays open
        except OSError as error:
            raise cannot_write(folder, error) from error
        state = try_lock(handle.fileno())
        if state is Locked.BUSY:
            handle.close()
            raise ValueError(
                f"the checkpoint {folder} is in use by another process; wait for it, or use "
                "another folder"
            )
        if state is Locked.UNSUPPORTED:
            warnings.warn(
                f"the file system of {folder} has no locks: let only one process at a time use "
                "this checkpoint",
                UserWarning,
                stacklevel=2,
            )
        if state is Locked.UNSUPPORTED or _is_same_file(handle, folder / LOCK):
            return handle
        handle.close()  # the process before has just removed this file


def _is_same_file(handle: BinaryIO, path: Path) -> bool:
    """Tell whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _check_run(folder: Path, run: dict[str, Any]) -> None:
    """Raise if a folder holds the checkpoint of another run, or files but no checkpoint."""
    place = folder / f"{RUN}{SUFFIX}"
    try:
        stored = read_part(place)[1].document
    except FileNotFoundError:
        others = [file.name for file in folder.iterdir() if not _is_ours(file)]
        if others:
            raise ValueError(
                f"{folder} holds {min(others)} and no checkpoint; use a new or an empty folder"
            ) from None
        return
    except DamagedPart:  # every other part holds the hash of its run
        warn_of_damage(place)
        place.unlink()
        return
    different = [name for name in run if stored.get(name) != run[name]]
    if different:
        name = different[0]
        short = isinstance(run[name], int | float | str | None) and len(str(run[name])) < 40
        detail = (
            f"{name}={quote(stored.get(name))}, not {run[name]!r}" if short else f"other {name}"
        )
        raise ValueError(
            f"the checkpoint {folder} belongs to {detail}; repeat that call, or use another folder"
        )


def _is_ours(file: Path) -> bool:
    return file.name == LOCK or _is_temporary(file)


def _is_temporary(file: Path) -> bool:
    return any(pattern.fullmatch(file.name) for pattern in (TEMPORARY, OLD_TEMPORARY))
