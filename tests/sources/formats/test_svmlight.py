"""svmlight files: labels, columns, pieces of text, and lines that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.sources.formats import svmlight
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_cases import FILES


def test_text_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges that end within pieces of text have their rows."""
    case = FILES["svmlight from 1"]
    monkeypatch.setattr(svmlight, "PIECE_BYTES", 5000)
    case.check_walks(case.open(tmp_path))


def test_labels_are_kept(tmp_path: Path) -> None:
    """Labels that are whole numbers are integers, and others are floats."""
    labels = FILES["svmlight from 1"].open(tmp_path).labels
    assert labels is not None
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, np.arange(1500))
    (tmp_path / "rows.svm").write_text("0.5 1:2\n2 1:3\n")
    halves = open_rows(tmp_path / "rows.svm").labels
    assert halves is not None
    assert halves.tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1 1:2\n" * 10 + "1 x:3\n", "'1 x:3' on line 11"),
        ("1 x:3\n", "cannot be read as .svm"),
        ("1 1:2 7:3\n", "needs 7 columns, but n_features=3; give at least as many"),
        ("# nothing\n\n", "holds no rows"),
    ],
)
def test_bad_files(text: str, part: str, tmp_path: Path) -> None:
    """A line that cannot be parsed, too few columns and an empty file are named."""
    (tmp_path / "rows.svm").write_text(text)
    assert part in reading_error(tmp_path / "rows.svm", n_features=3)


def test_an_absurd_index_is_refused(tmp_path: Path) -> None:
    """Thirty bytes do not ask for two thousand million columns, unless the user does."""
    (tmp_path / "a.svm").write_text("1 1:2.5\n2 2000000000:1\n")
    message = reading_error(tmp_path / "a.svm")
    assert "has the index 2000000000" in message
    assert "give n_features=2000000000" in message
    assert open_rows(tmp_path / "a.svm", n_features=2 * 10**9).shape == (2, 2 * 10**9)


def test_a_file_that_has_changed_is_told(tmp_path: Path) -> None:
    """An index that was not there when the file was opened does not point outside."""
    (tmp_path / "a.svm").write_text("1 1:2.5\n2 2:1\n")
    source = open_rows(tmp_path / "a.svm")
    (tmp_path / "a.svm").write_text("1 1:2.5\n2 9:1\n")
    with pytest.raises(UnreadableFile, match="has changed, is a damaged csr matrix"):
        source.read(0, 2)
