"""Sparse rows times a table of numbers, and the transposed product."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans import _native
from tests.support.layouts import seeds, threads
from tests.support.sparse_rows import draw_sparse

floats = st.sampled_from(["float32", "float64"])
sizes = st.integers(1, 40)
widths = st.integers(1, 30) | st.sampled_from([511, 1030])


@given(
    seed=seeds,
    n=sizes,
    d=widths,
    t=st.integers(1, 40),
    dtype=floats,
    wide=st.booleans(),
    n_threads=threads,
)
def test_products_with_tables(
    seed: int, n: int, d: int, t: int, dtype: str, wide: bool, n_threads: int
) -> None:
    """Both products are those of the dense matrices; the number of threads changes no bit."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    stream = np.random.default_rng(seed)
    table = stream.normal(size=(d, t)).astype(dtype)
    out = np.empty((n, t), dtype)
    _native.table_product(rows.sparse, table, out, n_threads)
    size = np.abs(rows.dense.astype(float)) @ np.abs(table.astype(float))
    eps = np.finfo(dtype).eps
    assert (np.abs(out - rows.dense.astype(float) @ table) <= (d + 2) * eps * size).all()
    left, total = stream.normal(size=(n, t)), np.ones((d, t))
    _native.transposed_product(rows.sparse, left, total, n_threads)
    exact = rows.dense.astype(float).T @ left + 1
    size = np.abs(rows.dense.astype(float)).T @ np.abs(left) + 1
    assert (np.abs(total - exact) <= (n + 2) * np.finfo(float).eps * size).all()
    again, alone = np.empty_like(out), np.ones((d, t))
    _native.table_product(rows.sparse, table, again, 1)
    _native.transposed_product(rows.sparse, left, alone, 1)
    assert (again.tobytes(), alone.tobytes()) == (out.tobytes(), total.tobytes())
