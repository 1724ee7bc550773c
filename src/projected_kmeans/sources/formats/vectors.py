"""``.fvecs``, ``.bvecs`` and ``.ivecs`` files, as memory maps.

In these files a vector is its length, as an integer of four bytes, followed by its numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_format import Format, each_file
from projected_kmeans.sources.file_reader import LazyHandle
from projected_kmeans.sources.formats.npy import MappedArray
from projected_kmeans.sources.mapped_files import check_file
from projected_kmeans.sources.protocol import SourceDefaults, UnreadableFile

ELEMENT_TYPES: dict[str, np.dtype[Any]] = {
    ".fvecs": np.dtype("<f4"),
    ".bvecs": np.dtype("u1"),
    ".ivecs": np.dtype("<i4"),
}
LENGTH_TYPE = np.dtype("<i4")


class VectorRows(SourceDefaults):
    """Reader of a file of vectors.

    Parameters
    ----------
    path : Path
        The file.
    dtype : dtype
        The type of the numbers.
    """

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
        self.shape = (size // step, length)
        self.dtype = dtype
        strides = (step, dtype.itemsize)
        rows = MappedArray(path, dtype, self.shape, strides, LENGTH_TYPE.itemsize)
        lengths = MappedArray(path, LENGTH_TYPE, self.shape[:1], (step,), 0)
        self._rows, self._lengths = LazyHandle(rows.open), LazyHandle(lengths.open)

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
        return self._rows.get()[start:stop]

    def close(self) -> None:
        """Forget the memory maps."""
        self._rows.close()
        self._lengths.close()


def _format_of(extension: str, dtype: np.dtype[Any]) -> Format:
    return Format((extension,), each_file(lambda path, choice: VectorRows(path, dtype)))


FVECS, BVECS, IVECS = (_format_of(*entry) for entry in ELEMENT_TYPES.items())
