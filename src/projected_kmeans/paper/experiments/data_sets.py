"""The real data of the experiments beyond the face images: find it, and say what is missing.

Files are searched in the folders of `faces.data_folders`. A data set whose file is missing is left
out with a sentence that says so; those that come with scikit-learn are always there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.paper.experiments.faces import (
    FOLDER_VARIABLE,
    N_PEOPLE,
    Faces,
    data_folders,
)
from projected_kmeans.sources.open_rows import read_matrix

ORL = "ORL"


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows and the number of clusters to find in them.

    Attributes
    ----------
    name : str
        Its name in results.
    rows : ndarray of float64 or sparse matrix (n, d)
        A, the data.
    n_clusters : int
        k.
    classes : ndarray (n,) or None
        The class of every row, for the accuracy P.
    """

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
        parts = (rows.data, rows.indices, rows.indptr) if self.is_sparse else (rows,)
        digest = hashlib.sha256()
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return {
            "name": self.name,
            "shape": list(rows.shape),
            "k": self.n_clusters,
            "sparse": self.is_sparse,
            "sha256": digest.hexdigest(),
        }


class Found(NamedTuple):
    """The data sets that are there, and a sentence for each that is not."""

    sets: tuple[DataSet, ...]
    missing: tuple[str, ...]


class _Rows(NamedTuple):
    """What a reader returns: rows and the class of each, or None."""

    rows: Any
    classes: NDArray[Any] | None


class _Source(NamedTuple):
    """Where a data set comes from: its file, if it has one, how to read it, and k."""

    file: str | None
    read: Callable[[Path], _Rows]
    n_clusters: int


def _read_dense(path: Path) -> _Rows:
    matrix = read_matrix(path)
    return _Rows(np.ascontiguousarray(matrix.rows, dtype=np.float64), matrix.labels)


def _read_variable(name: str, path: Path) -> _Rows:
    matrix = read_matrix(path, variable=name)
    return _Rows(np.ascontiguousarray(matrix.rows, dtype=np.float64), None)


def _read_texts(path: Path) -> _Rows:
    with np.load(path) as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        rows = scipy.sparse.csr_matrix(parts, shape=tuple(stored["shape"]))
        classes = stored["labels"]
    rows.sum_duplicates()
    return _Rows(rows, classes)


def _load_bundled(name: str, path: Path) -> _Rows:
    """Return a data set that is part of scikit-learn; the path is not used."""
    from sklearn import datasets

    rows, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    return _Rows(np.ascontiguousarray(rows, dtype=np.float64), classes)


SMALL_FILE = "small_instances.npz"

SOURCES: Mapping[str, _Source] = MappingProxyType(
    {
        "iris": _Source(None, partial(_load_bundled, "iris"), 3),
        "wine": _Source(None, partial(_load_bundled, "wine"), 3),
        "breast cancer": _Source(None, partial(_load_bundled, "breast_cancer"), 2),
        "digits": _Source(None, partial(_load_bundled, "digits"), 10),
        "seeds": _Source(SMALL_FILE, partial(_read_variable, "seeds"), 3),
        "ECG5000": _Source(SMALL_FILE, partial(_read_variable, "ECG5000"), 2),
        "COIL20": _Source("COIL20.mat", _read_dense, 20),
        "MNIST 10k": _Source("mnist_10k.npz", _read_dense, 10),
        "newsgroups": _Source("newsgroups.npz", _read_texts, 20),
    }
)


def find_data_sets(names: Sequence[str], faces: Faces | None) -> Found:
    """Return data sets by name, in this order, and a sentence for each that was not found.

    Parameters
    ----------
    names : sequence of str
        Names of `SOURCES`, or "ORL" for the face images.
    faces : Faces or None
        The face images, if they were found.

    Examples
    --------
    >>> found = find_data_sets(["iris", "ORL"], None)
    >>> found.sets[0].rows.shape
    (150, 4)
    >>> found.missing[0]
    'ORL is left out, because the face images were not found'
    """
    sets: list[DataSet] = []
    missing: list[str] = []
    for name in names:
        if name == ORL and faces is not None:
            sets.append(DataSet(ORL, faces.rows, N_PEOPLE, faces.people))
        elif name == ORL:
            missing.append(f"{ORL} is left out, because the face images were not found")
        else:
            source = SOURCES[name]
            path = _find_file(source.file)
            if path is None:
                missing.append(
                    f"{name} is left out, because {source.file} is in no data folder; set "
                    f"{FOLDER_VARIABLE} to its folder"
                )
            else:
                sets.append(DataSet(name, *_order(source, path)))
    return Found(tuple(sets), tuple(missing))


def _order(source: _Source, path: Path) -> tuple[Any, int, NDArray[Any] | None]:
    """Return the fields of a data set that follow its name."""
    found = source.read(path)
    return found.rows, source.n_clusters, found.classes


def _find_file(name: str | None) -> Path | None:
    """Return the path of a data file; for bundled data, which has none, any path will do."""
    if name is None:
        return Path()
    return next((folder / name for folder in data_folders() if (folder / name).is_file()), None)
