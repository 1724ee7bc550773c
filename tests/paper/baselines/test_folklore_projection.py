"""The folklore projection is a sign projection with log(n) columns."""

from __future__ import annotations

import math

import numpy as np

from projected_kmeans import SignProjection
from projected_kmeans.paper import (
    FolkloreProjection,
)
from tests.support.normal_rows import draw_normal_rows


def test_folklore_is_a_sign_projection_of_log_n() -> None:
    """The folklore projection is the library's sign matrix with log2(n) / eps^2 columns."""
    rows = draw_normal_rows(50, 200)
    found = FolkloreProjection(eps=0.4, random_state=3).fit_transform(rows)
    t = math.ceil(math.log2(50) / 0.4**2)
    np.testing.assert_array_equal(found, SignProjection(t, random_state=3).fit_transform(rows))
