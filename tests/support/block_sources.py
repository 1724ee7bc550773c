"""The same rows in blocks of this process and in blocks on Dask, for tests of walks."""

from __future__ import annotations

import itertools

import dask
import numpy as np
from dask.delayed import delayed

from projected_kmeans.blocks.dask.blocks import DaskBlocks
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.blocks.memory_blocks import ArrayBlocks

ROWS = np.random.default_rng(0).integers(-9, 9, size=(50, 3)).astype(np.float64)

# The first rows of uneven blocks, and the end.
CUTS = (0, 7, 8, 30, 50)


def here() -> ArrayBlocks:
    """Return the rows in blocks of this process."""
    return ArrayBlocks(ROWS, 7)


def there() -> DaskBlocks:
    """Return the same rows in uneven blocks on Dask, computed in this thread."""
    spans = list(itertools.pairwise(CUTS))
    parts = [delayed(np.array)(ROWS[first:last]) for first, last in spans]
    lengths = [last - first for first, last in spans]
    return DaskBlocks(parts, lengths, 3, ROWS.dtype, Workers(None, dask.get))
