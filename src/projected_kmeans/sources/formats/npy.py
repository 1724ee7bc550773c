"""Matrices whose numbers lie at fixed places of a file, memory-mapped: ``.npy`` and vectors.

Opening reads the header only. Rows are read from disk when they are used. In ``.fvecs``, ``.bvecs``
and ``.ivecs`` files, a vector is its length, as an integer of four bytes, and then its numbers.
"""

from __future__ import annotations

import io
import itertools
import operator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.sources.file_format import Choice, Format, each_file
from projected_kmeans.sources.file_rows import HandleReader, LazyHandle
from projected_kmeans.sources.mapped_files import MappedArray, check_file
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix

# A longer header (64 KB) is damaged: numpy.save writes 128 bytes for a matrix.
LONGEST_HEADER = 2**16

ELEMENT_TYPES: dict[str, np.dtype[Any]] = {
    ".fvecs": np.dtype("<f4"),
    ".bvecs": np.dtype("u1"),
    ".ivecs": np.dtype("<i4"),
}
LENGTH_TYPE = np.dtype("<i4")


class MappedRows(HandleReader):
    """Reader of a memory-mapped matrix; ranges are views if their rows are contiguous."""

    def __init__(self, mapped: MappedArray, labels: NDArray[Any] | None = None) -> None:
        self.shape = (mapped.shape[0], mapped.shape[1])
        self.dtype = mapped.dtype
        self.labels = labels
        self._handle = LazyHandle(mapped.open)
        self._handle.get()  # opened now, so that a file that is too short is refused at once

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows as they lie in the file."""
        rows: NDArray[Any] = self._handle.get()[start:stop]
        return rows


class VectorRows(MappedRows):
    """Reader of a file of vectors, each behind its length."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        size = path.stat().st_size
        with open(path, "rb") as handle:
            head = handle.read(LENGTH_TYPE.itemsize)
        length = int(np.frombuffer(head, LENGTH_TYPE)[0]) if len(head) == 4 else 0
        if length < 1:
            raise UnreadableFile(
                f"{path} does not start with the length of a vector; write it again"
            )
        step = LENGTH_TYPE.itemsize + length * dtype.itemsize
        if size % step:
            raise UnreadableFile(
                f"{path} has {size} bytes, which is not a multiple of the {step} bytes of a "
                f"vector of {length} numbers; check that it is complete"
            )
        self._path = path
        shape, strides = (size // step, length), (step, dtype.itemsize)
        lengths = MappedArray(path, LENGTH_TYPE, shape[:1], (step,), 0)
        self._lengths = LazyHandle(lengths.open)
        super().__init__(MappedArray(path, dtype, shape, strides, LENGTH_TYPE.itemsize))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range, after checking that each has the length of the first vector."""
        lengths = self._lengths.get()[start:stop]
        others = lengths != self.shape[1]
        check_file(lengths)
        if others.any():
            row = int(np.argmax(others))
            raise UnreadableFile(
                f"{self._path} says that row {start + row} has {lengths[row]} numbers where the "
                f"first has {self.shape[1]}; give all vectors one length"
            )
        return super().read(start, stop)

    def close(self) -> None:
        """Forget the memory maps."""
        super().close()
        self._lengths.close()


def find_array(path: Path) -> MappedArray:
    """Return where the array of a ``.npy`` file lies."""
    with open(path, "rb") as handle:
        shape, dtype, strides = read_npy_header(handle)
        return MappedArray(path, dtype, shape, strides, handle.tell())


def read_npy_header(
    handle: IO[bytes],
) -> tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]:
    """Return shape, type and strides of an array; the handle is then where the numbers begin."""
    version = npy.read_magic(handle)
    length = handle.read(2 if version == (1, 0) else 4)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > LONGEST_HEADER:
        raise ValueError(f"its header says that it has {n_bytes} bytes; headers are short")
    read = {(1, 0): npy.read_array_header_1_0}.get(version, npy.read_array_header_2_0)
    shape, fortran, dtype = read(io.BytesIO(length + handle.read(n_bytes)))
    # By Python's integers, because those of NumPy overflow if the header has absurd extents.
    extents = shape[:-1] if fortran else shape[:0:-1]
    steps = list(itertools.accumulate([dtype.itemsize, *extents], operator.mul))
    return shape, dtype, tuple(steps if fortran else steps[::-1]) if shape else ()


def _open_reader(path: Path, choice: Choice) -> MappedRows:
    mapped = find_array(path)
    check_matrix(mapped.shape, mapped.dtype, str(path))
    return MappedRows(mapped)


def _vector_format(extension: str, dtype: np.dtype[Any]) -> Format:
    return Format((extension,), each_file(lambda path, choice: VectorRows(path, dtype)))


NPY = Format((".npy",), each_file(_open_reader), load_labels=lambda path: find_array(path).load())
FVECS, BVECS, IVECS = (_vector_format(*entry) for entry in ELEMENT_TYPES.items())
