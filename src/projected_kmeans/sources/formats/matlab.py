"""MatLab's ``.mat`` files: up to version 7 by SciPy, loaded whole; version 7.3 as HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy

from projected_kmeans.sources.file_format import Choice, Format, each_file
from projected_kmeans.sources.file_reader import Reader
from projected_kmeans.sources.formats.archives import Archive, LoadedRows, Variable
from projected_kmeans.sources.formats.hdf5 import list_hdf5, open_hdf5
from projected_kmeans.sources.sparse_layout import is_sparse

HDF5_HEAD = b"MATLAB 7.3"

# How MatLab's classes are chosen among; all classes that are not listed hold numbers.
KINDS = {"sparse": "sparse"} | dict.fromkeys(("cell", "struct", "object", "char"), "other")


def list_mat(path: Path) -> Archive:
    """Return the arrays of a ``.mat`` file of any version."""
    if _is_hdf5(path):
        return list_hdf5(path, matlab=True)
    variables = [
        Variable(name, shape, KINDS.get(kind, "number"))
        for name, shape, kind in scipy.io.whosmat(path)
    ]
    return Archive(path, tuple(variables), _load_variable)


def _open_reader(path: Path, choice: Choice) -> Reader:
    if _is_hdf5(path):
        return open_hdf5(path, choice.variable, matlab=True)
    archive = list_mat(path)
    return LoadedRows(archive, archive.choose_matrix(choice.variable).name)


def _is_hdf5(path: Path) -> bool:
    """Return whether a ``.mat`` file is of version 7.3."""
    with open(path, "rb") as handle:
        return handle.read(len(HDF5_HEAD)) == HDF5_HEAD


def _load_variable(path: Path, name: str) -> Any:
    found = scipy.io.loadmat(path, variable_names=[name])[name]
    return found if is_sparse(found) else np.asarray(found)


MAT = Format(
    (".mat",),
    each_file(_open_reader),
    choices=("variable",),
    extra="hdf5",
    modules=("scipy.io",),
    load_labels=lambda path: list_mat(path).load_labels(),
)
