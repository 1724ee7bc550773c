"""READ: a matrix among the arrays of a ``.npz`` or MatLab file, and labels beside it.

Chooses by name or because there is no choice; how an array is loaded is the format's business.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.sources.file_source import LazyHandle, Reader
from projected_kmeans.sources.formats.npy import MappedArray, MappedRows, read_npy_header
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix, to_csr

MATRIX_NAMES = ("X", "x", "data", "fea", "features")
LABEL_NAMES = ("y", "Y", "gnd", "labels", "target")

# What scipy.sparse.save_npz writes beside the shape.
SPARSE_MEMBERS = {"format", "shape", "data"}
SPARSE_NAME = "the matrix"


@dataclass(frozen=True)
class Variable:
    """One array of a file that holds several, known before it is loaded."""

    name: str
    shape: tuple[int, ...]
    kind: str  # "number", "sparse" or "other"

    def is_matrix(self) -> bool:
        """Tell whether rows may be in it."""
        return self.kind != "other" and len(self.shape) == 2

    def is_vector(self) -> bool:
        """Tell whether labels may be in it."""
        return self.kind == "number" and sum(extent != 1 for extent in self.shape) == 1

    def __str__(self) -> str:
        return f"{self.name} ({' x '.join(map(str, self.shape)) or 'one value'})"


@dataclass(frozen=True)
class Archive:
    """The variables of a file, and how to load one by its name."""

    path: Path
    variables: tuple[Variable, ...]
    load: Callable[[Path, str], Any]

    def choose_matrix(self, variable: str | None) -> Variable:
        """Return the variable of a name, or the one that is clearly meant."""
        if variable is not None:
            named = [one for one in self.variables if one.name.strip("/") == variable.strip("/")]
            if not named:
                raise UnreadableFile(
                    f"{self.path} has no variable {variable!r}; choose among {self}"
                )
            return named[0]
        matrices = [one for one in self.variables if one.is_matrix()]
        named = [one for name in MATRIX_NAMES for one in matrices if one.name == name]
        others = [one for one in matrices if not one.is_vector()] or matrices
        if not named and not others:
            raise UnreadableFile(
                f"{self.path} holds {self} but no matrix; save one under the name X"
            )
        if not named and len(others) > 1:
            raise UnreadableFile(f"{self.path} holds {self}; choose which by its variable name")
        return (named or others)[0]

    def find_labels(self, n_rows: int) -> NDArray[Any] | None:
        """Return the labels of so many rows, if they are there under a usual name."""
        for name in LABEL_NAMES:
            for one in self.variables:
                if one.name == name and one.is_vector() and max(one.shape) == n_rows:
                    return np.asarray(self.load(self.path, name)).reshape(-1)
        return None

    def load_labels(self) -> NDArray[Any]:
        """Return the one vector, or the one with a usual name."""
        vectors = [one for one in self.variables if one.is_vector()]
        named = [one for name in LABEL_NAMES for one in vectors if one.name == name]
        if not named and len(vectors) != 1:
            raise UnreadableFile(
                f"{self.path} holds {self}; give the labels one of the names y, gnd"
            )
        return np.asarray(self.load(self.path, (named or vectors)[0].name))

    def __str__(self) -> str:
        return ", ".join(map(str, self.variables)) or "nothing"


class LoadedRows:
    """Reader of a matrix that its file can only give as a whole, kept in memory until closed.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        The variable.
    load : callable
        From path and name to the array.
    find_labels : callable
        From the number of rows to their labels.
    """

    feature_names: tuple[str, ...] | None = None

    def __init__(
        self,
        path: Path,
        name: str,
        load: Callable[[Path, str], Any],
        find_labels: Callable[[int], NDArray[Any] | None],
    ) -> None:
        self._handle = LazyHandle(_load_rows, path, name, load)
        rows = self._handle.get()
        self.shape = (int(rows.shape[0]), int(rows.shape[1]))
        self.dtype = rows.dtype
        self.sparse = bool(scipy.sparse.issparse(rows))
        self.labels = find_labels(self.shape[0])

    def read(self, start: int, stop: int) -> Any:
        """Return rows of the array in memory."""
        return self._handle.get()[start:stop]

    def close(self) -> None:
        """Forget the array."""
        self._handle.close()


def open_npz(path: Path, variable: str | None) -> Reader:
    """Return the reader of a ``.npz`` file: a memory map where the array is not compressed."""
    archive = list_npz(path)
    chosen = archive.choose_matrix(variable)
    mapped = None if chosen.kind == "sparse" else _find_member(path, chosen.name)
    if mapped is None:
        return LoadedRows(path, chosen.name, archive.load, archive.find_labels)
    check_matrix(mapped.shape, mapped.dtype, f"{chosen.name} in {path}")
    return MappedRows(mapped, archive.find_labels(mapped.shape[0]))


def open_mat(path: Path, variable: str | None) -> Reader:
    """Return the reader of a MatLab file up to version 7."""
    archive = list_mat(path)
    chosen = archive.choose_matrix(variable)
    return LoadedRows(path, chosen.name, archive.load, archive.find_labels)


def list_npz(path: Path) -> Archive:
    """Return what a ``.npz`` file holds; only the heads of its arrays are read."""
    variables = []
    with zipfile.ZipFile(path) as members:
        for member in members.namelist():
            with members.open(member) as handle:
                shape, dtype, _ = read_npy_header(handle)
            kind = "number" if dtype.kind in "biufc" else "other"
            variables.append(Variable(member.removesuffix(".npy"), shape, kind))
    if {one.name for one in variables} >= SPARSE_MEMBERS:
        shape = tuple(_load_member(path, "shape").tolist())
        variables = [Variable(SPARSE_NAME, shape, "sparse")]
    return Archive(path, tuple(variables), _load_member)


def list_mat(path: Path) -> Archive:
    """Return what a MatLab file holds."""
    special = {"sparse": "sparse"} | dict.fromkeys(("cell", "struct", "object", "char"), "other")
    variables = [
        Variable(name, shape, special.get(kind, "number"))
        for name, shape, kind in scipy.io.whosmat(path)
    ]
    return Archive(path, tuple(variables), _load_variable)


def _load_member(path: Path, name: str) -> Any:
    if name == SPARSE_NAME:
        return scipy.sparse.load_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        return np.asarray(arrays[name])


def _load_variable(path: Path, name: str) -> Any:
    found = scipy.io.loadmat(path, variable_names=[name])[name]
    return found if scipy.sparse.issparse(found) else np.asarray(found)


def _load_rows(path: Path, name: str, load: Callable[[Path, str], Any]) -> Any:
    rows = load(path, name)
    check_matrix(rows.shape, rows.dtype, f"{name} in {path}")
    if scipy.sparse.issparse(rows):
        return to_csr(rows)
    return np.ascontiguousarray(rows)  # MatLab's order would be turned again with every range


def _find_member(path: Path, name: str) -> MappedArray | None:
    """Return where an array lies in the file, or None if it is compressed."""
    with zipfile.ZipFile(path) as members:
        entry = members.getinfo(name if name in members.namelist() else f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED:
            return None
        with members.open(entry) as member:
            shape, dtype, strides = read_npy_header(member)
            in_member = member.tell()
    with open(path, "rb") as handle:
        # The local head may be longer than the one in the directory, so it is asked itself.
        handle.seek(entry.header_offset + 26)
        lengths = np.frombuffer(handle.read(4), "<u2")
    begin = entry.header_offset + 30 + int(lengths.sum())
    return MappedArray(path, dtype, shape, strides, begin + in_member)
