"""HDF5 files: data sets in groups, and what they hold besides a matrix."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from projected_kmeans.sources.open_rows import open_rows
from tests.support.refused_files import reading_error
from tests.support.row_files import SINGLES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with two matrices, a deep array, a number and words."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["a"], file["deep"], file["one"] = SINGLES, np.zeros((2, 2, 2)), 3.0
        file["b"], file["words"] = SINGLES[:2], ["x", "y"]
    return tmp_path / "rows.h5"


def test_data_sets_are_listed(path: Path) -> None:
    """Without a clear choice, all data sets are listed with their shapes."""
    assert "a (9000 x 5), b (2 x 5), deep (2 x 2 x 2), one (one value)" in reading_error(path)
    assert "no variable 'c'; choose among" in reading_error(path, variable="c")


def test_data_sets_that_are_not_a_matrix(path: Path) -> None:
    """Scalars, deep arrays and words are refused with what they are."""
    message = reading_error(path, variable="deep")
    assert "shape (2, 2, 2), but rows and columns" in message
    assert "shape ()" in reading_error(path, variable="one")
    assert "holds values of type object" in reading_error(path, variable="words")


def test_a_data_set_is_chosen(path: Path) -> None:
    """variable= names a data set, with or without the slash of its group."""
    assert open_rows(path, variable="b").shape == (2, 5)
    assert open_rows(path, variable="/b").shape == (2, 5)


def test_labels_beside_the_rows(tmp_path: Path) -> None:
    """A vector with a usual name is kept as labels."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"], file["y"] = SINGLES[:3], [4, 5, 6]
    labels = open_rows(tmp_path / "rows.h5").labels
    assert labels is not None
    assert labels.tolist() == [4, 5, 6]
