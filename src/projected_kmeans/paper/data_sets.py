"""The real data of the experiments: the paper's face images and others.

Files are searched in the folder that `FOLDER_VARIABLE` names, or in the default places. A data set
whose file is missing is left out with a sentence that says so; those that come with scikit-learn
are always there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.passes.scoring import clustering_accuracy
from projected_kmeans.results import Floats
from projected_kmeans.sources.open_rows import Matrix, read_matrix

FILE_NAME = "ORL_64x64.mat"
FOLDER_VARIABLE = "PROJECTED_KMEANS_DATA"
N_PEOPLE = 40
IMAGES_EACH = 10
N_PIXELS = 64 * 64


@dataclass(frozen=True, eq=False)
class Faces:
    """The paper's images as rows (400 x 4096), and who is on them.

    ``same_crop`` says whether these are the images of the paper, so that numbers can be compared.
    Otherwise they show the same people in another crop.
    """

    rows: Floats
    people: NDArray[Any]
    name: str
    same_crop: bool

    def describe(self) -> dict[str, Any]:
        """Return the description of the data for a stored result."""
        return {
            "name": self.name,
            "shape": list(self.rows.shape),
            "sha256": hashlib.sha256(self.rows.tobytes()).hexdigest(),
            "same_crop": self.same_crop,
        }


def find_faces(path: str | None = None) -> Faces:
    """Return the face images from a named file, the data folders, or scikit-learn.

    scikit-learn downloads its Olivetti faces: the same people in another crop.
    """
    if path is not None:
        return _as_faces(read_matrix(path), Path(path).name, same_crop=True)
    file = _find_file(FILE_NAME)
    if file is not None:
        return _as_faces(read_matrix(file), FILE_NAME, same_crop=True)
    return _fetch_olivetti()


def data_folders() -> list[Path]:
    """Return the folder that `FOLDER_VARIABLE` names, or the default places ../shared/data."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return [Path(named)]
    root = Path(__file__).parents[3]
    return [start.parent / "shared" / "data" for start in (Path.cwd(), root)]


def _find_file(name: str) -> Path | None:
    return next((folder / name for folder in data_folders() if (folder / name).is_file()), None)


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


@dataclass(frozen=True, eq=False)
class DataSet:
    """Dense or sparse rows, k, and the class of every row where the accuracy P is asked for."""

    name: str
    rows: Any
    n_clusters: int
    classes: NDArray[Any] | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a sparse matrix."""
        return bool(scipy.sparse.issparse(self.rows))

    def describe(self) -> dict[str, Any]:
        """Return the description of the data for a stored result."""
        rows = self.rows
        digest = hashlib.sha256()
        for part in (rows.data, rows.indices, rows.indptr) if self.is_sparse else (rows,):
            digest.update(np.ascontiguousarray(part).tobytes())
        return {
            "name": self.name,
            "shape": list(rows.shape),
            "k": self.n_clusters,
            "sparse": self.is_sparse,
            "sha256": digest.hexdigest(),
        }


class FoundData(NamedTuple):
    """The data sets that are there, and a sentence for each that is not."""

    sets: tuple[DataSet, ...]
    missing: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """Return both for the parameters of an experiment."""
        return {"data": [data.describe() for data in self.sets], "missing": list(self.missing)}


class _Labelled(NamedTuple):
    """What a reader returns: rows and the class of each, or None."""

    rows: Any
    classes: NDArray[Any] | None


def _read_dense(path: Path, variable: str | None = None) -> _Labelled:
    matrix = read_matrix(path, variable=variable)
    return _Labelled(np.ascontiguousarray(matrix.rows, dtype=np.float64), matrix.labels)


def _read_texts(path: Path) -> _Labelled:
    with np.load(path) as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        rows = scipy.sparse.csr_matrix(parts, shape=tuple(stored["shape"]))
        classes = stored["labels"]
    rows.sum_duplicates()
    return _Labelled(rows, classes)


def _load_bundled(name: str, loader: str, n_clusters: int) -> DataSet:
    from sklearn import datasets

    rows, classes = getattr(datasets, loader)(return_X_y=True)
    return DataSet(name, np.ascontiguousarray(rows, dtype=np.float64), n_clusters, classes)


ORL = "ORL"
SMALL_FILE = "small_instances.npz"

# Data sets that come with scikit-learn: its function that loads them, and k.
BUNDLED: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "iris": ("load_iris", 3),
        "wine": ("load_wine", 3),
        "breast cancer": ("load_breast_cancer", 2),
        "digits": ("load_digits", 10),
    }
)
# Data sets in files: the file, how to read it, and k.
STORED: Mapping[str, tuple[str, Callable[[Path], _Labelled], int]] = MappingProxyType(
    {
        "seeds": (SMALL_FILE, partial(_read_dense, variable="seeds"), 3),
        "ECG5000": (SMALL_FILE, partial(_read_dense, variable="ECG5000"), 2),
        "COIL20": ("COIL20.mat", _read_dense, 20),
        "MNIST 10k": ("mnist_10k.npz", _read_dense, 10),
        "newsgroups": ("newsgroups.npz", _read_texts, 20),
    }
)


def find_data_sets(names: Sequence[str], faces: Faces | None) -> FoundData:
    """Return data sets by name, in this order, and a sentence for each that was not found."""
    sets: list[DataSet] = []
    missing: list[str] = []
    for name in names:
        if name == ORL and faces is not None:
            sets.append(DataSet(ORL, faces.rows, N_PEOPLE, faces.people))
        elif name == ORL:
            missing.append(f"{ORL} is left out, because the face images were not found")
        elif name in BUNDLED:
            sets.append(_load_bundled(name, *BUNDLED[name]))
        else:
            file, read, n_clusters = STORED[name]
            path = _find_file(file)
            if path is None:
                missing.append(
                    f"{name} is left out, because {file} is in no data folder; set "
                    f"{FOLDER_VARIABLE} to its folder"
                )
            else:
                labelled = read(path)
                sets.append(DataSet(name, labelled.rows, n_clusters, labelled.classes))
    return FoundData(tuple(sets), tuple(missing))
