"""MatLab files of all versions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io

from projected_kmeans.sources.open_rows import read_matrix
from tests.support.refused_files import reading_error
from tests.support.row_cases import FILES
from tests.support.row_files import ROWS, open_matlab_73


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
