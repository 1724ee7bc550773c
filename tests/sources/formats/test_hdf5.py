"""HDF5 files, and MatLab's of all versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io

from projected_kmeans.sources.open_rows import open_rows, read_matrix
from tests.support.refused_files import reading_error
from tests.support.row_cases import FILES
from tests.support.row_files import ROWS, SINGLES, open_matlab_73


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


def save_external(path: Path) -> None:
    """Write a data set whose numbers are the bytes of another file."""
    (path.parent / "secret").write_bytes(bytes(range(64)))
    with h5py.File(path, "w") as file:
        raw = [(str(path.parent / "secret"), 0, 64)]
        file.create_dataset("X", shape=(16, 4), dtype="u1", external=raw)


def save_virtual(path: Path) -> None:
    """Write a data set that shows a data set of another file."""
    with h5py.File(path.parent / "other.h5", "w") as file:
        file["X"] = SINGLES[:4]
    layout = h5py.VirtualLayout(shape=(4, 5), dtype="f4")
    layout[:] = h5py.VirtualSource(path.parent / "other.h5", "X", shape=(4, 5))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("X", layout)


@pytest.mark.parametrize("save", [save_external, save_virtual])
def test_numbers_of_other_files_are_not_read(tmp_path: Path, save: Any) -> None:
    """A data set may not show what lies in other files of the machine."""
    save(tmp_path / "rows.h5")
    assert "takes its numbers from other files" in reading_error(tmp_path / "rows.h5")


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link to another file is no data set, and cannot be chosen."""
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = SINGLES[:4]
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/X")
        file["soft"] = h5py.SoftLink("/X")
    assert "holds nothing but no matrix" in reading_error(tmp_path / "rows.h5")
    assert "no variable 'X'" in reading_error(tmp_path / "rows.h5", variable="X")
    with open_matlab_73(tmp_path / "rows.mat") as file:
        group = file.create_group("fea")
        group.attrs["MATLAB_sparse"] = np.uint64(4)
        group["jc"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/X")
    assert "links jc from elsewhere" in reading_error(tmp_path / "rows.mat")


def test_filters_of_plugins_are_refused(tmp_path: Path) -> None:
    """A filter that would be loaded from a library is told by its number."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        storage.set_chunk((4, 5))
        storage.set_filter(32001, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple((4, 5))
        h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_FLOAT, space, storage)
    assert "is packed by filter 32001, which is a plugin" in reading_error(tmp_path / "rows.h5")


def test_version_4(tmp_path: Path) -> None:
    """The oldest MatLab format is read too."""
    scipy.io.savemat(tmp_path / "rows.mat", {"fea": ROWS.astype(float)}, format="4")
    np.testing.assert_array_equal(read_matrix(tmp_path / "rows.mat").rows, ROWS)


def test_damaged_version_73(tmp_path: Path) -> None:
    """A MatLab 7.3 file that is cut gives one sentence."""
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "rows.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(600))
    assert "cannot be read as .mat" in reading_error(tmp_path / "rows.mat")


def test_labels_of_version_73(tmp_path: Path) -> None:
    """Labels beside the rows are found under a usual name."""
    labels = FILES["mat 7.3"].open(tmp_path).labels
    assert labels is not None
    np.testing.assert_array_equal(labels, np.arange(9000))


def test_text_of_version_73_is_not_a_matrix(tmp_path: Path) -> None:
    """MatLab stores text as numbers, so its class decides."""
    with open_matlab_73(tmp_path / "rows.mat") as file:
        file["pixels"] = ROWS.T
        file["note"] = np.ones((2, 2), np.uint16)
        file["note"].attrs["MATLAB_class"] = np.bytes_("char")
    np.testing.assert_array_equal(read_matrix(tmp_path / "rows.mat").rows, ROWS)
