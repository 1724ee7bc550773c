"""The index of a text file: where lines lie, and lines with another number of cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.sources.formats.text_index import (
    index_text,
    is_number,
    split_lines,
    whole_lines,
)
from projected_kmeans.sources.row_layout import find_pieces
from tests.support.refused_files import reading_error
from tests.support.row_files import FLOATS, save_text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "holds no rows"),
        ("\n\n", "holds no rows"),
        ("a,b\n", "holds no rows"),
        ("1,2\n3\n", "1 cells on line 2 and 2 on line 1"),
        ("1,2\n" * 70000 + "3\n", "1 cells on line 70001 and 2 on line 1"),
        ("1,2\n\n3,4,5\n", "3 cells on line 3 and 2 on line 1"),
        ("a,b,c\n1,2\n", "2 cells a line under a header of 3"),
        ('1,2\n"3\n",4\n', "a quote on line 2 that does not end there"),
    ],
)
def test_lines_that_do_not_fit(text: str, part: str, tmp_path: Path) -> None:
    """A line that does not fit, near the start or far behind it, is named by its number."""
    (tmp_path / "rows.csv").write_text(text)
    assert part in reading_error(tmp_path / "rows.csv")


def test_entries_count_what_is_before_them(tmp_path: Path) -> None:
    """Each entry has the bytes, rows and lines before it; a range lies between two entries."""
    index = index_text(save_text(tmp_path, head="a,b,c,d,e\n\n"), ",")
    content = (tmp_path / "rows.csv").read_bytes()
    assert (index.n_rows, index.n_cells) == FLOATS.shape
    assert len(index.offsets) > 3
    for offset, row, line in zip(index.offsets, index.rows, index.lines, strict=True):
        # The last line of the file has no line end, which the index counts all the same.
        before = content[: int(offset)] + (b"\n" if offset > len(content) else b"")
        assert before.count(b"\n") == line
        assert sum(map(bool, before.splitlines())) == row + 1  # the header is not a row
    pieces = find_pieces(index.rows, 4000, 4001)
    assert index.rows[pieces.start] <= 4000 < index.rows[pieces.stop]


def test_lines_are_split() -> None:
    """Empty lines hold no row, and delimiters in quotes are not counted."""
    lines = split_lines(b'1,2\n\r\n\n"a,b",3\r\n4', ",")
    np.testing.assert_array_equal(lines.ends, [3, 5, 6, 15])
    np.testing.assert_array_equal(lines.filled, [True, False, False, True])
    np.testing.assert_array_equal(lines.n_cells[lines.filled], [2, 2])
    assert not lines.open_quotes.any()


@pytest.mark.parametrize("n_bytes", [1, 4, 7, 1000])
def test_pieces_of_whole_lines(n_bytes: int, tmp_path: Path) -> None:
    """Pieces end with a line, whatever their size, and have the whole text."""
    (tmp_path / "t.txt").write_bytes(b"one\n\ntwo words\nlast")
    pieces = list(whole_lines(tmp_path / "t.txt", 0, n_bytes))
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert b"".join(pieces) == b"one\n\ntwo words\nlast\n"


def test_what_is_a_number() -> None:
    """Underscores are not allowed, although Python allows them."""
    assert all(map(is_number, ("1", "-2.5e3", "nan", "inf", " 7 ")))
    assert not any(map(is_number, ("", "x", "1_000", "1,5")))
