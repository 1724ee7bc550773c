"""The table of all file formats, and which files of which of them a path stands for.

A new format is a new line in `TABLE`; the docstring of the package lists what else it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_format import Format
from projected_kmeans.sources.formats.columnar import ARROW, PARQUET
from projected_kmeans.sources.formats.hdf5 import HDF5, MAT
from projected_kmeans.sources.formats.images import IMAGES
from projected_kmeans.sources.formats.npy import BVECS, FVECS, IVECS, NPY
from projected_kmeans.sources.formats.npz import NPZ
from projected_kmeans.sources.formats.svmlight import SVMLIGHT
from projected_kmeans.sources.formats.text import CSV, TSV
from projected_kmeans.sources.formats.zarr import ZARR
from projected_kmeans.sources.protocol import UnreadableFile

# Errors and help texts list the extensions in this order.
TABLE = (
    NPY,
    NPZ,
    MAT,
    CSV,
    TSV,
    PARQUET,
    ARROW,
    HDF5,
    ZARR,
    SVMLIGHT,
    FVECS,
    BVECS,
    IVECS,
    IMAGES,
)
FORMATS: dict[str, Format] = {extension: entry for entry in TABLE for extension in entry.extensions}


class FoundFiles(NamedTuple):
    """Files of one format in the order of their rows, and the key of that format in `FORMATS`."""

    files: list[Path]
    extension: str


def find_files(path: Path, format: str | None) -> FoundFiles:
    """Return the files that a file or folder stands for; without a format, by their extension."""
    check_exists(path)
    named = None if format is None else "." + format.lower().removeprefix(".")
    extension = _guess_extension(path) if named is None else named
    entry = FORMATS.get(extension)
    is_one = path.is_file() or (entry is not None and entry.is_store is not None)
    if entry is None and (is_one or named is not None):
        raise unknown_format(path, extension, FORMATS)
    return FoundFiles([path], extension) if is_one else _find_in_folder(path, named)


def check_exists(path: Path) -> None:
    """Raise if there is neither a file nor a folder."""
    if not path.exists():
        raise UnreadableFile(f"{path} does not exist; check the path")
    if not (path.is_file() or path.is_dir()):
        raise UnreadableFile(f"{path} is not a regular file; save the data to a file first")


def unknown_format(path: Path, extension: str, known: Iterable[str]) -> UnreadableFile:
    """Return the error to raise for an extension that is not known."""
    what = f"{path} has the unknown format {extension!r}" if extension else f"{path} has no format"
    return UnreadableFile(f"{what}; use one of {', '.join(known)}")


def name_files(path: Path, files: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the files that a path stands for, relative to it if it is a folder."""
    folder = path.parent if list(files) == [path] else path
    return tuple(file.relative_to(folder).as_posix() for file in files)


def name_folders(path: Path, files: Sequence[Path]) -> NDArray[np.str_]:
    """Return for each file the name of the folder inside ``path`` that it lies in.

    Of folders in folders the outermost counts, as in other programs that read labels so.
    """
    names = [Path(name).parts for name in name_files(path, files)]
    for name in names:
        if len(name) == 1:
            raise UnreadableFile(
                f"{name[0]} lies in no folder inside {path}, so that it has no label; put each "
                "image into the folder of its label"
            )
    return np.array([name[0] for name in names])


def _guess_extension(path: Path) -> str:
    if path.is_dir():
        for entry in TABLE:
            if entry.is_store is not None and entry.is_store(path):
                return entry.extensions[0]
    return path.suffix.lower()


def _find_in_folder(folder: Path, extension: str | None) -> FoundFiles:
    known: dict[tuple[str, ...], list[Path]] = {}
    for file in sorted(folder.rglob("*"), key=lambda file: file.relative_to(folder).as_posix()):
        entry = FORMATS.get(file.suffix.lower())
        # Names with a dot or an underscore are not data: marks of Spark, checkpoints of notebooks.
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        if entry is not None and file.is_file() and not hidden:
            known.setdefault(entry.extensions, []).append(file)
    if extension is not None:
        known = {ends: files for ends, files in known.items() if extension in ends}
    if not known:
        wanted = ", ".join(FORMATS) if extension is None else extension
        raise UnreadableFile(f"{folder} holds no file of a known format; use one of {wanted}")
    if len(known) > 1:
        examples = " and ".join(files[0].name for files in known.values())
        raise UnreadableFile(f"{folder} holds several formats ({examples}); choose one with format")
    (files,) = known.values()
    return FoundFiles(files, files[0].suffix.lower())
