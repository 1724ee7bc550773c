"""Files that hold several arrays: which one is the matrix of rows, and which one its labels.

An array is chosen by its name, by a usual name, or because there is only one that fits. The modules
of the formats (npz, matlab, hdf5, zarr) say which arrays a file has and how one of them is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_rows import HandleReader, LazyHandle
from projected_kmeans.sources.memory import check_asked
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix
from projected_kmeans.sources.row_layout import check_sparse, is_sparse, to_csr

MATRIX_NAMES = ("X", "x", "data", "fea", "features")
LABEL_NAMES = ("y", "Y", "gnd", "labels", "target")
COLUMN_NAMES = ("feature_names", "vocabulary", "columns", "words", "terms")


@dataclass(frozen=True)
class Variable:
    """One array of a file, as far as it is known before it is loaded."""

    name: str
    shape: tuple[int, ...]
    kind: str  # "number", "sparse", "text" or "other"

    def is_matrix(self) -> bool:
        """Return whether it can hold rows."""
        return self.kind in ("number", "sparse") and len(self.shape) == 2

    def is_vector(self) -> bool:
        """Return whether it can hold labels."""
        return self.kind == "number" and sum(extent != 1 for extent in self.shape) == 1

    def __str__(self) -> str:
        return f"{self.name} ({' x '.join(map(str, self.shape)) or 'one value'})"


@dataclass(frozen=True)
class Archive:
    """The arrays of a file, and a function that loads one by its name."""

    path: Path
    variables: tuple[Variable, ...]
    load: Callable[[Path, str], Any]

    def choose_matrix(self, variable: str | None) -> Variable:
        """Return the array of this name, or without a name the only one that can be meant."""
        if variable is not None:
            named = [held for held in self.variables if held.name.strip("/") == variable.strip("/")]
            if not named:
                raise UnreadableFile(
                    f"{self.path} has no variable {variable!r}; choose among {self}"
                )
            return named[0]
        matrices = [held for held in self.variables if held.is_matrix()]
        named = [held for name in MATRIX_NAMES for held in matrices if held.name == name]
        others = [held for held in matrices if not held.is_vector()] or matrices
        if not named and not others:
            raise UnreadableFile(
                f"{self.path} holds {self} but no matrix; save one under the name X"
            )
        if not named and len(others) > 1:
            raise UnreadableFile(f"{self.path} holds {self}; choose one with variable")
        return (named or others)[0]

    def find_labels(self, n_rows: int) -> NDArray[Any] | None:
        """Return the labels of this number of rows if a usual name has them, else None."""
        for name in LABEL_NAMES:
            for held in self.variables:
                if held.name == name and held.is_vector() and max(held.shape) == n_rows:
                    return np.asarray(self.load(self.path, name)).reshape(-1)
        return None

    def find_names(self, n_columns: int) -> tuple[str, ...] | None:
        """Return the names of this number of columns if a usual name has them, else None."""
        for name in COLUMN_NAMES:
            for held in self.variables:
                if held.name == name and held.kind == "text" and held.shape == (n_columns,):
                    return tuple(self.load(self.path, name).tolist())
        return None

    def load_labels(self) -> NDArray[Any]:
        """Return the vector with a usual name, or the only vector."""
        vectors = [held for held in self.variables if held.is_vector()]
        named = [held for name in LABEL_NAMES for held in vectors if held.name == name]
        if not named and len(vectors) != 1:
            raise UnreadableFile(
                f"{self.path} holds {self}; give the labels one of the names y, gnd"
            )
        return np.asarray(self.load(self.path, (named or vectors)[0].name))

    def __str__(self) -> str:
        return ", ".join(map(str, self.variables)) or "nothing"


class LoadedRows(HandleReader):
    """Reader of a matrix that can only be loaded whole; it stays in memory until it is closed."""

    def __init__(self, archive: Archive, name: str) -> None:
        self._handle = LazyHandle(_load_matrix, archive.path, name, archive.load)
        rows = self._handle.get()
        self.shape = (int(rows.shape[0]), int(rows.shape[1]))
        self.dtype = rows.dtype
        self.sparse = bool(is_sparse(rows))
        self.labels = archive.find_labels(self.shape[0])
        self.feature_names = archive.find_names(self.shape[1])

    def read(self, start: int, stop: int) -> Any:
        """Return rows of the array in memory."""
        return self._handle.get()[start:stop]


def _load_matrix(path: Path, name: str, load: Callable[[Path, str], Any]) -> Any:
    rows: Any = load(path, name)
    check_matrix(rows.shape, rows.dtype, f"{name} in {path}")
    n_rows = rows.shape[0]
    if is_sparse(rows):
        check_sparse(rows, f"{name} in {path}")
        check_asked(8.0 * n_rows, path.stat().st_size, f"{name} in {path}")
        return to_csr(rows)
    return np.ascontiguousarray(rows)  # once, because MatLab's order would be turned at each read
