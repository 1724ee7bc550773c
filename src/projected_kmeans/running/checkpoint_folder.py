"""A folder of named parts: each is a JSON document with arrays, complete and checksummed.

Knows files, checksums and locks; it does not know what the parts mean.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.output_files import cannot_write, open_output_folder, write_atomically

FORMAT = "projected_kmeans checkpoint"
FORMAT_VERSION = 2

# The part that describes the run, and the file that a process locks while it uses the folder.
RUN, LOCK = "run", "lock"
SUFFIX, ARRAY_SUFFIX = ".part", ".part.npy"

DIGEST_BYTES = 32
PIECE_BYTES = 2**20
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class Part:
    """A document of values that JSON can hold, and arrays by name."""

    document: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class DamagedPart(Exception):
    """A part ends early, or its bytes are not those that were written."""


class OtherVersion(ValueError):
    """A part was written in another format version."""


class CheckpointFolder:
    """The parts of one run. Parts of another run in the same folder are ignored.

    Parameters
    ----------
    folder : Path
        Where the parts are.
    run : mapping
        What distinguishes the run from others, as values that JSON can hold. It is stored before
        any other part, and its hash is written into every part.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = CheckpointFolder(pathlib.Path(tempfile.mkdtemp()), {"data": "mine"})
    >>> folder.write("sums", Part({"rows": 3}, {"totals": np.array([1.0, 2.0])}))
    >>> folder.read("sums").document, folder.read("sums").arrays["totals"]
    ({'rows': 3}, array([1., 2.]))
    >>> folder.read("other") is None
    True
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
            run, part = _read(path)
        except FileNotFoundError:
            return None
        except DamagedPart:
            warn_of_damage(path)
            return None
        return part if run == self._run else None

    def write(self, name: str, part: Part) -> None:
        """Store a part in place of an earlier one, completely or not at all."""
        if not self._place(RUN).exists():
            _write(self._place(RUN), self._run, self._described)
        _write(self._place(name), self._run, part)

    def array_file(self, name: str) -> Path:
        """Return the file of an array that is too large for a part."""
        return self.path / f"{name}{ARRAY_SUFFIX}"

    def clear(self, *kept: str) -> None:
        """Remove all parts except those named, and all array files."""
        stay = {self._place(name) for name in (RUN, *kept)}
        for file in self.path.iterdir():
            if file.name.endswith((SUFFIX, ARRAY_SUFFIX)) and file not in stay:
                file.unlink()

    def _place(self, name: str) -> Path:
        return self.path / f"{name}{SUFFIX}"


@contextmanager
def open_checkpoint_folder(
    path: str | os.PathLike[str], run: Mapping[str, Any]
) -> Iterator[CheckpointFolder]:
    """Open the folder of a run and lock it: one process at a time may use it.

    Parameters
    ----------
    path : str or path
        The folder: new, empty, or that of the same run.
    run : mapping
        What distinguishes the run from others, by names that the caller knows, as values that JSON
        can hold. A folder of another run is refused.
    """
    with open_output_folder(path) as folder, _hold(folder):
        _check_run(folder, json.loads(json.dumps(run)))
        for file in folder.iterdir():  # files that a killed process was writing
            if TEMPORARY.fullmatch(file.name):
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
    with _open_lock(folder) as handle:
        _lock(handle, folder)
        try:
            yield
        finally:
            if not (folder / f"{RUN}{SUFFIX}").exists():  # no part was stored
                (folder / LOCK).unlink()


def _open_lock(folder: Path) -> BinaryIO:
    try:
        return open(folder / LOCK, "ab")
    except OSError as error:
        raise cannot_write(folder, error) from error


def _lock(handle: BinaryIO, folder: Path) -> None:
    """Raise if another process has locked the folder."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock: there, two runs are not kept apart
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(
            f"the checkpoint {folder} is in use by another process; wait for it, or use "
            "another folder"
        ) from None


def _check_run(folder: Path, run: dict[str, Any]) -> None:
    """Raise if a folder holds the checkpoint of another run, or files but no checkpoint."""
    place = folder / f"{RUN}{SUFFIX}"
    try:
        stored = _read(place)[1].document
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
        detail = f"{name}={stored.get(name)!r}, not {run[name]!r}" if short else f"other {name}"
        raise ValueError(
            f"the checkpoint {folder} belongs to {detail}; repeat that call, or use another folder"
        )


def _is_ours(file: Path) -> bool:
    return file.name == LOCK or TEMPORARY.fullmatch(file.name) is not None


class _Hashing:
    """A binary file whose content is hashed while it is written."""

    def __init__(self, handle: BinaryIO) -> None:
        self.digest = hashlib.sha256()
        self._handle = handle

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return self._handle.write(content)


def _write(path: Path, run: str, part: Part) -> None:
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "run": run,
        "document": part.document,
        "arrays": list(part.arrays),
    }

    def write(handle: BinaryIO) -> None:
        hashing: Any = _Hashing(handle)
        hashing.write(json.dumps(header).encode() + b"\n")
        for array in part.arrays.values():
            npy.write_array(hashing, np.ascontiguousarray(array), allow_pickle=False)
        handle.write(hashing.digest.digest())

    write_atomically(path, write)


def _read(path: Path) -> tuple[str, Part]:
    """Return the hash of a part's run, and the part; raise `DamagedPart` if bytes have changed."""
    with open(path, "rb") as handle:
        _check_digest(handle)
        handle.seek(0)
        header = json.loads(handle.readline())
        if header.get("format_version") != FORMAT_VERSION:
            raise OtherVersion(
                f"{path} has format version {header.get('format_version')!r} and this package "
                f"reads {FORMAT_VERSION}; use another folder, or the package that wrote it"
            )
        arrays = {name: npy.read_array(handle, allow_pickle=False) for name in header["arrays"]}
        return header["run"], Part(header["document"], arrays)


def _check_digest(handle: BinaryIO) -> None:
    left = os.fstat(handle.fileno()).st_size - DIGEST_BYTES
    digest = hashlib.sha256()
    while left > 0:
        piece = handle.read(min(left, PIECE_BYTES))
        digest.update(piece)
        left -= len(piece)
        if not piece:
            break
    if left or handle.read() != digest.digest():
        raise DamagedPart
