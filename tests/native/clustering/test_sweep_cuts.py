"""Certificates: a sweep over cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from tests import reference
from tests.support.layouts import seeds


def draw_cuts(stream: np.random.Generator, n: int, m: int) -> NDArray[Any]:
    """Return cuts of different rows, a third of them pairs."""
    cuts = stream.permuted(np.tile(np.arange(n), (m, 1)), axis=1)[:, :3].astype(np.int32)
    cuts[::3, 2] = -1
    return cuts


@given(seed=seeds, n=st.integers(3, 20), m=st.integers(0, 60), weighted=st.booleans())
def test_a_sweep_equals_the_twin(seed: int, n: int, m: int, weighted: bool) -> None:
    """Matrix and multipliers are those of the twin, with scales and without."""
    stream = np.random.default_rng(seed)
    matrix = stream.normal(size=(n, n)).astype(np.float32)
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    cuts, values = draw_cuts(stream, n, m), stream.random(m).astype(np.float32)
    scales = stream.random(n) + 0.5 if weighted else None
    expected = reference.sweep_cuts(cuts, np.ones(n) if scales is None else scales, matrix, values)
    _native.sweep_cuts(cuts, scales, matrix, values)
    np.testing.assert_allclose(matrix, expected[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(values, expected[1], rtol=1e-5, atol=1e-5)
    assert (matrix == matrix.T).all()
    assert (values >= 0).all()


def test_many_sweeps_find_the_nearest_matrix() -> None:
    """Hildreth's method: sweeps end at a matrix that meets all cuts, moved by the multipliers."""
    stream = np.random.default_rng(0)
    before = stream.normal(size=(8, 8)).astype(np.float32)
    before = (before + before.T) / 2
    cuts, values = draw_cuts(stream, 8, 40), np.zeros(40, np.float32)
    matrix = before.copy()
    for _ in range(400):
        _native.sweep_cuts(cuts, None, matrix, values)
    slacks, moved = [], before.astype(np.float64)
    for (i, j, h), value in zip(cuts, values, strict=True):
        terms = [(i, i, 1.0), (i, j, -1.0)] + ([] if h < 0 else [(j, h, 1.0), (i, h, -1.0)])
        slacks.append(sum(sign * matrix[a, b] for a, b, sign in terms))
        for a, b, sign in terms:
            moved[a, b] += sign * value / 2
            moved[b, a] += sign * value / 2
    assert min(slacks) > -1e-4
    assert np.abs(np.array(slacks) * values).max() < 1e-3
    np.testing.assert_allclose(matrix, moved, atol=1e-4)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_do_no_harm(number: float) -> None:
    """Multipliers stay at 0 or above, whatever the matrix holds."""
    matrix, values = np.full((4, 4), number, np.float32), np.ones(5, np.float32)
    _native.sweep_cuts(draw_cuts(np.random.default_rng(0), 4, 5), None, matrix, values)
    assert not (values < 0).any()
