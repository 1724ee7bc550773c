"""HDF5 files, read by h5py, and MatLab's ``.mat`` files of all versions.

MatLab 7.3 writes HDF5; it stores matrices column by column, so its data sets are turned when they
are read. Files up to version 7 are read by SciPy, and loaded whole.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_format import Choice, Format, each_file
from projected_kmeans.sources.file_rows import HandleReader, LazyHandle, Reader
from projected_kmeans.sources.formats.archives import Archive, LoadedRows, Variable
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix
from projected_kmeans.sources.row_layout import is_sparse

# How a MatLab file of version 7.3 begins.
HDF5_HEAD = b"MATLAB 7.3"
# The attribute with which MatLab marks a group that holds a sparse matrix; it has the row count.
MATLAB_SPARSE = "MATLAB_sparse"
# How MatLab's classes are chosen among; all classes that are not listed hold numbers.
KINDS = {"sparse": "sparse"} | dict.fromkeys(("cell", "struct", "object", "char"), "other")

# Filters that HDF5 and h5py bring along: deflate, shuffle, fletcher32, szip, nbit, scaleoffset and
# lzf. Others are loaded from plugins.
KNOWN_FILTERS = {1, 2, 3, 4, 5, 6, 32000}


class Hdf5Rows(HandleReader):
    """Reader of a data set; `turned` says that rows are stored as columns."""

    def __init__(self, archive: Archive, name: str, turned: bool) -> None:
        self._handle = LazyHandle(_open_dataset, archive.path, name)
        self._turned = turned
        dataset = self._handle.get()[1]
        check_matrix(dataset.shape or (), dataset.dtype, f"{name} in {archive.path}")
        self.shape: tuple[int, int] = dataset.shape[::-1] if turned else dataset.shape
        self.dtype: np.dtype[Any] = dataset.dtype
        self.labels = archive.find_labels(self.shape[0])

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range."""
        file_and_dataset = self._handle.get()  # the file stays open as long as this is held
        dataset = file_and_dataset[1]
        rows: NDArray[Any] = dataset[:, start:stop].T if self._turned else dataset[start:stop]
        return rows


def open_hdf5(path: Path, variable: str | None, *, matlab: bool = False) -> Reader:
    """Return the reader of one data set, of the only one that can be meant if none is named."""
    archive = list_hdf5(path, matlab=matlab)
    chosen = archive.choose_matrix(variable)
    if chosen.kind == "sparse":
        return LoadedRows(archive, chosen.name)
    return Hdf5Rows(archive, chosen.name, matlab)


def list_hdf5(path: Path, *, matlab: bool = False) -> Archive:
    """Return the data sets of a file, in all its groups."""
    h5py = load_extra("h5py", "hdf5", str(path))
    variables: list[Variable] = []

    def visit(name: str, item: Any) -> None:
        if MATLAB_SPARSE in item.attrs:
            variables.append(Variable(name, _sparse_shape(item), "sparse"))
        elif isinstance(item, h5py.Dataset) and not _is_part_of_another(item, name):
            is_number = item.shape is not None and item.dtype.kind in "biufc"
            # MatLab stores text as numbers; only the class tells them apart.
            is_text = item.attrs.get("MATLAB_class", b"") in (b"char", b"cell")
            kind = "number" if is_number and not is_text else "other"
            extents = item.shape or ()
            variables.append(Variable(name, extents[::-1] if matlab else extents, kind))

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return Archive(path, tuple(variables), partial(_load_dataset, matlab=matlab))


def _is_part_of_another(item: Any, name: str) -> bool:
    """Return whether a data set belongs to a sparse matrix or to MatLab's own bookkeeping."""
    return name.startswith("#") or MATLAB_SPARSE in item.parent.attrs


def _sparse_shape(group: Any) -> tuple[int, int]:
    return int(group.attrs[MATLAB_SPARSE]), len(_open_part(group, "jc")) - 1


def _open_part(group: Any, name: str) -> Any:
    """Return an array of a sparse matrix, which must lie in the group itself."""
    h5py = load_extra("h5py", "hdf5", "a sparse matrix of MatLab")
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise UnreadableFile(
            f"{group.name} in {group.file.filename} links {name} from elsewhere, which is not "
            "followed; copy it into the file"
        )
    return _check_storage(group[name])


def _check_storage(dataset: Any) -> Any:
    """Return a data set whose numbers lie in its own file; raise for all others."""
    where = f"{dataset.name} in {dataset.file.filename}"
    storage = dataset.id.get_create_plist()
    if dataset.is_virtual or storage.get_external_count():
        raise UnreadableFile(
            f"{where} takes its numbers from other files, which are not read; copy them into it"
        )
    filters = {storage.get_filter(index)[0] for index in range(storage.get_nfilters())}
    for code in sorted(filters - KNOWN_FILTERS):
        raise UnreadableFile(
            f"{where} is packed by filter {code}, which is a plugin; store it with gzip, such as "
            "by h5repack -f GZIP=1"
        )
    return dataset


def _open_dataset(path: Path, name: str) -> tuple[Any, Any]:
    h5py = load_extra("h5py", "hdf5", str(path))
    file = h5py.File(path, "r")
    item = file[name]
    return file, _check_storage(item) if isinstance(item, h5py.Dataset) else item


def _load_dataset(path: Path, name: str, *, matlab: bool) -> Any:
    _file, item = _open_dataset(path, name)
    if MATLAB_SPARSE in item.attrs:
        data, rows, starts = (_open_part(item, part)[:] for part in ("data", "ir", "jc"))
        entries = data, rows.astype(np.int64), starts.astype(np.int64)
        return scipy.sparse.csc_array(entries, shape=_sparse_shape(item))
    array = np.asarray(item[()])
    return array.T if matlab else array


def list_mat(path: Path) -> Archive:
    """Return the arrays of a ``.mat`` file of any version."""
    if _is_hdf5(path):
        return list_hdf5(path, matlab=True)
    variables = [
        Variable(name, shape, KINDS.get(kind, "number"))
        for name, shape, kind in scipy.io.whosmat(path)
    ]
    return Archive(path, tuple(variables), _load_mat)


def _open_mat(path: Path, choice: Choice) -> Reader:
    if _is_hdf5(path):
        return open_hdf5(path, choice.variable, matlab=True)
    archive = list_mat(path)
    return LoadedRows(archive, archive.choose_matrix(choice.variable).name)


def _is_hdf5(path: Path) -> bool:
    with open(path, "rb") as handle:
        return handle.read(len(HDF5_HEAD)) == HDF5_HEAD


def _load_mat(path: Path, name: str) -> Any:
    loaded = scipy.io.loadmat(path, variable_names=[name])[name]
    return loaded if is_sparse(loaded) else np.asarray(loaded)


HDF5 = Format(
    (".h5", ".hdf5"),
    each_file(lambda path, choice: open_hdf5(path, choice.variable)),
    choices=("variable",),
    extra="hdf5",
    modules=("h5py",),
)
MAT = Format(
    (".mat",),
    each_file(_open_mat),
    choices=("variable",),
    extra="hdf5",
    modules=("scipy.io",),
    load_labels=lambda path: list_mat(path).load_labels(),
)
