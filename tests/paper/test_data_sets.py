"""Real data and the face images: where they are looked for, and what is refused or left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import sklearn.datasets
from sklearn.utils import Bunch

from projected_kmeans.paper.data_sets import (
    BUNDLED,
    STORED,
    DataSet,
    find_data_sets,
    find_faces,
)


def test_missing_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty data folder only scikit-learn's data is found; each other one has a sentence."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    found = find_data_sets([*BUNDLED, *STORED, "ORL"], None)
    bundled = ["iris", "wine", "breast cancer", "digits"]
    assert [data.name for data in found.sets] == bundled
    assert len(found.missing) == len(STORED) + 1
    assert any("COIL20.mat is in no data folder" in sentence for sentence in found.missing)
    assert found.missing[-1] == "ORL is left out, because the face images were not found"


def test_newsgroups_are_sparse_rows_with_classes(find_data: Callable[[str], Path]) -> None:
    """The texts are read as sparse rows, with one of twenty classes each."""
    find_data("newsgroups.npz")
    (texts,) = find_data_sets(["newsgroups"], None).sets
    assert texts.is_sparse
    assert texts.rows.shape == (19997, 51020)
    assert texts.classes is not None
    assert len(np.unique(texts.classes)) == texts.n_clusters == 20


def test_every_entry_counts_in_the_description() -> None:
    """The checksum of a data set changes with any entry, dense or sparse."""
    rows = np.arange(6.0).reshape(2, 3)
    other = rows.copy()
    other[1, 2] = 7.0
    for make in (np.ascontiguousarray, scipy.sparse.csr_matrix):
        first, second = (DataSet("made up", make(one), 2).describe() for one in (rows, other))
        assert first["sha256"] != second["sha256"]
        assert first["shape"] == second["shape"] == [2, 3]


def test_a_named_file_is_read(tmp_path: Path, images: dict[str, Any]) -> None:
    """A file given by name is used, and called by its name without its folder."""
    path = tmp_path / "faces.mat"
    scipy.io.savemat(path, images)
    faces = find_faces(str(path))
    assert faces.name == "faces.mat"
    assert faces.same_crop
    assert faces.rows.dtype == np.float64
    assert faces.describe()["shape"] == [400, 4096]


def test_the_folder_of_the_variable_is_searched(
    tmp_path: Path, images: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a file, ORL_64x64.mat is looked for in the folder that the variable names."""
    scipy.io.savemat(tmp_path / "ORL_64x64.mat", images)
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    np.testing.assert_array_equal(find_faces().rows, images["fea"])


def test_scikit_learn_is_asked_next(
    tmp_path: Path, images: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a file anywhere, scikit-learn's faces are taken and marked as another crop."""
    bunch = Bunch(data=images["fea"] / 255, target=images["gnd"].ravel())
    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", lambda **options: bunch)
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    faces = find_faces()
    assert not faces.same_crop
    assert "Olivetti" in faces.name


def test_no_faces_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is found, one sentence says how to get the file."""

    def fail(**options: Any) -> None:
        raise URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", fail)
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"not found .*get ORL_64x64.mat .* with --data"):
        find_faces()


def test_other_data_is_refused(tmp_path: Path, images: dict[str, Any]) -> None:
    """Another shape, no labels, and people out of order give one sentence each."""
    path = tmp_path / "faces.mat"
    scipy.io.savemat(path, {"fea": images["fea"][:50], "gnd": images["gnd"][:50]})
    with pytest.raises(ValueError, match=r"has shape \(50, 4096\).*give 400 images"):
        find_faces(str(path))
    scipy.io.savemat(path, {"fea": images["fea"]})
    with pytest.raises(ValueError, match=r"no labels; give 400 images"):
        find_faces(str(path))
    scipy.io.savemat(path, {"fea": images["fea"], "gnd": images["gnd"][::-1] % 7})
    with pytest.raises(ValueError, match="not in the order of people"):
        find_faces(str(path))
