"""The Gaussian map: its numbers are normal and finite, and its panels do not show."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from projected_kmeans import GaussianProjection
from projected_kmeans.projections.gaussian import PANEL_BYTES, draw_normals, normals_from_words


def test_normal_numbers_are_normal() -> None:
    """Drawn normals follow the normal distribution, and any rectangle is part of a larger one."""
    # Kolmogorov-Smirnov with failure probability 1e-6 over keys; the key is fixed.
    normals = draw_normals(4, (300, 200))
    assert scipy.stats.kstest(normals.ravel(), "norm").pvalue > 1e-6
    columns = normals.T @ normals / math.sqrt(300)
    np.fill_diagonal(columns, 0)
    assert np.abs(columns).max() < 6  # 19,900 pairs, |z| < 6: about 4e-5 of keys
    np.testing.assert_array_equal(
        draw_normals(4, (20, 31), row=100, column=77), normals[100:120, 77:108]
    )


def test_every_word_gives_a_finite_number() -> None:
    """The smallest and the largest random word give normal numbers of the same finite size."""
    found = normals_from_words(np.array([0, 2**64 - 1, 2**63 - 1, 2**63], np.uint64))
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(-found[1], rel=1e-2)
    assert abs(found[2:]).max() < 1e-10


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_panels_of_the_gaussian_matrix(dtype: str) -> None:
    """With more columns than one panel holds, the product is that with the whole matrix."""
    t, d = 32, PANEL_BYTES // (8 * 32) + 1000
    X = np.zeros((3, d), dtype)
    X[:, :50], X[:, -1500:] = 1.0, -2.0  # before and after the border between two panels
    found = GaussianProjection(t, random_state=2).fit_transform(X)
    first, last = draw_normals(2, (50, t)), draw_normals(2, (1500, t), row=d - 1500)
    wanted = (first.sum(axis=0) - 2 * last.sum(axis=0)) / math.sqrt(t)
    atol = 1e-3 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(found, np.tile(wanted, (3, 1)), atol=atol)
