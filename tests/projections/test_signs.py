"""Sign maps: the same bits in all blocks and threads, and the number of nonzeros."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans import SignProjection, SparseSignProjection
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.projections.map_protocol import sketch_rows
from tests.support.layouts import TYPES, draw_rows


@pytest.mark.parametrize("dtype", TYPES)
def test_sign_sketches_have_the_same_bits_in_any_blocks_and_threads(dtype: str) -> None:
    """Blocks and threads do not change a bit of the sketch."""
    X = draw_rows(5, 70, 90, dtype)
    projection = SignProjection(33, random_state=3).fit(X)
    whole = projection.transform(X)
    for rows, n_threads in ((1, 1), (7, 2), (64, 3)):
        projection.set_params(n_threads=n_threads)
        np.testing.assert_array_equal(sketch_rows(projection, ArrayBlocks(X, rows)), whole)


def test_too_many_nonzeros_are_refused() -> None:
    """More than 64 nonzeros are refused; with fewer columns than nonzeros every entry is one."""
    X = draw_rows(1, 5, 9, "float64")
    with pytest.raises(ValueError, match="n_nonzeros=65 is too many; use at most 64"):
        SparseSignProjection(4, n_nonzeros=65).fit(X)
    R = SparseSignProjection(4, random_state=1).fit_transform(np.eye(9))
    np.testing.assert_allclose(np.abs(R), 0.5)
