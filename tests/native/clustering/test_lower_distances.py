"""Seeding: distances to the nearest center so far, above all where products lose their digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from tests import reference
from tests.support.layouts import TYPES, lay_out, layouts, seeds, types


def lower(
    X: NDArray[Any], centers: NDArray[Any], origin: Any = 0.0, scale: float = 1.0, threads: int = 1
) -> NDArray[Any]:
    """Return squared distances of the rows to the nearest center, in units of 1 / scale^2."""
    dtype = compute_type(X.dtype)
    nearest = np.full(len(X), np.inf, dtype)
    origin = np.full(X.shape[1], origin, dtype)
    _native.lower_distances(X, origin, scale, centers.astype(dtype), nearest, threads)
    return nearest


@given(
    seed=seeds,
    n=st.integers(1, 80),
    d=st.integers(1, 20),
    m=st.integers(0, 11),
    dtype=types,
    layout=layouts,
)
def test_lowering_equals_the_twin(
    seed: int, n: int, d: int, m: int, dtype: str, layout: str
) -> None:
    """Present distances are lowered to those of nearer centers, for any type, layout and size."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 100, size=(n, d)).astype(dtype)
    centers = stream.integers(0, 100, size=(m, d)).astype(compute_type(X.dtype))
    nearest = stream.integers(0, 4000 * d, size=n).astype(centers.dtype)
    expected = reference.lower_distances(X, centers, nearest)
    origin = np.full(d, 50, centers.dtype)
    _native.lower_distances(lay_out(X, layout), origin, 1.0, centers, nearest, 1)
    np.testing.assert_allclose(nearest, expected.astype(float), rtol=1e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("origin", [0.0, 100.0, -7000.0])
def test_a_row_that_is_a_center_is_at_zero(dtype: str, origin: float) -> None:
    """Equal rows are at distance zero and others are not, wherever the origin of products lies."""
    stream = np.random.default_rng(0)
    X = stream.integers(100, 104, size=(300, 4)).astype(dtype)
    centers = X[:5]
    expected = reference.lower_distances(X, centers, np.inf)
    np.testing.assert_array_equal(lower(X, centers, origin) == 0, expected == 0)


@pytest.mark.parametrize(("dtype", "accuracy"), [("float32", 1e-3), ("float64", 1e-9)])
def test_tight_clusters_keep_their_digits(dtype: str, accuracy: float) -> None:
    """Distances a million times smaller than those to the origin are right all the same."""
    stream = np.random.default_rng(1)
    means = 1000 * stream.normal(size=(6, 9))
    X = (means[stream.integers(6, size=500)] + stream.normal(size=(500, 9))).astype(dtype)
    expected = reference.lower_distances(X, X[:60], np.inf).astype(float)
    np.testing.assert_allclose(lower(X, X[:60]), expected, rtol=accuracy)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_scale_keeps_distances_finite(dtype: str) -> None:
    """Rows at both ends of the type's range have finite distances in a small enough unit."""
    big = np.finfo(dtype).max / 2
    X = np.array([[-big, big], [big, -big], [big, big], [0, 0]], dtype)
    scale = 2.0 ** (-np.finfo(dtype).maxexp // 2 - 8)
    unit = X.astype(np.longdouble) * scale
    expected = reference.lower_distances(unit, unit[:2], np.inf).astype(float)
    np.testing.assert_allclose(lower(X, X[:2], scale=scale), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_rows_are_lowered_each_by_itself(dtype: str) -> None:
    """A row's distance has the same bits alone, in any block and on any number of threads."""
    stream = np.random.default_rng(2)
    X = stream.integers(0, 255, size=(1000, 33)).astype(dtype)
    whole = lower(X, X[::90], 128.0)
    for threads in (2, 5):
        np.testing.assert_array_equal(lower(X, X[::90], 128.0, threads=threads), whole)
    for size in (1, 7, 333):
        parts = [lower(X[i : i + size], X[::90], 128.0) for i in range(0, 100, size)]
        np.testing.assert_array_equal(np.concatenate(parts)[:100], whole[:100])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_with_an_infinity_leaves_the_others_alone(dtype: str) -> None:
    """One center is padded to four. `make sanitize` sees a read of the three that do not exist."""
    X = np.ones((2, 40), dtype)
    X[1, 3] = np.inf
    assert lower(X, X[:1])[0] == 0
