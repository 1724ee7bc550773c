"""``.csv`` and ``.tsv`` files: headers, columns, exact numbers, and cells that are not numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.formats import text as text_format
from projected_kmeans.sources.formats.text import TextRows
from projected_kmeans.sources.open_rows import open_rows, read_matrix
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_files import save_text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", None),
        ("a,b\n1,2\n3,4\n", ("a", "b")),
        ('"a","b, c"\n"1",2\n3,"4"\n', ("a", "b, c")),
        ('"a\nb",c\n1,2\n3,4\n', ("a\nb", "c")),
        ("# a,b\n1,2\n3,4\n", ("a", "b")),
        ("\n\na,b\n\n1,2\n\n3,4\n\n", ("a", "b")),
        ("\ufeffa,b\r\n1,2\r\n3,4\r\n", ("a", "b")),
        ("\ufeff1,2\n 3 , 4", None),
    ],
)
def test_with_and_without_header(text: str, names: tuple[str, ...] | None, tmp_path: Path) -> None:
    """The first line is a header if it holds no number; quotes and blank lines do no harm."""
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8", newline="")
    matrix = read_matrix(tmp_path / "rows.csv")
    np.testing.assert_array_equal(matrix.rows, [[1, 2], [3, 4]])
    assert matrix.feature_names == names


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a,b\n1,2\n3,x\n", "'x' on line 3, column 2; put a number there"),
        ("a,b\n\n" + "1,2\n" * 70000 + "\n3,x\n", "'x' on line 70004, column 2; put a number"),
        ("1,2\n3,\n", "nothing on line 2, column 2"),
        ("1,two\n3,4\n", "'two' on line 1, column 2"),
        ("1,1_000\n3,4\n", "'1_000' on line 1, column 2"),
        ("1;2\n3;4\n", "'3;4' on line 2, column 1"),
        ("a,b\n1,red\n", "or leave the column out with drop=['b']"),
    ],
)
def test_cells_that_are_not_numbers(text: str, part: str, tmp_path: Path) -> None:
    """A cell that is not a number, near the start or far behind it, is named by its place."""
    (tmp_path / "rows.csv").write_text(text)
    assert part in reading_error(tmp_path / "rows.csv")


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are refused in a sentence."""
    (tmp_path / "rows.csv").write_bytes(b"1,2\n3,\xff\xfe\n")
    assert "utf-8" in reading_error(tmp_path / "rows.csv")


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    """Words, with delimiters in quotes too, do no harm in a column that is left out."""
    (tmp_path / "rows.csv").write_text('x,who,y\n1,"Smith, J",2\n3,,4\n')
    for options in ({"drop": ["who"]}, {"columns": ["x", "y"]}):
        source = open_rows(tmp_path / "rows.csv", **options)
        assert source.feature_names == ("x", "y")
        np.testing.assert_array_equal(source.read(0, 2), [[1, 2], [3, 4]])
    turned = open_rows(tmp_path / "rows.csv", columns=["y", "x"])
    np.testing.assert_array_equal(turned.read(0, 2), [[2, 1], [4, 3]])
    message = reading_error(tmp_path / "rows.csv", drop=["z"])
    assert "no column 'z'; choose among x, who, y" in message


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.floats(allow_nan=False),
    )
)
def test_numbers_come_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    """Numbers written with 17 digits come back bit for bit, infinity too."""
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")
    np.testing.assert_array_equal(read_matrix(path).rows, rows)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(allow_subnormal=True),
    )
)
def test_both_parsers_agree(tmp_path_factory: pytest.TempPathFactory, rows: np.ndarray) -> None:
    """By pyarrow and by NumPy, the numbers are those that were written."""
    path = save_text(tmp_path_factory.mktemp("text"), rows=rows)
    reader = TextRows(path, ",", Choice())
    content = path.read_bytes()
    by_pyarrow, by_numpy = reader._parse_by_pyarrow(content), reader._parse_by_numpy(content, 0)
    assert by_pyarrow is not None
    np.testing.assert_array_equal(by_pyarrow, rows, strict=True)
    np.testing.assert_array_equal(by_numpy, rows, strict=True)


@pytest.mark.parametrize("with_arrow", [True, False])
def test_cells_without_a_number_are_nan_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_arrow: bool
) -> None:
    """Empty cells and usual words are holes; other text is still refused by line and column."""
    if not with_arrow:
        monkeypatch.setattr(text_format, "ARROW_COLUMNS", 0)
    (tmp_path / "a.csv").write_text("a,b\n1,\nNA,2\nnull,nan\n3,4\n")
    source = open_rows(tmp_path / "a.csv", on_missing="skip")
    expected = [[1, np.nan], [np.nan, 2], [np.nan, np.nan], [3, 4]]
    np.testing.assert_array_equal(source.read(0, 4), expected)
    (tmp_path / "b.csv").write_text("a,b\n1,\n2,x\n")
    with pytest.raises(UnreadableFile, match="has 'x' on line 3, column 2"):
        open_rows(tmp_path / "b.csv", on_missing="skip").read(0, 2)
