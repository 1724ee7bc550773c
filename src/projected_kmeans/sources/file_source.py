"""The row source of one file, or of several files that one reader reads together.

`FileRows` adds to a reader what all formats share: checked ranges, plain layout, errors of one
sentence, and a fingerprint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from projected_kmeans.sources.file_reader import Reader, explain_errors
from projected_kmeans.sources.mapped_files import check_file
from projected_kmeans.sources.protocol import Rows, SourceDefaults, UnreadableFile, check_range
from projected_kmeans.sources.row_layout import plain_dtype, plain_rows

# A fingerprint reads 64 KB at each of three places of a file: start, middle and end.
SAMPLE_BYTES = 2**16


class FileRows(SourceDefaults):
    """The row source of files that a reader has opened.

    Parameters
    ----------
    files : sequence of Path
        The files, for errors and the fingerprint.
    format : str
        The extension that names the format, for errors and the fingerprint.
    choice : object
        What was chosen of the files; its repr is part of the fingerprint.
    reader : Reader
        Reads ranges of rows.

    Attributes
    ----------
    name : str
        What errors call the source: the file, or the folder if there are several files.
    """

    def __init__(self, files: Sequence[Path], format: str, choice: object, reader: Reader) -> None:
        self.files = tuple(files)
        self.format = format
        self.name = str(files[0] if len(files) == 1 else files[0].parent)
        self.shape = reader.shape
        self.dtype = plain_dtype(reader.dtype)
        self.sparse = reader.sparse
        self.forward_only = reader.forward_only
        self.feature_names = reader.feature_names
        self.labels = reader.labels
        self.image_shape = reader.image_shape
        self._choice = repr(choice)
        self._reader = reader

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1; raise if the file has other rows by now."""
        check_range(start, stop, self.shape[0])
        with explain_errors(self.name, self.format):
            found = self._reader.read(start, stop)
            rows = plain_rows(found, self.dtype)
            check_file(found)
        if rows.shape != (stop - start, self.shape[1]):
            raise UnreadableFile(
                f"{self.name} has changed: its rows {start}:{stop} have shape {rows.shape}; open "
                "it again"
            )
        return rows

    def identity(self) -> str:
        """Return a hash of sizes, modification times, shape, type and some bytes; not of paths."""
        known = (self.format, self.shape, self.dtype.str, self.feature_names, self._choice)
        digest = hashlib.sha256(repr(known).encode())
        for file in self.files:
            for part in sorted(file.rglob("*")) if file.is_dir() else [file]:
                _add_file(digest, part)
        return digest.hexdigest()

    def close(self) -> None:
        """Close open files; a later `read` opens them again."""
        self._reader.close()


def _add_file(digest: Any, file: Path) -> None:
    state = file.stat()
    digest.update(repr((state.st_size, state.st_mtime_ns)).encode())
    if not file.is_file():
        return
    with open(file, "rb") as handle:
        for start in (0, state.st_size // 2, max(0, state.st_size - SAMPLE_BYTES)):
            handle.seek(start)
            digest.update(handle.read(SAMPLE_BYTES))
