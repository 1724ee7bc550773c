"""Frames: coordinates around centers in which no square overflows."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.passes.frame import Frame
from tests.support.layouts import seeds


@given(
    seed=seeds,
    k=st.integers(1, 5),
    exponent=st.integers(-35, 35),
    offset=st.sampled_from([0.0, 1.0, 1e4]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_a_frame_holds_its_centers(
    seed: int, k: int, exponent: int, offset: float, dtype: type
) -> None:
    """Squares in a frame cannot overflow, its scale is a power of two, and it can be inverted."""
    unit = 10.0**exponent
    centers = (np.random.default_rng(seed).normal(size=(k, 4)) + offset) * unit
    frame = Frame.around(centers, np.dtype(dtype))
    assert math.frexp(frame.scale)[0] == 0.5
    assert np.abs(frame.centers).max() <= 2.0 ** (np.finfo(dtype).maxexp // 2 - 16)
    assert frame.origin.dtype == frame.centers.dtype == dtype
    back = frame.origin.astype(float) + frame.centers.astype(float) / frame.scale
    spread = np.abs(centers - frame.origin).max()
    np.testing.assert_allclose(back, centers, rtol=1e-15, atol=spread * np.finfo(dtype).eps)
