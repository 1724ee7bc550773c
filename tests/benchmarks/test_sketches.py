"""The rows of the k-means benchmark, and the inertia that judges all systems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import sketches


def test_inertia_is_that_of_the_nearest_centers() -> None:
    """The inertia that judges all systems is the sum of squared distances to nearest centers."""
    sketch = sketches.make_cloud(500, 6)
    centers = sketches.draw_centers(sketch, 7)
    gaps = ((sketch.astype(float)[:, None] - centers.astype(float)) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        sketches.measure_inertia(sketch, centers), gaps.min(axis=1).sum(), rtol=1e-12
    )


def test_digits_are_shifted(find_data: Callable[[str], Path]) -> None:
    """The nine shifts of up to a pixel come first, each of all images, and lose no ink there."""
    path = find_data(sketches.DIGITS)
    rows = sketches.shift_digits(path, 10, 20).reshape(10, 20, sketches.SIDE, sketches.SIDE)
    with np.load(path) as file:
        images = file["x"][:20].reshape(20, sketches.SIDE, sketches.SIDE)
    ways = {(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
    found = {
        way for way in ways for part in rows[:9] if (part == np.roll(images, way, (1, 2))).all()
    }
    assert found == ways
