"""Very wide rows: their columns hashed to 8,192 before principal directions are found.

Each column is added to one of the new columns, drawn at random, with a random sign (CountSketch).
This takes little more than reading the rows, for any number of columns, and keeps squared lengths
and inner products on average. What it adds to a coordinate of the sketch is noise of a variance of
|x|^2 / 8192, so that 64 directions keep less than a hundredth of it. A sign sketch of 64 dimensions
has all of it. No matrix with a row for each column of the data is ever made.

The new column and the sign are a pure function of the key and the column, as in
`SparseSignProjection` with one nonzero.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.tasks import Block, Task, fill
from projected_kmeans.projections.principal_directions import spans

# Columns that wide rows are hashed to.
HASHED_COLUMNS = 8192

# Dense rows are hashed from this many columns on, because it saves time there. Sparse rows take
# time for their nonzeros only. They are hashed from 131,072 columns on, where the matrices that
# find directions would take 400 MB and more.
MIN_DENSE_COLUMNS = 2 * HASHED_COLUMNS
MIN_SPARSE_COLUMNS = 2**17

# With more directions than this, the noise of hashing would no longer be small.
MAX_DIRECTIONS = HASHED_COLUMNS // 32

# Dense rows are hashed at least this many at a time, because each time takes the targets of all
# columns anew.
MIN_GROUP_ROWS = 32

# Dense rows are hashed in groups with this many new columns in all, 16 MB of float32, and sparse
# rows in groups with about this many nonzeros.
GROUP_SIZE = 2**22


def count_hashed_columns(n_columns: int, n_directions: int, *, sparse: bool) -> int:
    """Return the number of columns that rows are hashed to by default; 0 if they are not hashed."""
    minimum = MIN_SPARSE_COLUMNS if sparse else MIN_DENSE_COLUMNS
    return HASHED_COLUMNS if n_columns >= minimum and n_directions <= MAX_DIRECTIONS else 0


def hash_dense(rows: NDArray[Any], key: int, out: NDArray[Any], n_threads: int) -> None:
    """Write dense rows with hashed columns into ``out`` (n, hashed columns)."""
    _native.sparse_sign_product(rows, key, 1.0, out, n_threads, n_nonzeros=1)


def hash_sparse(rows: Any, key: int, n_hashed: int, n_threads: int) -> Any:
    """Return CSR rows with hashed columns; the values have the bits of `hash_dense`."""
    n_rows, nnz = rows.shape[0], int(rows.indptr[-1])
    values, columns = np.empty(nnz, rows.data.dtype), np.empty(nnz, np.int32)
    starts = np.empty(n_rows + 1, np.int64)
    _native.hash_columns(rows, key, n_hashed, values, columns, starts, n_threads)
    found, index = int(starts[-1]), np.dtype(np.int32 if nnz < 2**31 else np.int64)
    # The arrays are set one by one, because the constructor of SciPy may convert the indices.
    hashed = scipy.sparse.csr_array((n_rows, n_hashed), dtype=values.dtype)
    hashed.data, hashed.indices = values[:found], columns[:found].astype(index, copy=False)
    hashed.indptr = starts.astype(index, copy=False)
    return hashed


def hash_selected(
    source: BlockSource,
    indices: NDArray[np.int64] | None,
    key: int,
    n_hashed: int,
    n_threads: int,
) -> Any:
    """Return some rows of a source, or all, with hashed columns.

    Dense rows are brought into memory a block at a time.
    """
    if source.sparse:
        return hash_sparse(source.select(indices), key, n_hashed, n_threads)
    n_rows = source.shape[0] if indices is None else len(indices)
    hashed = np.empty((n_rows, n_hashed), compute_type(source.dtype))
    if indices is None:
        source.walk(Task(partial(_hash_block, key, n_threads), (fill(hashed),)))
        return hashed
    length = max(MIN_GROUP_ROWS, int(BLOCK_BYTES // source.row_bytes))
    for span in spans(n_rows, length):
        hash_dense(source.select(indices[span]), key, hashed[span], n_threads)
    return hashed


def project_hashed_block(
    block: NDArray[Any], key: int, origin: Any, directions: Any, out: NDArray[Any], n_threads: int
) -> None:
    """Write the coordinates of hashed dense rows along directions into ``out``."""
    n_hashed = directions.shape[1]
    length = max(MIN_GROUP_ROWS, GROUP_SIZE // n_hashed)
    hashed = np.empty((min(length, len(block)), n_hashed), out.dtype)
    for span in spans(len(block), length):
        group = hashed[: len(block[span])]
        hash_dense(block[span], key, group, n_threads)
        _native.direction_product(group, origin, 1.0, directions, out[span], n_threads)


def project_hashed_sparse(
    rows: Any, key: int, table: NDArray[Any], out: NDArray[Any], n_threads: int
) -> None:
    """Write the products of hashed CSR rows with a table (hashed columns, t) into ``out``."""
    n_rows, nnz = rows.shape[0], max(int(rows.indptr[-1]), 1)
    for span in spans(n_rows, max(1, GROUP_SIZE * n_rows // nnz)):
        hashed = hash_sparse(rows[span], key, len(table), n_threads)
        _native.table_product(hashed, table, out[span], n_threads)


def _hash_block(key: int, n_threads: int, block: Block, out: NDArray[Any]) -> None:
    hash_dense(block.rows, key, out, n_threads)
