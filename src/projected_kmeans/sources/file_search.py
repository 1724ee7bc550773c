"""Which files a path stands for, how they are called, and of which format they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.format_table import FORMATS, TABLE
from projected_kmeans.sources.protocol import UnreadableFile


class FoundFiles(NamedTuple):
    """Files of one format.

    Attributes
    ----------
    files : list of Path
        In the order of their rows.
    extension : str
        A key of `FORMATS`.
    """

    files: list[Path]
    extension: str


def find_files(path: Path, format: str | None) -> FoundFiles:
    """Return the files that a path stands for.

    Parameters
    ----------
    path : Path
        A file or a folder.
    format : str or None
        A key of `FORMATS`, with or without its dot; None goes by the extension.
    """
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
    """Return the names of the files that a path stands for, relative to it if it is a folder.

    Examples
    --------
    >>> name_files(Path("pets"), [Path("pets/cats/1.png"), Path("pets/cats/2.png")])
    ('cats/1.png', 'cats/2.png')
    """
    folder = path.parent if list(files) == [path] else path
    return tuple(file.relative_to(folder).as_posix() for file in files)


def name_folders(path: Path, files: Sequence[Path]) -> NDArray[np.str_]:
    """Return for each file the name of the folder inside ``path`` that it lies in.

    Of folders in folders the outermost counts, as in other programs that read labels so.

    Examples
    --------
    >>> name_folders(Path("pets"), [Path("pets/cats/1.png"), Path("pets/dogs/old/1.png")]).tolist()
    ['cats', 'dogs']
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
    found: dict[tuple[str, ...], list[Path]] = {}
    for file in sorted(folder.rglob("*"), key=lambda file: file.relative_to(folder).as_posix()):
        entry = FORMATS.get(file.suffix.lower())
        # Names with a dot or an underscore are not data: marks of Spark, checkpoints of notebooks.
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        if entry is not None and file.is_file() and not hidden:
            found.setdefault(entry.extensions, []).append(file)
    if extension is not None:
        found = {ends: files for ends, files in found.items() if extension in ends}
    if not found:
        wanted = ", ".join(FORMATS) if extension is None else extension
        raise UnreadableFile(f"{folder} holds no file of a known format; use one of {wanted}")
    if len(found) > 1:
        examples = " and ".join(files[0].name for files in found.values())
        raise UnreadableFile(f"{folder} holds several formats ({examples}); choose one with format")
    (files,) = found.values()
    return FoundFiles(files, files[0].suffix.lower())
