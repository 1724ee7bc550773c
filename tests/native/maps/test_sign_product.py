"""The product of a block with the sign matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.keys import draw_signs
from tests import reference
from tests.support.layouts import (
    TYPES,
    compute_type,
    draw_rows,
    lay_out,
    layouts,
    seeds,
    threads,
    types,
)

KEYS = st.integers(0, 2**64 - 1)
# Above 2 there are tables, whose size changes at 24 and 300 (not on AVX-512) and at 80; 128 columns
# share a cell of bits.
COMPONENTS = st.integers(1, 140) | st.sampled_from([1, 2, 3, 24, 25, 80, 81, 128, 129, 301])


def product(
    X: NDArray[Any], key: int, t: int, *, scale: float = 1.0, n_threads: int = 1
) -> NDArray[Any]:
    """Return what the kernel writes."""
    out = np.full((len(X), t), np.nan, dtype=compute_type(X.dtype.name))
    _native.sign_product(X, key, scale, out, n_threads)
    return out


def rounding_bound(X: NDArray[Any], scale: float = 1.0) -> NDArray[Any]:
    """Return what rounding can amount to: a row's sum of magnitudes times its depth of sums."""
    eps = np.finfo(compute_type(X.dtype.name)).eps
    depth = 24 + X.shape[1] / 24
    return depth * eps * scale * np.abs(X.astype(np.float64)).sum(axis=1, keepdims=True)


@given(
    key=KEYS,
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 130),
    t=COMPONENTS,
    dtype=types,
    layout=layouts,
    n_threads=threads,
)
def test_equals_the_twin(
    key: int, seed: int, n: int, d: int, t: int, dtype: str, layout: str, n_threads: int
) -> None:
    """The product is the twin's up to rounding, for any shape, type, stride and thread count."""
    X = lay_out(draw_rows(seed, n, d, dtype), layout)
    scale = 1 / np.sqrt(t)
    found = product(X, key, t, scale=scale, n_threads=n_threads)
    error = np.abs(found - reference.sign_product(X, key, t, scale))
    assert (error <= rounding_bound(X, scale)).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("t", [1, 2, 10, 60, 200, 310])
def test_every_element_type_at_every_table_size(dtype: str, t: int) -> None:
    """Each element type is read right in whole tiles and in tails, for each size of table."""
    X = draw_rows(1, 37, 75, dtype)
    error = np.abs(product(X, 5, t) - reference.sign_product(X, 5, t))
    assert (error <= rounding_bound(X)).all()


@given(
    seed=seeds,
    n=st.integers(2, 70),
    d=st.integers(1, 90),
    t=COMPONENTS,
    dtype=types,
    data=st.data(),
)
def test_a_row_has_the_same_bits_wherever_it_stands(
    seed: int, n: int, d: int, t: int, dtype: str, data: st.DataObject
) -> None:
    """A row's sketch has the same bits alone, elsewhere, among others and on any threads."""
    X = draw_rows(seed, n, d, dtype)
    whole = product(X, seed, t)
    row = data.draw(st.integers(0, n - 1))
    np.testing.assert_array_equal(product(X[row : row + 1], seed, t)[0], whole[row])
    order = np.random.default_rng(seed).permutation(n)
    np.testing.assert_array_equal(product(X[order], seed, t, n_threads=3), whole[order])
    np.testing.assert_array_equal(product(X[row:], seed, t, n_threads=2), whole[row:])
    np.testing.assert_array_equal(product(lay_out(X, "wide"), seed, t, n_threads=4), whole)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_neighbour_changes_nothing(dtype: str, bad: float) -> None:
    """A row's sketch has the same bits beside rows of NaN or infinity."""
    X = draw_rows(2, 40, 50, dtype)
    spoiled = X.copy()
    spoiled[1::2] = bad
    np.testing.assert_array_equal(product(spoiled, 9, 30)[::2], product(X, 9, 30)[::2])


@given(
    seed=seeds,
    d=st.integers(1, 200),
    t=COMPONENTS,
    dtype=st.sampled_from(["uint8", "int8", "float16", "float32"]),
)
def test_small_integers_are_exact(seed: int, d: int, t: int, dtype: str) -> None:
    """Sums of small integers are exact, as every partial sum is below 2**24."""
    X = np.random.default_rng(seed).integers(0, 100, size=(9, d)).astype(dtype)
    expected = X.astype(np.int64) @ reference.signs(seed, range(d), range(t)).astype(np.int64)
    np.testing.assert_array_equal(product(X, seed, t), expected)


@given(key=KEYS, d=st.integers(1, 140), t=COMPONENTS)
def test_the_identity_gives_the_signs(key: int, d: int, t: int) -> None:
    """The product with the identity is the sign matrix, so the kernel draws the same signs."""
    np.testing.assert_array_equal(product(np.eye(d), key, t), draw_signs(key, (d, t)))


def test_more_components_than_features() -> None:
    """The kernel takes t > d."""
    X = draw_rows(4, 5, 3, "float64")
    expected = reference.sign_product(X, 1, 500).astype(np.float64)
    np.testing.assert_allclose(product(X, 1, 500), expected, rtol=0, atol=1e-14)


def test_float64_has_thirteen_digits() -> None:
    """float64 sums over thousands of columns keep thirteen digits of a row's norm."""
    X = draw_rows(3, 20, 5000, "float64")
    error = np.abs(product(X, 2, 100) - reference.sign_product(X, 2, 100))
    assert (error <= 1e-13 * np.linalg.norm(X, axis=1, keepdims=True)).all()


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int8"])
def test_several_panels_of_random_bits(n: int, dtype: str) -> None:
    """A sign matrix too large for one panel gives exact sums and the same bits on any threads."""
    X = np.random.default_rng(0).integers(0, 128, size=(n, 4000)).astype(dtype)
    t = 8192  # 64 steps of 48 coordinates a panel, or 32 of 96: two panels
    found = product(X, 3, t)
    columns = np.random.default_rng(1).choice(t, 200, replace=False)
    expected = X.astype(np.int64) @ reference.signs(3, range(4000), columns).astype(np.int64)
    np.testing.assert_array_equal(found[:, columns], expected)
    np.testing.assert_array_equal(product(X, 3, t, n_threads=3), found)


def test_scale_multiplies_once() -> None:
    """A power of two as scale changes exponents only."""
    X = draw_rows(5, 10, 33, "float32")
    np.testing.assert_array_equal(product(X, 1, 40, scale=0.25), product(X, 1, 40) / 4)


def test_half_precision_extremes() -> None:
    """Subnormal, largest and signed zero values of float16 are widened exactly."""
    values = np.array([[2.0**-24, 65504, -(2.0**-14), -0.0, 2.0**-15]], dtype=np.float16)
    expected = reference.sign_product(values, 8, 50)
    error = np.abs(product(np.repeat(values, 20, axis=0), 8, 50) - expected)
    assert error.max() <= 65504 * 2.0**-23
    tiny = np.full((1, 1), 2.0**-24, dtype=np.float16)
    assert abs(product(tiny, 8, 1)[0, 0]) == 2.0**-24
