"""Files that an option names for output: their formats, and whether they can be written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from projected_kmeans.output_files import open_output_folder


def check_file(out: str, formats: Sequence[str] = ()) -> Path:
    """Return the path of a file to write; refuse a folder, and a format that is not among these.

    Examples
    --------
    >>> check_file("curves.txt", [".npy", ".json", ".csv"])
    Traceback (most recent call last):
    ValueError: curves.txt has the unknown format '.txt'; use .npy, .json or .csv
    """
    path = Path(out)
    if formats and path.suffix not in formats:
        *others, last = formats
        known = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{out} has the unknown format {path.suffix!r}; use {known}")
    if path.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    return path


def open_file_folder(
    out: str | None, formats: Sequence[str]
) -> AbstractContextManager[Path | None]:
    """Check, before the long work, that a file can be written; None writes no file."""
    return nullcontext() if out is None else open_output_folder(check_file(out, formats).parent)
