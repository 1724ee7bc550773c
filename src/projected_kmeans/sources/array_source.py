"""Row sources of data in memory: arrays, memory maps and sparse matrices; tables by their module.

Rows are views of the array if its layout allows it. NaN and infinity are passed on.
"""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.mapped_files import MappedArray, check_file, watch
from projected_kmeans.sources.protocol import (
    Rows,
    RowSource,
    SourceDefaults,
    check_matrix,
    check_range,
    is_row_source,
    refuse_path,
)
from projected_kmeans.sources.row_layout import (
    check_sparse,
    is_sparse,
    plain_dtype,
    plain_rows,
    to_csr,
)
from projected_kmeans.sources.table_source import TABLES, package_of

# A fingerprint looks at 4 MB of an array, in 64 pieces that are spread evenly over it.
SAMPLE_BYTES = 2**22
N_SAMPLES = 64


class ArrayRows(SourceDefaults):
    """The row source of an array or CSR rows; a memory map is pickled as its place in the file.

    ``origin`` is the source that the whole array was read from, if any; its fingerprint is used.
    """

    def __init__(self, array: Any, mapped: MappedArray | None = None) -> None:
        check_matrix(array.shape, array.dtype, "the array")
        self.array = watch(array)
        self.shape: tuple[int, int] = array.shape
        self.dtype = plain_dtype(array.dtype)
        self.sparse = bool(is_sparse(array))
        self._mapped = mapped
        self.origin: RowSource | None = None

    def read(self, start: int, stop: int) -> Rows:
        """Return the rows start, ..., stop - 1."""
        check_range(start, stop, self.shape[0])
        rows = plain_rows(self.array[start:stop], self.dtype)
        check_file(self.array)
        return rows

    def identity(self) -> str:
        """Return a hash of shape, type and evenly spread numbers; of all numbers up to 4 MB."""
        if self.origin is not None:
            return self.origin.identity()
        digest = hashlib.sha256(repr((self.shape, self.dtype.str, self.sparse)).encode())
        parts = (
            [self.array.data, self.array.indices, self.array.indptr]
            if self.sparse
            else [self.array]
        )
        for part in parts:
            for piece in _sample(part):
                digest.update(np.ascontiguousarray(piece).tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._mapped is None:
            return ArrayRows, (self.array,)
        return _reopen, (self._mapped,)


def as_row_source(data: Any) -> RowSource:
    """Return the row source of anything that holds rows in memory.

    Parameters
    ----------
    data : ndarray, memmap, SciPy sparse, pandas, polars or pyarrow table, RowSource, array-like
        Sparse rows other than CSR are converted once. A memory map of a file stays one, also if
        the source is pickled.

    Examples
    --------
    >>> import scipy.sparse
    >>> source = as_row_source(scipy.sparse.csc_array(np.eye(4)))
    >>> source.sparse, source.shape
    (True, (4, 4))
    >>> source.read(1, 3).toarray()
    array([[0., 1., 0., 0.],
           [0., 0., 1., 0.]])
    """
    refuse_path(data)
    if isinstance(data, np.memmap):
        return ArrayRows(data, _find_mapping(data))
    if isinstance(data, np.ndarray):
        return ArrayRows(data)
    if is_sparse(data):
        check_sparse(data, "X")
        return ArrayRows(to_csr(data))
    if package_of(data) in TABLES:
        return TABLES[package_of(data)](data)
    if is_row_source(data):
        return data
    return ArrayRows(np.asarray(data))


def _sample(array: NDArray[Any]) -> list[NDArray[Any]]:
    if array.nbytes <= SAMPLE_BYTES:
        return [array]
    n_rows = max(1, SAMPLE_BYTES // N_SAMPLES // (array.nbytes // len(array)))
    starts = np.linspace(0, max(0, len(array) - n_rows), N_SAMPLES).astype(int)
    return [array[start : start + n_rows] for start in starts.tolist()]


def _find_mapping(array: Any) -> MappedArray | None:
    """Return where in its file a memory map lies, or a part of one; None if it has no file."""
    if array.filename is None or array.base is None or not isinstance(array._mmap, mmap.mmap):
        return None
    first = np.frombuffer(array._mmap, np.uint8).__array_interface__["data"][0]
    inside = array.__array_interface__["data"][0] - first
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    return MappedArray(
        Path(array.filename), array.dtype, array.shape, array.strides, begin + inside
    )


def _reopen(mapped: MappedArray) -> ArrayRows:
    return ArrayRows(mapped.open(), mapped)
