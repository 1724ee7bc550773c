"""REDUCE: how many rows directions are found from, which ones, and what directions lose of others.

This is the only place that knows the size of the sample: the map draws it, and planning counts its
bytes and its seconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread, strictly
from projected_kmeans.keys import SPECTRAL_ROWS, open_stream
from projected_kmeans.projections.centred_rows import spans
from projected_kmeans.results import Floats
from projected_kmeans.thread_pool import ThreadPool

# Sample at least 5,000 rows, 80 for each of the first 64 directions and 40 for each of all; use all
# rows if that exceeds half of them.
MIN_SAMPLE_ROWS = 5000
SAMPLE_ROWS_PER_DIRECTION, FIRST_DIRECTIONS = 80, 64

# Rows, outside the sample, on which the lost variance is measured.
LOSS_ROWS = 1024


class DirectionSample(NamedTuple):
    """Indices of rows: those to learn from, and those to measure the loss on. None is all rows."""

    learnt: NDArray[np.int64] | None
    left_out: NDArray[np.int64] | None


def wanted_sample_rows(n_directions: int) -> int:
    """Return how many rows are enough to find some directions, if there are many more rows."""
    wanted = SAMPLE_ROWS_PER_DIRECTION * min(n_directions, FIRST_DIRECTIONS)
    return max(MIN_SAMPLE_ROWS, wanted, SAMPLE_ROWS_PER_DIRECTION * n_directions // 2)


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

    Rows are drawn uniformly without replacement, or by weight with replacement, so that each drawn
    row counts once. If there are no more than ``n_learnt`` rows, all are learnt from.
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


# The loss is measured on this number of rows at a time.
STRETCH_ROWS = 64


def lost_share(
    rows: Any,
    weights: Floats | None,
    mean: Floats,
    columns: Floats,
    unit: float,
    n_threads: int,
) -> float:
    """Return the share of the rows' squared distance to the mean that is not along the columns.

    The columns are orthonormal or zero, and the rows are multiplied by ``unit``, so that squares do
    not overflow. Stretches are measured by several threads and added in their order.
    """
    sparse = scipy.sparse.issparse(rows)
    center = mean * unit

    def measure() -> tuple[float, float]:
        along = center @ columns

        @one_blas_thread()
        def measure_stretch(span: slice) -> tuple[float, float]:
            part: Any = rows[span].astype(np.float64) * unit
            if sparse:
                squares = part.power(2).sum(axis=1) - 2 * (part @ center) + center @ center
                left = squares - np.sum((part @ columns - along) ** 2, axis=1)
            else:
                part -= center
                squares = np.einsum("ij,ij->i", part, part)
                left = squares - np.sum((part @ columns) ** 2, axis=1)
            counts = 1.0 if weights is None else weights[span]
            return float(np.sum(counts * squares)), float(np.sum(counts * left))

        total = lost = 0.0
        with ThreadPool(_native.max_threads(n_threads)) as pool:
            stretches = spans(rows.shape[0], STRETCH_ROWS)
            for squares, left in pool.map(measure_stretch, stretches):
                total += squares
                lost += left
        return total, lost

    total, lost = strictly(measure)
    return min(max(lost / total, 0.0), 1.0) if total > 0 else 0.0
