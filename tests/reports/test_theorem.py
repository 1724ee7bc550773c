"""The guarantee is that of the paper's Theorem 1."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.reports.theorem import draw_guarantee


def test_the_guarantee_is_the_papers() -> None:
    """From 9 k dimensions on the paper promises 2 + sqrt(k / t); with fewer it promises nothing."""
    dimensions, ratios = draw_guarantee(10, 1000)
    np.testing.assert_allclose(ratios, 2 + np.sqrt(10 / np.array(dimensions)))
    assert dimensions[0] == pytest.approx(90)
    assert draw_guarantee(10, 89) == ([], [])
