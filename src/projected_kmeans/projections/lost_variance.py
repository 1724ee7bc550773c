"""REDUCE: the share of the variance of rows that is not along some directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from projected_kmeans.blas_threads import strictly
from projected_kmeans.results import Floats

# The loss is measured on this number of rows at a time.
LOSS_STRETCH_ROWS = 64


def lost_share(
    rows: Any, weights: Floats | None, mean: Floats, columns: Floats, unit: float
) -> float:
    """Return the share of the rows' squared distance to the mean that is not along the columns."""
    sparse = scipy.sparse.issparse(rows)
    center = mean * unit

    def measure() -> tuple[float, float]:
        total = lost = 0.0
        along = center @ columns
        for first in range(0, rows.shape[0], LOSS_STRETCH_ROWS):
            span = slice(first, first + LOSS_STRETCH_ROWS)
            part: Any = rows[span].astype(np.float64) * unit
            if sparse:
                squares = part.power(2).sum(axis=1) - 2 * (part @ center) + center @ center
                left = squares - np.sum((part @ columns - along) ** 2, axis=1)
            else:
                part -= center
                squares = np.einsum("ij,ij->i", part, part)
                left = squares - np.sum((part @ columns) ** 2, axis=1)
            counts = 1.0 if weights is None else weights[span]
            total += float(np.sum(counts * squares))
            lost += float(np.sum(counts * left))
        return total, lost

    total, lost = strictly(measure)
    return min(max(lost / total, 0.0), 1.0) if total > 0 else 0.0
