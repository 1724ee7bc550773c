"""REDUCE: the share of the variance of rows that is not along some directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from projected_kmeans import _native
from projected_kmeans.blas_threads import on_one_blas_thread, strictly
from projected_kmeans.projections.centred_rows import spans
from projected_kmeans.results import Floats
from projected_kmeans.thread_pool import ThreadPool

# The loss is measured on this number of rows at a time.
STRETCH_ROWS = 64


def lost_share(
    rows: Any,
    weights: Floats | None,
    mean: Floats,
    columns: Floats,
    unit: float,
    n_threads: int = 0,
) -> float:
    """Return the share of the rows' squared distance to the mean that is not along the columns.

    Stretches of rows are measured by several threads and added in their order.

    Parameters
    ----------
    rows : ndarray, PickedRows or CSR matrix (n, d)
        The rows.
    weights : ndarray of float64 (n,) or None
        Their weights; None counts every row once.
    mean : ndarray of float64 (d,)
        The mean.
    columns : ndarray of float64 (d, t)
        Orthonormal columns, or columns of zeros.
    unit : float
        The power of two that rows are multiplied by, so that squares do not overflow.
    n_threads : int, default=0
        The number of threads; 0 means as many as OpenMP allows.
    """
    sparse = scipy.sparse.issparse(rows)
    center = mean * unit

    def measure() -> tuple[float, float]:
        along = center @ columns

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
            for squares, left in pool.map(on_one_blas_thread(measure_stretch), stretches):
                total += squares
                lost += left
        return total, lost

    total, lost = strictly(measure)
    return min(max(lost / total, 0.0), 1.0) if total > 0 else 0.0
