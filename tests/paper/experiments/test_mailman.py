"""The four ways of section 5.2 compute one product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.paper.experiments.mailman import SIGN_PRODUCTS
from tests import reference
from tests.support.layouts import draw_rows, lay_out, layouts, seeds, threads, types


@pytest.mark.parametrize("name", SIGN_PRODUCTS)
@given(
    seeds,
    st.integers(1, 30),
    st.integers(1, 150),
    st.integers(1, 140),
    types,
    layouts,
    threads,
)
def test_all_ways_give_the_same_matrix(
    name: str, seed: int, n: int, d: int, t: int, dtype: str, layout: str, n_threads: int
) -> None:
    """Each way gives A R with the signs of the key over sqrt(t), up to rounding."""
    X = draw_rows(seed, n, d, dtype)
    found: Any = SIGN_PRODUCTS[name](lay_out(X, layout), seed, t, n_threads)
    exact = reference.sign_product(X, seed, t, 1 / np.sqrt(t))
    size = np.abs(X.astype(float)).sum(axis=1, keepdims=True) / np.sqrt(t)
    assert (np.abs(found - exact) <= 40 * np.finfo(found.dtype).eps * size).all()
