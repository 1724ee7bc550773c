"""Table 2 on the paper's own face images: the rows HD and RP, and the paper's k-means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, clustering_accuracy, normalized_inertia
from projected_kmeans.paper.data_sets import find_faces
from projected_kmeans.paper.experiments.table2 import cluster_faces, cluster_projected

Faces = tuple[NDArray[np.float64], NDArray[Any]]

# MatLab's start: the first image of each person.
START = np.arange(0, 400, 10)


@pytest.fixture
def faces(find_data: Callable[[str], Path]) -> Faces:
    """Return the images as rows and the person of each."""
    stored = scipy.io.loadmat(find_data("ORL_64x64.mat"))
    return stored["fea"].astype(np.float64), stored["gnd"].ravel()


@pytest.mark.parametrize(
    ("solver", "share", "accuracy"), [("hartigan", 0.0220, 0.6225), ("lloyd", 0.0226, 0.6475)]
)
def test_high_dimension(solver: str, share: float, accuracy: float, faces: Faces) -> None:
    """All dimensions give the paper's F with MatLab's method, and another without its moves."""
    X, people = faces
    model = ProjectedKMeans(40, projection=None, init=START, solver=solver, max_iter=30).fit(X)
    assert round(model.normalized_inertia_, 4) == share
    assert clustering_accuracy(people, model.labels_) == accuracy
    assert normalized_inertia(X, model.labels_) == pytest.approx(
        model.normalized_inertia_, rel=1e-12
    )


def test_bytes_give_the_same(faces: Faces) -> None:
    """The images as bytes, computed in float32, give the paper's row too."""
    X, people = faces
    model = ProjectedKMeans(40, projection=None, init=START, solver="hartigan", max_iter=30)
    model.fit(X.astype(np.uint8))
    assert round(model.normalized_inertia_, 4) == 0.0220
    assert clustering_accuracy(people, model.labels_) == 0.6225


def test_random_projections(faces: Faces) -> None:
    """Over 60 keys of signs at t = 50, the medians of F and P are those of the recipe."""
    # The range of keys is fixed, so the test is deterministic.
    X, people = faces
    shares, accuracies = [], []
    for key in range(60):
        model = ProjectedKMeans(
            40,
            projection="sign",
            n_components=50,
            init=START,
            solver="hartigan",
            max_iter=30,
            polish_iter=0,
            random_state=key,
        ).fit(X)
        shares.append(model.normalized_inertia_)
        accuracies.append(clustering_accuracy(people, model.labels_))
    assert 0.0232 <= np.median(shares) <= 0.0238
    assert 0.57 <= np.median(accuracies) <= 0.61


def test_well_separated_people_are_found(tmp_path: Path, images: dict[str, Any]) -> None:
    """On images that differ little within a person, both protocols find all people."""
    path = tmp_path / "faces.mat"
    scipy.io.savemat(path, images)
    faces = find_faces(str(path))
    assert cluster_faces(faces, faces.rows)["P"] == 1
    score = cluster_projected(faces, 60, key=0)
    assert score["P"] == 1
    assert score["reduce_seconds"] > 0


def test_the_papers_row(find_data: Callable[[str], Path]) -> None:
    """All dimensions of the paper's images give its F, and P without its misprint."""
    faces = find_faces(str(find_data("ORL_64x64.mat")))
    score = cluster_faces(faces, faces.rows)
    assert round(score["F"], 4) == 0.0220
    assert score["P"] == 0.6225
