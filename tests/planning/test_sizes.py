"""Sizes of a job: entries and bytes of dense and sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.planning.sizes import Sizes


def test_dense_rows() -> None:
    """Every entry of dense rows is read."""
    sizes = Sizes.of(open_blocks(np.zeros((10, 4), np.float32)), 3)
    assert sizes == Sizes(10, 4, 3, 4)
    assert (sizes.sparse, sizes.n_entries, sizes.data_bytes) == (False, 40, 160)


def test_sparse_rows() -> None:
    """Of sparse rows the nonzeros are read, with 4 bytes for the column of each."""
    sizes = Sizes.of(open_blocks(scipy.sparse.csr_array(np.eye(10))), 3)
    assert sizes == Sizes(10, 10, 3, 8, n_nonzeros=10)
    assert (sizes.sparse, sizes.n_entries, sizes.data_bytes) == (True, 10, 120)


@pytest.mark.parametrize(("itemsize", "expected"), [(1, 4), (2, 4), (4, 4), (8, 8)])
def test_numbers_of_the_sketch(itemsize: int, expected: int) -> None:
    """A sketch is float64 for rows of float64, and float32 for all smaller types."""
    assert Sizes(10, 4, 3, itemsize).sketch_itemsize == expected
