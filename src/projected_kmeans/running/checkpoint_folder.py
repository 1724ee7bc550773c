"""A folder of named parts, each a document with arrays that is whole, intact and of one run.

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
FORMAT_VERSION = 1

# The part that tells whose the others are, and the file that a run holds while it writes.
RUN, LOCK = "run", "lock"
SUFFIX, ARRAY_SUFFIX = ".part", ".part.npy"

DIGEST_BYTES = 32
PIECE_BYTES = 2**20
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class Part:
    """A document that JSON can hold, and arrays by name."""

    document: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class DamagedPart(Exception):
    """A part that is torn, or has other bytes than were written."""


class OtherVersion(ValueError):
    """A part that is written in another format; its message is a sentence."""


class CheckpointFolder:
    """Parts of one run; those of another run are as good as absent.

    Parameters
    ----------
    folder : Path
        Where they lie.
    run : mapping
        What tells the run from others; values that JSON can hold. It is a part itself, stored
        before any other, and all others are marked with its hash.

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
        """Return a part; None where there is none of this run, with a warning if it is damaged."""
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
        """Store a part in the place of the one that was there, whole or not at all."""
        if not self._place(RUN).exists():
            _write(self._place(RUN), self._run, self._described)
        _write(self._place(name), self._run, part)

    def array_file(self, name: str) -> Path:
        """Return the place of an array that is too large for a part; a part tells what it holds."""
        return self.path / f"{name}{ARRAY_SUFFIX}"

    def clear(self, *kept: str) -> None:
        """Remove all parts but those named, and all arrays."""
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
    """Open the parts of a run, which nobody else does at the same time.

    Parameters
    ----------
    path : str or path
        The folder: new, empty, or that of the same run.
    run : mapping
        What tells the run from others, by names that the caller knows; values that JSON can hold.
        A folder of another run is refused.
    """
    with open_output_folder(path) as folder, _hold(folder):
        _check_run(folder, json.loads(json.dumps(run)))
        for file in folder.iterdir():  # what was being written when a process was killed
            if TEMPORARY.fullmatch(file.name):
                file.unlink()
        yield CheckpointFolder(folder, run)


def warn_of_damage(path: Path) -> None:
    """Say that a file is not used."""
    warnings.warn(
        f"{path} is damaged and is ignored: what it held is computed again",
        UserWarning,
        stacklevel=2,
    )


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; the system ends that with the process, however."""
    with _open_lock(folder) as handle:
        _lock(handle, folder)
        try:
            yield
        finally:
            if not (folder / f"{RUN}{SUFFIX}").exists():  # nothing was stored: nothing stays
                (folder / LOCK).unlink()


def _open_lock(folder: Path) -> BinaryIO:
    try:
        return open(folder / LOCK, "ab")
    except OSError as error:
        raise cannot_write(folder, error) from error


def _lock(handle: BinaryIO, folder: Path) -> None:
    """Raise where another process has the folder."""
    try:
        import fcntl
    except ImportError:  # Windows, where nobody keeps two runs apart
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(
            f"the checkpoint {folder} is in use by another process; wait for it, or use "
            "another folder"
        ) from None


def _check_run(folder: Path, run: dict[str, Any]) -> None:
    """Raise where a folder holds a checkpoint of something else, or no checkpoint but files."""
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
    except DamagedPart:  # the other parts still tell by their mark whose they are
        warn_of_damage(place)
        place.unlink()
        return
    different = [name for name in run if stored.get(name) != run[name]]
    if different:
        name = different[0]
        tell = isinstance(run[name], int | float | str | None) and len(str(run[name])) < 40
        detail = f"{name}={stored.get(name)!r}, not {run[name]!r}" if tell else f"other {name}"
        raise ValueError(
            f"the checkpoint {folder} belongs to {detail}; repeat that call, or use another folder"
        )


def _is_ours(file: Path) -> bool:
    return file.name == LOCK or TEMPORARY.fullmatch(file.name) is not None


class _Hashing:
    """A binary file that is hashed as it is written."""

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
    """Return the mark of a part and the part; raise `DamagedPart` where its bytes are others."""
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
