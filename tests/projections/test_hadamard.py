"""The Hadamard map: orthogonal before entries are dropped, and nested in t."""

from __future__ import annotations

import numpy as np

from projected_kmeans import HadamardProjection


def test_all_entries_keep_all_distances() -> None:
    """With t = d = a power of two nothing is dropped: the map is orthogonal."""
    R = HadamardProjection(64, random_state=2).fit_transform(np.eye(64))
    np.testing.assert_allclose(R @ R.T, np.eye(64), atol=1e-12)
    np.testing.assert_allclose(np.abs(R), 1 / 8)


def test_a_smaller_map_is_the_first_part_of_a_larger_one() -> None:
    """The first 5 of 40 components are those of t = 5, up to the scale 1/sqrt(t)."""
    X = np.random.default_rng(0).normal(size=(10, 60))
    narrow, wide = (HadamardProjection(t, random_state=9).fit_transform(X) for t in (5, 40))
    np.testing.assert_allclose(narrow * np.sqrt(5), wide[:, :5] * np.sqrt(40), atol=1e-12)
