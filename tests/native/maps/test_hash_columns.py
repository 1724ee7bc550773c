"""Sparse rows with their columns hashed to fewer ones, kept sparse."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.projections.hashed_columns import hash_dense, hash_sparse
from tests.support.layouts import seeds, threads
from tests.support.sparse_rows import draw_sparse


@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 60) | st.sampled_from([300, 1030]),
    m=st.integers(1, 130) | st.sampled_from([1000]),
    dtype=st.sampled_from(["float32", "float64"]),
    wide=st.booleans(),
    n_threads=threads,
)
def test_hashed_rows_have_the_bits_of_dense_ones(
    seed: int, n: int, d: int, m: int, dtype: str, wide: bool, n_threads: int
) -> None:
    """Values and places are those of the dense product; indices ascend, and threads change nothing.

    The last property is what the constructor of kernels checks, so that hashed rows can be used.
    """
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide, density=0.4)
    found = hash_sparse(rows.sparse, seed, m, n_threads)
    expected = np.empty((n, m), dtype)
    hash_dense(rows.dense, seed, expected, n_threads)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.has_canonical_format
    alone = hash_sparse(rows.sparse, seed, m, 1)
    for name in ("data", "indices", "indptr"):
        assert getattr(found, name).tobytes() == getattr(alone, name).tobytes()
