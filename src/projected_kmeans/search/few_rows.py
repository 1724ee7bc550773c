"""SEED: whole starts on few rows inside a kernel, of which the best goes on.

A pass over a thousand rows takes less time than the Python around it. So the same search, passes
and swaps of single centers, runs in one call of the kernel `search_few_rows` for each start. Exact
passes go on from the best of them, and have little left to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.keys import FEW_ROWS, open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.search.kmeans_plus_plus import OnCenter
from projected_kmeans.thread_pool import ThreadPool

# A start ends when this many swaps in a row have failed. On digits and classic small instances four
# starts then end below ten of Lloyd's method alone, in less time.
PATIENCE = 5

# The best start goes on until k swaps in a row have failed, if clusters have at most this many
# rows, and fewer in proportion if they have more, but at least this many. On 400 faces and k = 40
# that ends 1 % lower than 6 swaps; on digits, where swaps take longer, 0.1 % at k = 30.
ROWS_OF_FULL_PATIENCE, MIN_LAST_PATIENCE = 30, 6

# Starts run side by side from this work of a pass on, in multiplications: a pool of threads takes
# 0.2 ms.
MIN_PARALLEL_WORK = 2**18

# Lloyd's method inside a start ends when a pass lowers the inertia by less than this share, and in
# the last search by less than the other one.
START_TOL, LAST_TOL = 1e-3, 1e-5


def count_last_swaps(n_rows: int, n_clusters: int) -> int:
    """Return how many swaps in a row must fail before the search ends."""
    most = n_clusters * ROWS_OF_FULL_PATIENCE * n_clusters // n_rows
    return max(MIN_LAST_PATIENCE, min(n_clusters, most))


@dataclass(frozen=True)
class FewRows:
    """What starts on few dense rows share: the rows, k, and what fixes the draws."""

    problem: Problem
    n_clusters: int
    n_starts: int
    max_iter: int
    key: int

    def find_centers(self, on_center: OnCenter) -> Floats:
        """Return the centers of the best start.

        After each start ``on_center`` gets the share of starts that have ended, on a scale from 0
        to k. If it returns true, no further start begins.
        """
        # All rows about their mean, scaled so that squares are finite.
        zero, dtype = np.zeros((1, self.problem.source.shape[1])), np.dtype(np.float64)
        scale = Frame.around(zero, dtype, self.problem.ranges).scale / 2
        rows = np.multiply(self.problem.source.select(), scale, dtype=dtype, order="C")
        mean: Floats = rows.mean(axis=0)
        rows -= mean
        words = open_stream(self.key, FEW_ROWS).integers(0, 2**64, (self.n_starts + 1, 2), "u8")
        best, centers = np.inf, np.empty(0)
        for index, (inertia, ended) in enumerate(self._run_starts(rows, words[:-1])):
            if inertia < best:
                best, centers = inertia, ended
            if on_center(self.n_clusters * (index + 1) // self.n_starts):
                break
        if self.n_starts > 1:
            patience = count_last_swaps(len(rows), self.n_clusters)
            self._search(rows, centers, words[-1, 1], patience, LAST_TOL)
        self._search(rows, centers, words[-1, 1], 0, 0.0)
        return centers / scale + mean / scale

    def _run_starts(
        self, rows: Floats, words: NDArray[np.uint64]
    ) -> Iterator[tuple[float, Floats]]:
        """Yield inertia and centers of the starts in their order, side by side if that pays."""
        start = partial(self._run_start, rows)
        n_threads = min(self.problem.n_threads or _native.max_threads(), len(words))
        if n_threads < 2 or rows.size * self.n_clusters < MIN_PARALLEL_WORK:
            yield from map(start, words)
            return
        with ThreadPool(n_threads) as pool:
            waiting = [pool.submit(start, word) for word in words]
            try:
                yield from (each.result() for each in waiting)
            finally:  # the caller may want no more
                for each in waiting:
                    each.cancel()

    def _run_start(self, rows: Floats, words: NDArray[np.uint64]) -> tuple[float, Floats]:
        """Return inertia and centers of a start from greedy k-means++.

        First centers repeat if too few rows are different.
        """
        n_rows, weights, k = len(rows), self.problem.weights, self.n_clusters
        count, chosen, times = np.empty(1, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows)
        whole = np.array([0, n_rows]), np.arange(n_rows)
        _native.race_centers(
            rows, weights, 1.0, *whole, words[:1], k, count, chosen, times, n_threads=1
        )
        centers = rows[np.resize(chosen[: max(1, min(k, int(count[0])))], k)]
        return self._search(rows, centers, words[1], PATIENCE, START_TOL), centers

    def _search(
        self, rows: Floats, centers: Floats, word: np.uint64, patience: int, tol: float
    ) -> float:
        """Improve centers in their place; return their inertia, in the units of the rows."""
        labels = np.empty(len(rows), np.int32)
        return _native.search_few_rows(
            rows, self.problem.weights, int(word), patience, self.max_iter, tol, labels, centers
        )
