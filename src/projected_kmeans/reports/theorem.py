"""What Theorem 1 of the paper promises about the inertia, for given k and number of columns.

With t = k / eps^2 random signs (constant 1), eps below 1/3, and a solver that finds the best
clustering of the sketch (gamma = 1), the inertia is at most 1 + (1 + eps) gamma = 2 + eps times the
minimum, with probability 0.97.
"""

from __future__ import annotations

import numpy as np

MAX_EPS = 1 / 3


def min_dimensions(n_clusters: int) -> int:
    """Return the smallest t for which the theorem holds, k / eps^2 with the largest eps.

    Examples
    --------
    >>> min_dimensions(4)
    36
    """
    return round(n_clusters / MAX_EPS**2)


def draw_guarantee(n_clusters: int, n_columns: int) -> tuple[list[float], list[float]]:
    """Return dimensions t, and the multiple of the minimum inertia that the theorem promises there.

    Both lists are empty if the theorem needs more dimensions than there are columns.

    Examples
    --------
    >>> dimensions, ratios = draw_guarantee(4, 400)
    >>> dimensions[0], dimensions[-1], round(ratios[0], 3), round(ratios[-1], 3)
    (36.0, 400.0, 2.333, 2.1)
    >>> draw_guarantee(40, 64)
    ([], [])
    """
    if min_dimensions(n_clusters) > n_columns:
        return [], []
    t = np.geomspace(min_dimensions(n_clusters), n_columns, 40)
    return t.round(6).tolist(), (2 + np.sqrt(n_clusters / t)).tolist()
