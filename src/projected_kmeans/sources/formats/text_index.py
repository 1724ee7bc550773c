"""Where the lines of a delimited text file lie, found by one scan of its bytes.

The scan compares bytes with line ends and delimiters. It finds the header, counts rows and cells,
and refuses lines with another number of cells; it parses no number.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.protocol import UnreadableFile

# The index has an entry every 256 KB of text, so reading a single row scans at most about 256 KB.
STEP_BYTES = 2**18
# The first scan reads 4 MB at a time.
SCAN_BYTES = 2**22
# Longer lines are refused (256 MB): they are most likely not text, and a line must fit into memory.
LONGEST_LINE = 2**28

NEWLINE, RETURN, QUOTE = b'\n\r"'
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class TextIndex:
    """Where the rows of a file lie, each with `n_cells` cells.

    Each entry of ``offsets``, ``rows`` and ``lines`` stands at the start of a line: the number of
    bytes, rows and lines before it. The last entry is the end of the file.
    """

    header: tuple[str, ...] | None
    n_rows: int
    n_cells: int
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    lines: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lines:
    """For each line of a text: its end in bytes, whether it is not empty, and its cells.

    ``open_quotes`` says whether a quote is still open at its end.
    """

    ends: NDArray[np.int64]
    filled: NDArray[np.bool_]
    n_cells: NDArray[np.int64]
    open_quotes: NDArray[np.bool_]


def split_lines(text: bytes, delimiter: str) -> Lines:
    """Return the lines of a text; text after the last line end is ignored."""
    content = np.frombuffer(text, np.uint8)
    is_end = content == NEWLINE
    marks = is_end | (content == ord(delimiter))
    quoted = np.zeros(0, np.bool_)
    if QUOTE in text:
        quoted = (np.cumsum(content == QUOTE) & 1).astype(np.bool_)
        marks &= is_end | ~quoted
    places = np.flatnonzero(marks)
    at_ends = np.flatnonzero(is_end[places])
    ends = places[at_ends]
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    lengths = ends - starts
    filled = (lengths > 1) | ((lengths == 1) & (content[starts] != RETURN))
    open_quotes = quoted[ends] if len(quoted) else np.zeros(len(ends), np.bool_)
    return Lines(ends, filled, np.diff(at_ends, prepend=-1), open_quotes)


def index_text(path: Path, delimiter: str) -> TextIndex:
    """Scan a file in UTF-8 once; raise if a line has more or fewer cells than the first one."""
    header, offset, line = find_header(path, delimiter)
    entries = [(offset, 0, line)]
    first_line = width = 0
    for text in whole_lines(path, offset, SCAN_BYTES):
        lines = split_lines(text, delimiter)
        if not first_line and lines.filled.any():
            index = int(np.argmax(lines.filled))
            first_line, width = line + index + 1, int(lines.n_cells[index])
        _check_lines(lines, line, (first_line, width), path)
        begin, row = entries[-1][0], entries[-1][1]
        n_filled = np.cumsum(lines.filled)
        for last in _steps(lines.ends):
            after = (begin + int(lines.ends[last]) + 1, row + int(n_filled[last]), line + last + 1)
            entries.append(after)
        line += len(lines.ends)
    offsets, rows, numbers = np.array(entries, dtype=np.int64).T
    if rows[-1] == 0:
        raise UnreadableFile(f"{path} holds no rows; give at least one line of numbers")
    if header is not None and len(header) != width:
        raise UnreadableFile(
            f"{path} has {width} cells a line under a header of {len(header)}; make them the same"
        )
    return TextIndex(header, int(rows[-1]), width, offsets, rows, numbers)


def whole_lines(path: Path, offset: int, n_bytes: int) -> Iterator[bytes]:
    """Yield the text from an offset on in pieces of whole lines, each of about `n_bytes` bytes.

    A last line without a line end gets one.
    """
    with open(path, "rb") as handle:
        handle.seek(offset)
        rest = b""
        while piece := handle.read(max(n_bytes, len(rest))):
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield rest + piece[:cut]
                rest = piece[cut:]
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                raise UnreadableFile(f"{path} has a line of more than 256 MB; give one row a line")
        if rest:
            yield rest + b"\n"


def is_number(cell: str) -> bool:
    """Return whether a cell holds a number for both parsers, pyarrow and NumPy."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _steps(ends: NDArray[np.int64]) -> list[int]:
    """Return the lines after which the index gets an entry; the last line is one of them."""
    marks = np.arange(STEP_BYTES, int(ends[-1]), STEP_BYTES)
    steps: list[int] = np.unique([*np.searchsorted(ends, marks), len(ends) - 1]).tolist()
    return steps


def _check_lines(lines: Lines, n_before: int, first: tuple[int, int], path: Path) -> None:
    if lines.open_quotes.any():
        number = n_before + int(np.argmax(lines.open_quotes)) + 1
        raise UnreadableFile(
            f"{path} has a quote on line {number} that does not end there; close it on that line"
        )
    wrong = lines.filled & (lines.n_cells != first[1])
    if wrong.any():
        index = int(np.argmax(wrong))
        raise UnreadableFile(
            f"{path} has {lines.n_cells[index]} cells on line {n_before + index + 1} and "
            f"{first[1]} on line {first[0]}; give every line the same number"
        )


def find_header(path: Path, delimiter: str) -> tuple[tuple[str, ...] | None, int, int]:
    """Return the header, and the number of bytes and of lines before the rows.

    The first line that is not empty is the header if none of its cells is a number; None otherwise.
    """
    offset = line = 0
    with open(path, "rb") as handle:
        if handle.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
            offset = len(BYTE_ORDER_MARK)
        handle.seek(offset)
        while text := handle.readline(LONGEST_LINE):
            n_lines = 1
            # A name in quotes may contain a line end. A quote that is still open after 256 KB is
            # taken for a mistake, which the scan of the lines reports.
            while text.count(b'"') % 2 and len(text) < STEP_BYTES:
                if not (more := handle.readline(LONGEST_LINE)):
                    break
                text, n_lines = text + more, n_lines + 1
            if text.strip(b"\r\n"):
                break
            offset, line = offset + len(text), line + 1
    record = next(csv.reader([text.decode("utf-8")], delimiter=delimiter), [])
    cells = [cell.strip() for cell in record]
    if not cells or any(map(is_number, cells)):
        return None, offset, line
    # numpy.savetxt writes its header behind a "# ".
    return (cells[0].lstrip("# "), *cells[1:]), offset + len(text), line + n_lines
