"""The best columns by a score, for the feature selectors.

Ranks scores that are given; it computes none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Floats


def keep_best(scores: Floats, n_columns: int) -> NDArray[np.bool_]:
    """Return a mask of the columns with the largest scores; of equal ones, the first.

    Parameters
    ----------
    scores : ndarray (d,)
        One score for each column; larger is better.
    n_columns : int
        Number of columns to keep.

    Examples
    --------
    >>> keep_best(np.array([0.1, 0.5, 0.5, 0.9]), 2)
    array([False,  True, False,  True])
    """
    if n_columns > len(scores):
        raise ValueError(
            f"n_features_to_select={n_columns} exceeds n_features={len(scores)}; "
            f"use at most {len(scores)}"
        )
    mask = np.zeros(len(scores), dtype=np.bool_)
    mask[np.argsort(-scores, kind="stable")[:n_columns]] = True
    return mask
