"""SEED: first centers of few rows: whole restarts inside the kernel, of which the best goes on.

A pass over a thousand rows takes less time than the Python around it. So Lloyd's method and a
search by swaps of centers run in one call of the kernel `scout_centers` for each restart. Lloyd's
method with exact sums goes on from the best of them, and has little left to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.keys import SCOUTING, open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.thread_pool import ThreadPool

# A restart ends when this many swaps in a row have failed. On digits and classic small instances
# four restarts then end below ten of Lloyd's method alone, in less time.
PATIENCE = 5

# The best restart goes on until k swaps in a row have failed, if clusters have at most this many
# rows, and fewer in proportion if they have more, but at least this many. On 400 faces and k = 40
# that ends 1 % lower than 6 swaps; on digits, where swaps take longer, 0.1 % at k = 30.
ROWS_OF_FULL_PATIENCE, MIN_LAST_PATIENCE = 30, 6

# Restarts run side by side from this work of a pass on, in multiplications: a pool of threads takes
# 0.2 ms.
MIN_PARALLEL_WORK = 2**18

# Lloyd's method inside a restart ends when a pass lowers the inertia by less than this share, and
# in the last search by less than the other one.
SCOUT_TOL, LAST_TOL = 1e-3, 1e-5


def count_last_swaps(n_rows: int, n_clusters: int) -> int:
    """Return how many swaps in a row must fail before the search ends.

    Examples
    --------
    >>> count_last_swaps(400, 40), count_last_swaps(1797, 30), count_last_swaps(1797, 10)
    (40, 15, 6)
    """
    most = n_clusters * ROWS_OF_FULL_PATIENCE * n_clusters // n_rows
    return max(MIN_LAST_PATIENCE, min(n_clusters, most))


@dataclass(frozen=True)
class Scouts:
    """What restarts on few rows share.

    Attributes
    ----------
    problem : Problem
        Dense rows and their weights. All rows are brought into memory, as float64.
    n_clusters, n_restarts : int
        k, and the number of restarts.
    max_iter : int
        Passes of each restart at most.
    key : int
        What fixes the draws.
    """

    problem: Problem
    n_clusters: int
    n_restarts: int
    max_iter: int
    key: int

    def find_centers(self, _: int, on_center: OnCenter) -> Floats:
        """Return the centers of the best restart.

        ``on_center`` is told after each restart how many of the centers of all restarts are found,
        on the scale from 0 to k. If it returns true, the restarts end.
        """
        rows, scale, origin = self._move_rows()
        words = open_stream(self.key, SCOUTING).integers(0, 2**64, (self.n_restarts + 1, 2), "u8")
        best, centers = np.inf, np.empty(0)
        for index, (found, ended) in enumerate(self._run_restarts(rows, words[:-1])):
            if found < best:
                best, centers = found, ended
            if on_center(self.n_clusters * (index + 1) // self.n_restarts):
                break
        if self.n_restarts > 1:
            patience = count_last_swaps(len(rows), self.n_clusters)
            self._search(rows, centers, words[-1, 1], patience, LAST_TOL)
        self._search(rows, centers, words[-1, 1], 0, 0.0)
        return centers / scale + origin

    def _run_restarts(
        self, rows: Floats, words: NDArray[np.uint64]
    ) -> Iterator[tuple[float, Floats]]:
        """Yield inertia and centers of the restarts in their order, side by side if that pays."""
        restart = partial(self._run_restart, rows)
        n_threads = min(self.problem.n_threads or _native.max_threads(), len(words))
        if n_threads < 2 or rows.size * self.n_clusters < MIN_PARALLEL_WORK:
            yield from map(restart, words)
            return
        with ThreadPool(n_threads) as pool:
            waiting = [pool.submit(restart, word) for word in words]
            try:
                yield from (one.result() for one in waiting)
            finally:  # the caller may want no more
                for one in waiting:
                    one.cancel()

    def _run_restart(self, rows: Floats, words: NDArray[np.uint64]) -> tuple[float, Floats]:
        centers = self._seed(rows, words[:1])
        return self._search(rows, centers, words[1], PATIENCE, SCOUT_TOL), centers

    def _move_rows(self) -> tuple[Floats, float, Floats]:
        """Return all rows, scaled so that squares are finite, about their mean; scale and mean."""
        zero, dtype = np.zeros((1, self.problem.source.shape[1])), np.dtype(np.float64)
        scale = Frame.around(zero, dtype, self.problem.ranges).scale / 2
        scaled = np.multiply(self.problem.source.select(), scale, dtype=dtype, order="C")
        mean = scaled.mean(axis=0)
        scaled -= mean
        return scaled, scale, mean / scale

    def _seed(self, rows: Floats, words: NDArray[np.uint64]) -> Floats:
        """Return rows that greedy k-means++ chooses; they repeat if too few are different."""
        n_rows, weights = len(rows), self.problem.weights
        count, chosen, times = np.empty(1, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows)
        starts, order = np.array([0, n_rows]), np.arange(n_rows)
        _native.race_centers(
            rows, weights, 1.0, starts, order, words, self.n_clusters, count, chosen, times, 1
        )
        n_chosen = max(1, min(self.n_clusters, int(count[0])))
        return rows[np.resize(chosen[:n_chosen], self.n_clusters)]

    def _search(
        self, rows: Floats, centers: Floats, word: np.uint64, patience: int, tol: float
    ) -> float:
        """Improve centers in their place; return their inertia, in the units of the rows."""
        labels = np.empty(len(rows), np.int32)
        return _native.scout_centers(
            rows, self.problem.weights, int(word), patience, self.max_iter, tol, labels, centers
        )
