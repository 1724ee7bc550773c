"""Reading files of labels: each format, and one sentence for each way a file can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from projected_kmeans.sources.label_formats import read_labels
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.row_files import LABELS, ROWS, open_matlab_73


def test_labels_from_every_format(tmp_path: Path) -> None:
    """A vector of labels is read from arrays, archives and text."""
    np.save(tmp_path / "a.npy", LABELS)
    np.savez(tmp_path / "b.npz", X=ROWS, y=LABELS)
    np.savez(tmp_path / "c.npz", anything=LABELS)
    scipy.io.savemat(tmp_path / "d.mat", {"fea": ROWS, "gnd": LABELS})
    with open_matlab_73(tmp_path / "h.mat") as file:
        file["gnd"] = LABELS[np.newaxis]
    for name in ("e.csv", "f.tsv", "g.txt"):
        (tmp_path / name).write_text("label\n0\n0\n1\n1\n")
    for path in sorted(tmp_path.iterdir()):
        np.testing.assert_array_equal(read_labels(path), LABELS, err_msg=path.name)


def test_text_labels_may_be_words(tmp_path: Path) -> None:
    """Labels that are not numbers are read as strings."""
    (tmp_path / "labels.csv").write_text("cat\ncat\ndog\n")
    assert read_labels(tmp_path / "labels.csv").tolist() == ["cat", "cat", "dog"]
    (tmp_path / "labels.csv").write_text("1.5\n2\n")
    assert read_labels(tmp_path / "labels.csv").tolist() == [1.5, 2.0]


def test_bad_labels(tmp_path: Path) -> None:
    """Files that do not hold a vector of labels each give one sentence."""
    np.save(tmp_path / "matrix.npy", ROWS)
    np.save(tmp_path / "single.npy", np.array(3))
    np.save(tmp_path / "empty.npy", np.array([]))
    np.save(tmp_path / "complex.npy", LABELS * 1j)
    np.savez(tmp_path / "two.npz", a=LABELS, b=LABELS)
    (tmp_path / "wide.csv").write_text("1,2\n3,4\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "labels.pdf").write_bytes(b"%PDF")
    for path in [*tmp_path.iterdir(), tmp_path, tmp_path / "none.npy"]:
        with pytest.raises(UnreadableFile, match=";") as caught:
            read_labels(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
