"""How many rows principal directions are found from, and which ones.

This is the only place that knows the size of the sample: the map draws it, and planning counts its
bytes and its seconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.keys import SPECTRAL_ROWS, open_stream
from projected_kmeans.results import Floats

# Sample at least 5,000 rows and 80 per direction; use all rows if that exceeds half of them.
MIN_SAMPLE_ROWS = 5000
SAMPLE_ROWS_PER_DIRECTION = 80

# Rows, outside the sample, on which the lost variance is measured.
LOSS_ROWS = 1024


class DirectionSample(NamedTuple):
    """Indices of rows: those to learn from, and those to measure the loss on. None is all rows."""

    learnt: NDArray[np.int64] | None
    left_out: NDArray[np.int64] | None


def wanted_sample_rows(n_directions: int) -> int:
    """Return how many rows are enough to find some directions, if there are many more rows."""
    return max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_DIRECTION * n_directions)


def count_sample_rows(n_rows: int, n_directions: int) -> int:
    """Return how many of the rows directions are found from: a sample, or all of them.

    Examples
    --------
    >>> count_sample_rows(90_000, 64), count_sample_rows(90_000, 10), count_sample_rows(9_000, 10)
    (5120, 5000, 9000)
    """
    wanted = wanted_sample_rows(n_directions)
    return n_rows if 2 * wanted > n_rows else wanted


def draw_direction_sample(
    n_rows: int, n_learnt: int, weights: Floats | None, key: int
) -> DirectionSample:
    """Draw the rows to learn from, and up to `LOSS_ROWS` further rows to measure the loss on.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    n_learnt : int
        How many to learn from. If there are no more rows than this, all are learnt from.
    weights : ndarray of float64 (n,) or None
        Rows are drawn uniformly without replacement if None, else by weight with replacement, so
        that each drawn row counts once.
    key : int
        Fixes the draws.
    """
    if n_learnt >= n_rows:
        n_learnt = 0  # nothing to draw
    n_measured = min(LOSS_ROWS, n_rows - n_learnt)
    if n_measured == n_rows:
        return DirectionSample(None, None)
    stream = open_stream(key, SPECTRAL_ROWS)
    if weights is None:
        drawn = stream.choice(n_rows, n_learnt + n_measured, replace=False)
        return DirectionSample(np.sort(drawn[:n_learnt]) if n_learnt else None, drawn[n_learnt:])
    share = weights / weights.sum()
    learnt = np.sort(stream.choice(n_rows, n_learnt, p=share)) if n_learnt else None
    if learnt is not None:
        share[learnt] = 0
    left = share.sum()
    if not left > 0:  # the sample has every row of positive weight
        return DirectionSample(learnt, None)
    return DirectionSample(learnt, stream.choice(n_rows, n_measured, p=share / left))
