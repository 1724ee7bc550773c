"""The face images: where they are looked for, what is refused, how they are clustered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import scipy.io
import sklearn.datasets
from sklearn.utils import Bunch

from projected_kmeans.paper.experiments.faces import cluster_faces, cluster_projected, find_faces


@pytest.fixture
def images() -> dict[str, Any]:
    """Return drawn images in the shape of the paper's: 40 people, ten images each."""
    stream = np.random.default_rng(4)
    people = stream.integers(0, 200, size=(40, 4096))
    noise = stream.integers(0, 50, size=(400, 4096))
    rows = (np.repeat(people, 10, axis=0) + noise).astype(np.uint8)
    return {"fea": rows, "gnd": np.repeat(np.arange(1, 41), 10)[:, None]}


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


def test_well_separated_people_are_found(tmp_path: Path, images: dict[str, Any]) -> None:
    """On images that differ little within a person, both protocols find all people."""
    path = tmp_path / "faces.mat"
    scipy.io.savemat(path, images)
    faces = find_faces(str(path))
    assert cluster_faces(faces, faces.rows).accuracy == 1
    score = cluster_projected(faces, 60, key=0)
    assert score.accuracy == 1
    assert score.reduce_seconds > 0


def test_the_papers_row(find_data: Callable[[str], Path]) -> None:
    """All dimensions of the paper's images give its F, and P without its misprint."""
    faces = find_faces(str(find_data("ORL_64x64.mat")))
    score = cluster_faces(faces, faces.rows)
    assert round(score.normalized_inertia, 4) == 0.0220
    assert score.accuracy == 0.6225
