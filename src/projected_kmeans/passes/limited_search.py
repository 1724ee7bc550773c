"""The assignment of least inertia in which every cluster keeps limits of its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Block, Task, fill
from projected_kmeans.passes.frame import LIMITS, Frame
from projected_kmeans.passes.nearest import NOTHING, Remembered
from projected_kmeans.passes.problem import Nearness, Problem
from projected_kmeans.passes.size_limits import SizeLimits, find_prices, fit_weights, repair_sizes
from projected_kmeans.results import Floats, Labels

# Distances that are measured at a time, enough for several threads: 1 MB of float32. From there
# they are copied row by row.
PART_SIZE = 2**18

# Distances of float64 rows are kept in float32 from this many on, 32 MB of float64.
MAX_DOUBLES = 2**22


class LimitedSearch:
    """Finds the best clusters of all rows together, within limits of sizes; a `Search`.

    Without weights the assignment is optimal for the given centers, up to the rounding of
    distances. With weights a row cannot be divided, and the best assignment is hard to find; then
    the assignment is near the best, and within the limits. Distances of all rows to all centers are
    in memory at once: 4 bytes each.
    """

    def __init__(self, problem: Problem, limits: SizeLimits) -> None:
        self._problem, self._limits = problem, limits
        self.near: Nearness | None = None
        self.neighbours: Labels | None = None
        self.sees_all, self.looks_at_all, self.follows_centers = True, False, False
        self._last: Floats = np.empty((0, 0))
        # The prices of the last pass, with which the next begins; none before the first pass, and
        # if rows have weights.
        self.remembered = NOTHING

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels. If limits of weight cannot be met, labels within them are kept."""
        self._last = centers
        distances, exponent = _measure_all(self._problem, centers)
        weights = self._problem.weights
        if weights is None:
            start = np.ldexp(self.remembered.prices, exponent)
            choice = find_prices(distances, None, self._limits, start, self._problem.n_threads)
            found = repair_sizes(distances, choice, self._limits)
            prices = np.ldexp(found.prices, -exponent)
            self.remembered = Remembered(prices=prices) if np.isfinite(prices).all() else NOTHING
            labels[...] = found.labels
        else:
            before, n_threads = np.asarray(labels), self._problem.n_threads
            fitted = fit_weights(distances, weights, self._limits, before, n_threads)
            labels[...] = fitted
        if then:
            self._problem.source.walk(*then)

    def measure(self, labels: Labels, centers: Floats | None) -> tuple[Nearness, Labels]:
        """Return distances to the nearest centers, whatever the limits are, and these centers."""
        nearest, compared = labels.copy(), self._last if centers is None else centers
        return self._problem.assign(compared, nearest, keep_ties=True), nearest

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Do nothing: every pass looks at all rows and centers."""

    def restart(self) -> None:
        """Forget the prices."""
        self.remembered = NOTHING

    def keep_lists(self) -> None:
        """Do nothing: there are no lists."""

    def look_at_all(self) -> None:
        """Do nothing: every pass looks at all centers."""


def _measure_all(problem: Problem, centers: Floats) -> tuple[NDArray[Any], int]:
    """Return squared distances of rows to centers (n, k) times a power of 2, and its exponent."""
    source = problem.source
    n_rows, k = source.shape[0], len(centers)
    dtype = compute_type(source.dtype)
    frame = Frame.around(centers, dtype, problem.ranges)
    kept = dtype if n_rows * k <= MAX_DOUBLES else np.dtype(np.float32)
    # In a frame distances are as large as their type allows. Here they are at most some 2 ** 60, so
    # that float32 holds those of float64 rows, and sums and products of prices do not overflow.
    exponent = 92 - LIMITS[dtype].maxexp
    distances = np.empty((n_rows, k), dtype=kept)
    source.walk(
        Task(partial(_measure, frame, 2.0**exponent, problem.n_threads), (fill(distances),))
    )
    return distances, exponent + 2 * (math.frexp(frame.scale)[1] - 1)


def _measure(
    frame: Frame, unit: float, n_threads: int, block: Block, distances: NDArray[Any]
) -> None:
    # Some rows at a time, because the kernel writes the distances to a center side by side. Parts
    # of sparse rows would be copies.
    n_rows = block.rows.shape[0]
    length = n_rows if issparse(block.rows) else max(64, PART_SIZE // len(frame.centers))
    for start in range(0, n_rows, length):
        whole = length >= n_rows
        rows = block.rows if whole else block.rows[start : start + length]
        out = np.empty((len(frame.centers), rows.shape[0]), dtype=frame.centers.dtype)
        _native.squared_distances(rows, frame.origin, frame.scale, frame.centers, out, n_threads)
        np.multiply(out.T, out.dtype.type(unit), out=distances[start : start + length])
