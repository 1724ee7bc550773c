"""READ: ranges of rows of HDF5 files and of MatLab 7.3 files, which are HDF5 inside.

Reads data sets by h5py; MatLab's are stored column by column and turned here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_source import LazyHandle, Reader
from projected_kmeans.sources.formats.archives import Archive, LoadedRows, Variable
from projected_kmeans.sources.protocol import check_matrix

MATLAB_HEAD = b"MATLAB 7.3"
MATLAB_SPARSE = "MATLAB_sparse"


class Hdf5Rows:
    """Reader of a data set.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        The data set.
    turned : bool
        Whether rows are stored as columns.
    find_labels : callable
        From the number of rows to their labels.
    """

    sparse = False
    feature_names: tuple[str, ...] | None = None

    def __init__(
        self,
        path: Path,
        name: str,
        turned: bool,
        find_labels: Callable[[int], NDArray[Any] | None],
    ) -> None:
        self._handle = LazyHandle(_open_dataset, path, name)
        self._turned = turned
        dataset = self._handle.get()[1]
        check_matrix(dataset.shape or (), dataset.dtype, f"{name} in {path}")
        self.shape: tuple[int, int] = dataset.shape[::-1] if turned else dataset.shape
        self.dtype = dataset.dtype
        self.labels = find_labels(self.shape[0])

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range."""
        file_and_dataset = self._handle.get()  # the file stays open as long as this is held
        dataset = file_and_dataset[1]
        rows: NDArray[Any] = dataset[:, start:stop].T if self._turned else dataset[start:stop]
        return rows

    def close(self) -> None:
        """Let go of the file."""
        self._handle.close()


def is_matlab_hdf5(path: Path) -> bool:
    """Tell whether a ``.mat`` file is of version 7.3."""
    with open(path, "rb") as handle:
        return handle.read(len(MATLAB_HEAD)) == MATLAB_HEAD


def open_hdf5(path: Path, variable: str | None, *, matlab: bool = False) -> Reader:
    """Return the reader of one data set of an HDF5 file, chosen as in other archives."""
    archive = list_hdf5(path, matlab=matlab)
    chosen = archive.choose_matrix(variable)
    if chosen.kind == "sparse":
        return LoadedRows(path, chosen.name, archive.load, archive.find_labels)
    return Hdf5Rows(path, chosen.name, matlab, archive.find_labels)


def list_hdf5(path: Path, *, matlab: bool = False) -> Archive:
    """Return the data sets of an HDF5 file, in all its groups."""
    h5py = load_extra("h5py", "hdf5", str(path))
    variables: list[Variable] = []

    def visit(name: str, item: Any) -> None:
        if MATLAB_SPARSE in item.attrs:
            shape = (int(item.attrs[MATLAB_SPARSE]), len(item["jc"]) - 1)
            variables.append(Variable(name, shape, "sparse"))
        elif isinstance(item, h5py.Dataset) and not _belongs_elsewhere(item, name):
            is_number = item.shape is not None and item.dtype.kind in "biufc"
            # MatLab keeps texts as numbers and tells by the class.
            is_text = item.attrs.get("MATLAB_class", b"") in (b"char", b"cell")
            kind = "number" if is_number and not is_text else "other"
            extents = item.shape or ()
            variables.append(Variable(name, extents[::-1] if matlab else extents, kind))

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return Archive(path, tuple(variables), partial(_load_dataset, matlab=matlab))


def _belongs_elsewhere(item: Any, name: str) -> bool:
    """Tell whether a data set is a part of a sparse matrix or of MatLab's own book-keeping."""
    return name.startswith("#") or MATLAB_SPARSE in item.parent.attrs


def _open_dataset(path: Path, name: str) -> tuple[Any, Any]:
    h5py = load_extra("h5py", "hdf5", str(path))
    file = h5py.File(path, "r")
    return file, file[name]


def _load_dataset(path: Path, name: str, *, matlab: bool) -> Any:
    _file, item = _open_dataset(path, name)
    if MATLAB_SPARSE in item.attrs:
        shape = (int(item.attrs[MATLAB_SPARSE]), len(item["jc"]) - 1)
        entries = item["data"][:], item["ir"][:].astype(np.int64), item["jc"][:].astype(np.int64)
        return scipy.sparse.csc_array(entries, shape=shape)
    array = np.asarray(item[()])
    return array.T if matlab else array
