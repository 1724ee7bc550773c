"""READ: ranges of rows of Zarr stores.

Reads arrays by the zarr package, of version 2 or 3; a store is a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_source import LazyHandle
from projected_kmeans.sources.formats.archives import Archive, Variable
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix

# What a folder has that is a store, in versions 2 and 3 of the format.
STORE_FILES = (".zarray", ".zgroup", "zarr.json")


class ZarrRows:
    """Reader of an array.

    Parameters
    ----------
    path : Path
        The store.
    name : str
        The array; empty if the store is one.
    find_labels : callable
        From the number of rows to their labels.
    """

    sparse = False
    feature_names: tuple[str, ...] | None = None

    def __init__(
        self, path: Path, name: str, find_labels: Callable[[int], NDArray[Any] | None]
    ) -> None:
        self._handle = LazyHandle(_open_array, path, name)
        array = self._handle.get()
        check_matrix(tuple(array.shape), np.dtype(array.dtype), f"{name or 'the array'} in {path}")
        self.shape: tuple[int, int] = tuple(array.shape)
        self.dtype = np.dtype(array.dtype)
        self.labels = find_labels(self.shape[0])

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range."""
        return np.asarray(self._handle.get()[start:stop])

    def close(self) -> None:
        """Let go of the store."""
        self._handle.close()


def is_store(path: Path) -> bool:
    """Tell whether a folder is a Zarr store."""
    return any((path / name).is_file() for name in STORE_FILES)


def open_zarr(path: Path, variable: str | None) -> ZarrRows:
    """Return the reader of one array of a store, chosen as in other archives."""
    archive = list_zarr(path)
    return ZarrRows(path, archive.choose_matrix(variable).name, archive.find_labels)


def list_zarr(path: Path) -> Archive:
    """Return the arrays of a store, in all its groups."""
    root = _open_store(path)
    arrays = dict(_arrays_of(root, ""))
    if not arrays:
        raise UnreadableFile(f"{path} holds no array; save one under the name X")
    variables = [
        Variable(name, tuple(one.shape), "number" if _is_numeric(one) else "other")
        for name, one in sorted(arrays.items())
    ]
    return Archive(path, tuple(variables), _load_array)


def _arrays_of(item: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(item, "groups"):
        yield name, item
        return
    for inner, array in item.arrays():
        yield f"{name}/{inner}".lstrip("/"), array
    for inner, group in item.groups():
        yield from _arrays_of(group, f"{name}/{inner}")


def _is_numeric(array: Any) -> bool:
    return np.dtype(array.dtype).kind in "biufc"


def _open_store(path: Path) -> Any:
    zarr = load_extra("zarr", "zarr", str(path))
    return zarr.open(str(path), mode="r")


def _open_array(path: Path, name: str) -> Any:
    root = _open_store(path)
    return root[name] if name else root


def _load_array(path: Path, name: str) -> NDArray[Any]:
    return np.asarray(_open_array(path, name)[...])
