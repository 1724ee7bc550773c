"""The paper's face images: find them, and cluster and score them as the paper does.

`table2` and `figure1` decide which reductions of the images are compared.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.passes.scoring import clustering_accuracy, normalized_inertia
from projected_kmeans.results import Floats
from projected_kmeans.sources.open_rows import Matrix, read_matrix

FILE_NAME = "ORL_64x64.mat"
FOLDER_VARIABLE = "PROJECTED_KMEANS_DATA"
N_PEOPLE = 40
IMAGES_EACH = 10
N_PIXELS = 64 * 64
# The paper: "the maximum number of repetitions setting to 30".
MAX_ITER = 30


@dataclass(frozen=True, eq=False)
class Faces:
    """The images as rows, and who is on them.

    Attributes
    ----------
    rows : ndarray of float64 (400, 4096)
        A, the paper's matrix.
    people : ndarray (400,)
        The person on every image.
    name : str
        The name of the data in results.
    same_crop : bool
        Whether these are the images of the paper, so that numbers can be compared. Otherwise they
        show the same people in another crop.
    """

    rows: Floats
    people: NDArray[Any]
    name: str
    same_crop: bool

    def describe(self) -> dict[str, Any]:
        """Return the description of the data for a stored result."""
        digest = hashlib.sha256(self.rows.tobytes()).hexdigest()
        return {
            "name": self.name,
            "shape": list(self.rows.shape),
            "sha256": digest,
            "same_crop": self.same_crop,
        }


@dataclass(frozen=True)
class Score:
    """P and F of a clustering of the faces, and the seconds of its two steps."""

    accuracy: float
    normalized_inertia: float
    cluster_seconds: float
    reduce_seconds: float


def find_faces(path: str | None = None) -> Faces:
    """Return the face images from a file, the data folder, or scikit-learn.

    Parameters
    ----------
    path : str, optional
        A file. By default the data folders are searched for ``ORL_64x64.mat``. If it is in none,
        scikit-learn downloads its Olivetti faces: the same people in another crop.
    """
    if path is not None:
        return _as_faces(read_matrix(path), Path(path).name, same_crop=True)
    for folder in data_folders():
        if (folder / FILE_NAME).is_file():
            return _as_faces(read_matrix(folder / FILE_NAME), FILE_NAME, same_crop=True)
    return _fetch_olivetti()


def data_folders() -> list[Path]:
    """Return the folder that `FOLDER_VARIABLE` names, or the default places ../shared/data."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return [Path(named)]
    root = Path(__file__).parents[4]
    return [start.parent / "shared" / "data" for start in (Path.cwd(), root)]


def _fetch_olivetti() -> Faces:
    from sklearn.datasets import fetch_olivetti_faces

    try:
        bunch = fetch_olivetti_faces(n_retries=0)
    except Exception as error:  # a download can fail in many ways
        raise ValueError(
            f"the face images were not found ({FILE_NAME} is in no data folder, and scikit-learn's "
            f"Olivetti faces cannot be downloaded); get {FILE_NAME} from Deng Cai's page of face "
            f"data sets and give it with --data, or set {FOLDER_VARIABLE} to its folder"
        ) from error
    matrix = Matrix(bunch.data, labels=bunch.target)
    return _as_faces(matrix, "scikit-learn's Olivetti faces", same_crop=False)


def _as_faces(matrix: Matrix, name: str, *, same_crop: bool) -> Faces:
    """Return the images as the paper has them; refuse data that the paper's seeding cannot use."""
    people = matrix.labels
    groups = np.repeat(np.arange(N_PEOPLE), IMAGES_EACH)
    wanted = (N_PEOPLE * IMAGES_EACH, N_PIXELS)
    if people is None or matrix.rows.shape != wanted:
        raise ValueError(
            f"{name} has shape {matrix.rows.shape} and {'no' if people is None else 'its'} labels; "
            f"give {wanted[0]} images of {wanted[1]} pixels with the person on each"
        )
    codes = np.unique(people, return_inverse=True)[1]
    if clustering_accuracy(groups, codes) < 1:
        raise ValueError(f"{name} is not in the order of people, ten images each; sort its rows")
    return Faces(matrix.rows.astype(np.float64), people, name, same_crop)


def cluster_faces(faces: Faces, sketch: ArrayLike) -> Score:
    """Cluster reduced images as the paper does and score the partition on the original ones.

    MatLab's two phases start from the 1st, 11th, ..., 391st row and have 30 iterations together.

    Parameters
    ----------
    faces : Faces
        The images.
    sketch : array-like (400, t)
        The same images, reduced or not.
    """
    model = _paper_kmeans(projection=None).fit(sketch)
    return _score(faces, model)


def cluster_projected(faces: Faces, n_components: int, key: int) -> Score:
    """Run Algorithm 1 on the images with the paper's k-means and score the partition.

    Parameters
    ----------
    faces : Faces
        The images.
    n_components : int
        t.
    key : int
        Fixes R.
    """
    model = _paper_kmeans(
        projection="sign", n_components=n_components, polish_iter=0, random_state=key
    ).fit(faces.rows)
    return _score(faces, model)


def _paper_kmeans(**parameters: Any) -> ProjectedKMeans:
    first_images = np.arange(0, N_PEOPLE * IMAGES_EACH, IMAGES_EACH)
    return ProjectedKMeans(
        N_PEOPLE, init=first_images, solver="hartigan", max_iter=MAX_ITER, **parameters
    )


def _score(faces: Faces, model: ProjectedKMeans) -> Score:
    return Score(
        clustering_accuracy(faces.people, model.labels_),
        normalized_inertia(faces.rows, model.labels_),
        model.timings_["seed"] + model.timings_["cluster"],
        model.timings_.get("reduce", 0.0),
    )
