"""Text files of svmlight (libsvm): sparse rows with a label each.

One scan counts rows and finds the largest index; ranges are parsed again when they are read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.messages import first_line
from projected_kmeans.sources.file_format import Format, files_together
from projected_kmeans.sources.formats.text_index import whole_lines
from projected_kmeans.sources.protocol import SourceDefaults, UnreadableFile
from projected_kmeans.sources.row_layout import check_sparse, find_pieces

# Text is parsed in pieces of 1 MB, so a single row costs the parsing of 1 MB.
PIECE_BYTES = 2**20
# More columns than this (2^24) and than the bytes of the files are taken for a damaged index: every
# center of a fit would have as many numbers.
MANY_COLUMNS = 2**24


class SvmlightRows(SourceDefaults):
    """Reader of svmlight files; rows are CSR of float64.

    Indices are zero-based if any file has an index 0, and one-based otherwise. Without
    `n_features`, the largest index decides how many columns there are.
    """

    sparse = True
    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, paths: Sequence[Path], n_features: int | None = None) -> None:
        self._pieces: list[tuple[Path, int, int]] = []
        counts, labels = [], []
        smallest, largest = np.iinfo(np.int64).max, -1
        for path in paths:
            n_before = len(self._pieces)
            for begin, line, text in _walk_pieces(path):
                rows, targets = _parse(text, path, line)
                if rows.shape[0] == 0:
                    continue
                self._pieces.append((path, begin, len(text)))
                counts.append(rows.shape[0])
                labels.append(targets)
                if rows.nnz:
                    smallest = min(smallest, int(rows.indices.min()))
                    largest = max(largest, int(rows.indices.max()))
            if len(self._pieces) == n_before:
                raise UnreadableFile(f"{path} holds no rows; give at least one line")
        if smallest < 0:
            raise UnreadableFile(f"{paths[0]} has the index {smallest}; count columns from 0 or 1")
        self._base = 0 if smallest == 0 else 1
        needed = max(1, largest + 1 - self._base)
        if n_features is not None and n_features < needed:
            raise UnreadableFile(
                f"{paths[0]} needs {needed} columns, but n_features={n_features}; give at least "
                "as many"
            )
        file_bytes = sum(path.stat().st_size for path in paths)
        if n_features is None and needed > max(MANY_COLUMNS, file_bytes):
            raise UnreadableFile(
                f"{paths[0]} has the index {largest}, so that rows would have {needed} columns, "
                f"more than the file has bytes; check the index, or give n_features={needed}"
            )
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self.shape = (int(self._starts[-1]), n_features or needed)
        self.labels = _plain_labels(np.concatenate(labels))

    def read(self, start: int, stop: int) -> Any:
        """Return rows of a range."""
        parts = []
        pieces = find_pieces(self._starts, start, stop)
        for path, begin, length in self._pieces[pieces.start : pieces.stop]:
            with open(path, "rb") as handle:
                handle.seek(begin)
                parts.append(_parse(handle.read(length), path, None)[0])
        before = int(self._starts[pieces.start])
        stacked = scipy.sparse.vstack([self._as_rows(part) for part in parts], format="csr")
        return stacked[start - before : stop - before]

    def _as_rows(self, part: Any) -> Any:
        rows = scipy.sparse.csr_array(
            (part.data, part.indices - self._base, part.indptr),
            shape=(part.shape[0], self.shape[1]),
        )
        check_sparse(rows, f"{self._pieces[0][0]}, which has changed,")
        return rows


def _walk_pieces(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield pieces of whole lines, with the number of bytes and of lines before each."""
    begin = line = 0
    for text in whole_lines(path, 0, PIECE_BYTES):
        yield begin, line, text
        begin, line = begin + len(text), line + text.count(b"\n")


def _parse(text: bytes, path: Path, n_lines: int | None) -> tuple[Any, NDArray[np.float64]]:
    """Return rows, with their indices as they are written, and labels.

    If a line is wrong, the error names it. It is counted from `n_lines`, the number of lines before
    the text; None leaves the line unnamed.
    """
    from sklearn.datasets import load_svmlight_file  # slow to import, and only needed here

    try:
        rows, labels = load_svmlight_file(io.BytesIO(text), zero_based=True)
    except ValueError as error:
        if n_lines is None or text.count(b"\n") == 1:
            raise
        for number, line in enumerate(text.splitlines(keepends=True), start=n_lines + 1):
            try:
                load_svmlight_file(io.BytesIO(line), zero_based=True)
            except ValueError as culprit:
                raise UnreadableFile(
                    f"{path} has {line.strip()[:40].decode(errors='replace')!r} on line {number} "
                    f"({first_line(culprit)}); write a label and index:value pairs"
                ) from error
        raise
    return rows, labels


def _plain_labels(labels: NDArray[np.float64]) -> NDArray[Any]:
    """Return labels as integers if all of them are whole numbers."""
    whole = labels.astype(np.int64, casting="unsafe") if np.isfinite(labels).all() else labels
    return whole if np.array_equal(whole, labels) else labels


SVMLIGHT = Format(
    (".svm", ".svmlight", ".libsvm"),
    files_together(lambda files, choice: SvmlightRows(files, choice.n_features)),
    choices=("n_features",),
)
