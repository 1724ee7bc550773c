"""Files that hold several arrays (``.npz``, ``.mat``): which one is meant, and labels beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from projected_kmeans.messages import MAX_SENTENCE
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.refused_files import reading_error
from tests.support.row_files import LABELS, ROWS


def save_variables(path: Path, **variables: Any) -> None:
    """Write named arrays in the format of the extension."""
    if path.suffix == ".npz":
        np.savez(path, **variables)
    else:
        scipy.io.savemat(path, variables)


@pytest.fixture(params=[".npz", ".mat"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of a file that can hold several variables."""
    return tmp_path / f"rows{request.param}"


@pytest.mark.parametrize("name", ["X", "x", "data", "fea", "features"])
@pytest.mark.parametrize("label_name", ["y", "Y", "gnd", "labels", "target"])
def test_usual_names_are_found(archive: Path, name: str, label_name: str) -> None:
    """Rows and labels are found by their usual names beside other matrices."""
    save_variables(archive, other=np.eye(5), **{name: ROWS, label_name: LABELS[:, np.newaxis]})
    matrix = read_matrix(archive)
    np.testing.assert_array_equal(matrix.rows, ROWS)
    assert matrix.labels is not None
    np.testing.assert_array_equal(matrix.labels, LABELS)


def test_the_only_matrix_is_found(archive: Path) -> None:
    """Without a usual name, the one matrix beside vectors is taken."""
    save_variables(archive, pixels=ROWS, train=np.arange(4), y=LABELS)
    np.testing.assert_array_equal(read_matrix(archive).rows, ROWS)


def test_variable_is_chosen(archive: Path) -> None:
    """variable= chooses among the matrices, whatever their names."""
    save_variables(archive, X=ROWS, other=ROWS * 2)
    np.testing.assert_array_equal(read_matrix(archive, variable="other").rows, ROWS * 2)


def test_labels_of_another_length_are_ignored(archive: Path) -> None:
    """Labels are taken only if there is one for each row."""
    save_variables(archive, X=ROWS, y=np.arange(5))
    assert read_matrix(archive).labels is None


def test_names_of_a_damaged_file_stay_on_one_line(tmp_path: Path) -> None:
    """What a file calls its arrays may hold anything; an error quotes it as one short line."""
    np.savez(tmp_path / "rows.npz", **{"a\nb\x1b[2J": ROWS, "x" * 5000: ROWS, "c": ROWS})
    message = reading_error(tmp_path / "rows.npz")
    assert "holds a b\\x1b[2J (4 x 3), xxx" in message
    assert message.endswith("choose one with variable")
    assert message.isprintable()
    assert len(message) <= MAX_SENTENCE


def test_missing_variable_lists_the_others(archive: Path) -> None:
    """A variable that is not there is answered with those that are."""
    save_variables(archive, X=ROWS)
    assert "no variable 'Z'; choose among X (4 x 3)" in reading_error(archive, variable="Z")


def test_ambiguous_matrices_are_listed(archive: Path) -> None:
    """Several matrices without a usual name are listed with their shapes."""
    save_variables(archive, a=ROWS, b=np.eye(5))
    message = reading_error(archive)
    assert "a (4 x 3)" in message
    assert "b (5 x 5); choose one with variable" in message


def test_no_matrix(archive: Path) -> None:
    """A file with vectors of text only is refused with what it holds."""
    save_variables(archive, words=np.array(["a", "b"]))
    assert "words (2) but no matrix; save one" in reading_error(archive)
