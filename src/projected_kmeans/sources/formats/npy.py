"""READ: rows that lie in a file as numbers at fixed places, through a memory map; ``.npy``.

Reads nothing until rows are used; compressed or textual files have other readers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.sources.file_source import LazyHandle
from projected_kmeans.sources.protocol import check_matrix


@dataclass(frozen=True)
class MappedArray:
    """Where in a file an array lies; as a value it travels in place of the array."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def open(self) -> NDArray[Any]:
        """Return the array as a read-only view of the file; raise if the file is too short."""
        content = np.memmap(self.path, np.uint8, mode="r")
        extents = zip(self.shape, self.strides, strict=True)
        last = sum((extent - 1) * stride for extent, stride in extents) + self.dtype.itemsize
        if 0 not in self.shape and self.offset + last > len(content):
            raise ValueError(
                f"it has {len(content)} bytes where its header says {self.offset + last}"
            )
        return np.ndarray(self.shape, self.dtype, content, self.offset, self.strides)


class MappedRows:
    """Reader of a memory-mapped matrix; ranges are views where their rows are contiguous.

    Parameters
    ----------
    mapped : MappedArray
        Where the matrix lies.
    labels : ndarray, optional
        A label for each row.
    """

    sparse = False
    feature_names: tuple[str, ...] | None = None

    def __init__(self, mapped: MappedArray, labels: NDArray[Any] | None = None) -> None:
        self.shape = (mapped.shape[0], mapped.shape[1])
        self.dtype = mapped.dtype
        self.labels = labels
        self._handle = LazyHandle(mapped.open)
        self._handle.get()  # a file that is too short is told at once

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows as they lie in the file."""
        return self._handle.get()[start:stop]

    def close(self) -> None:
        """Forget the memory map."""
        self._handle.close()


def open_npy(path: Path) -> MappedRows:
    """Return the reader of a ``.npy`` file, in C or Fortran order."""
    mapped = find_array(path)
    check_matrix(mapped.shape, mapped.dtype, str(path))
    return MappedRows(mapped)


def find_array(path: Path) -> MappedArray:
    """Return where the array of a ``.npy`` file lies."""
    with open(path, "rb") as handle:
        shape, dtype, strides = read_npy_header(handle)
        return MappedArray(path, dtype, shape, strides, handle.tell())


def read_npy_header(
    handle: IO[bytes],
) -> tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]:
    """Return shape, type and strides from the head of an array; the data follows."""
    version = npy.read_magic(handle)
    read = {(1, 0): npy.read_array_header_1_0}.get(version, npy.read_array_header_2_0)
    shape, fortran, dtype = read(handle)
    steps = np.cumprod([dtype.itemsize, *(shape[:-1] if fortran else shape[:0:-1])])
    strides = tuple(steps.tolist() if fortran else steps[::-1].tolist())
    return shape, dtype, strides if shape else ()
