"""Seeding: what each candidate would leave."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from tests import reference
from tests.support.layouts import seeds

TILE_ROWS = _native.TILE_ROWS


def make_tiles(X: NDArray[Any]) -> NDArray[Any]:
    """Return rows as tiles; their number is a multiple of a tile's."""
    return np.ascontiguousarray(X.reshape(-1, TILE_ROWS, X.shape[1]).transpose(0, 2, 1))


@given(seed=seeds, tiles=st.integers(1, 9), d=st.integers(1, 20), m=st.integers(1, 9))
def test_weighing_equals_the_twin(seed: int, tiles: int, d: int, m: int) -> None:
    """Each candidate's distances and their weighted sum are those of the twin."""
    stream = np.random.default_rng(seed)
    for dtype, accuracy in (("float32", 1e-4), ("float64", 1e-11)):
        X = stream.normal(size=(TILE_ROWS * tiles, d)).astype(dtype)
        centers = X[stream.integers(len(X), size=m)] + (stream.random((m, d)) < 0.1)
        nearest = (2 * d * stream.random(len(X))).astype(dtype)
        shares = stream.random(len(X)).astype(dtype)
        after, left = np.empty((m, len(X)), dtype), np.empty(m)
        _native.weigh_candidates(
            make_tiles(X), centers.astype(dtype), nearest, shares, after, left, 1
        )
        expected = reference.weigh_candidates(X, centers.astype(dtype), nearest, shares)
        np.testing.assert_allclose(after, expected[0].astype(float), rtol=accuracy, atol=accuracy)
        np.testing.assert_allclose(left, expected[1].astype(float), rtol=accuracy)


def test_sums_do_not_depend_on_threads() -> None:
    """What candidates leave is summed to the same bits by any number of threads."""
    stream = np.random.default_rng(3)
    X = stream.normal(size=(TILE_ROWS * 41, 7)).astype(np.float32)
    nearest, shares = stream.random((2, len(X))).astype(np.float32)
    results = []
    for threads in (1, 2, 3, 8):
        after, left = np.empty((6, len(X)), np.float32), np.empty(6)
        _native.weigh_candidates(make_tiles(X), X[:6], nearest, shares, after, left, threads)
        results.append(left.tobytes())
    assert len(set(results)) == 1
