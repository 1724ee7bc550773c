"""READ: hashes of arrays in memory, by which a checkpoint recognizes the rows of an earlier run."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.thread_pool import ThreadPool

# Arrays are hashed in pieces of 4 MB on four threads.
PIECE_BYTES, THREADS = 2**22, 4


def hash_arrays(*arrays: NDArray[Any]) -> str:
    """Return a hash of the entries, shapes and element types of some arrays.

    Examples
    --------
    >>> one, other = np.eye(3), np.eye(3)
    >>> other[1, 2] = 1e-9
    >>> hash_arrays(one) == hash_arrays(other)
    False
    """
    sums: list[Any] = []
    with ThreadPool(THREADS) as pool:
        for array in arrays:
            step = max(1, PIECE_BYTES // max(1, array.nbytes // max(1, len(array))))
            pieces = (array[start : start + step] for start in range(0, len(array), step))
            sums += [array.shape, array.dtype.str, *pool.map(_checksum, pieces)]
    return hashlib.sha256(repr(sums).encode()).hexdigest()


def _checksum(piece: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
