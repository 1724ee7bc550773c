"""Cluster rows into many numbers of clusters, each started from the centers of its neighbours.

Keeps the best of warm and fresh starts for every number. It does not judge which number is good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.keys import SWEEP, open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Nearness, Problem, measure_rows
from projected_kmeans.results import Floats
from projected_kmeans.search.kmeans_plus_plus import count_trials, draw_rows, mass_of
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.seeding import seed_centers

# A fresh seeding is tried besides the warm start up to 20 clusters, and then for every fifth
# number, because warm starts alone would carry a bad center along.
MAX_ALWAYS_FRESH = 20
FRESH_EVERY = 5

# Limits of Lloyd's method for each start: passes, and the squared shift of the centers as a share
# of the mean variance. A warm start rarely needs more, and curves need no last digit.
MAX_PASSES = 50
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Sweep:
    """What was found for every number of clusters.

    Attributes
    ----------
    counts : ndarray of int (m,)
        Numbers of clusters, ascending.
    inertia : ndarray (m,)
        Never rises with the number.
    silhouette : ndarray (m,)
        Simplified: the mean over rows of 1 - a / b, where a and b are the distances to the nearest
        and to the second nearest center; 0 for one cluster.
    centers : tuple of ndarray
        The centers of the best clustering into each number.
    """

    counts: NDArray[np.int64]
    inertia: Floats
    silhouette: Floats
    centers: tuple[Floats, ...]


def sweep_counts(
    problem: Problem,
    counts: Sequence[int],
    key: int,
    part: int,
    on_count: Callable[[], object] | None = None,
) -> Sweep:
    """Cluster rows into each of several numbers of clusters.

    The numbers are visited upwards and then downwards, and the best clustering of each is kept.
    Upwards, a clustering starts from the one before and further rows, or from a fresh seeding.
    Downwards, it starts from the one above without the centers that cost least to drop, which
    divides clusters that the way up left undivided.

    Parameters
    ----------
    problem : Problem
        The rows.
    counts : sequence of int
        Ascending, at least 1 and at most the number of rows.
    key, part : int
        Fix the draws; sweeps with different parts are independent.
    on_count : callable, optional
        Called after every number, upwards and downwards.
    """
    walk = _Walk(problem, open_stream(key, SWEEP, part))
    for count in counts:
        walk.go_up(count)
        if on_count is not None:
            on_count()
    for count in reversed(counts):
        walk.go_down(count)
        if on_count is not None:
            on_count()
    stops = [walk.stops[count] for count in counts]
    # A further center never raises the inertia, so a low inertia bounds that of larger numbers.
    lowest = np.minimum.accumulate([stop.inertia for stop in stops])
    silhouettes = np.array([stop.silhouette for stop in stops])
    return Sweep(np.array(counts), lowest, silhouettes, tuple(stop.centers for stop in stops))


@dataclass(frozen=True)
class _Stop:
    """The best clustering so far into one number of clusters."""

    centers: Floats
    inertia: float
    silhouette: float


class _Walk:
    """A walk over numbers of clusters: the current centers, and the best clustering of each."""

    def __init__(self, problem: Problem, stream: np.random.Generator) -> None:
        self.stops: dict[int, _Stop] = {}
        self._problem, self._stream, self._mass = problem, stream, mass_of(problem)
        self._tol = TOLERANCE * problem.mean_variance
        self._labels = np.zeros(problem.source.shape[0], dtype=np.int32)
        self._centers = problem.sum_all().means
        self._nearest = problem.distances(self._centers, self._labels)

    def go_up(self, count: int) -> None:
        """Cluster into more clusters than at the last stop."""
        self._keep(count, self._add_centers(count))
        if 1 < count <= MAX_ALWAYS_FRESH or count % FRESH_EVERY == 0:
            self._keep(count, seed_centers("k-means++", self._problem, count, self._stream))
        self._centers = self.stops[count].centers
        near = self._problem.assign(self._centers, self._labels, keep_ties=False)
        self._nearest = np.maximum(near.nearest, 0.0)

    def go_down(self, count: int) -> None:
        """Cluster into at most as many clusters as at the last stop."""
        if count < len(self._centers):
            while len(self._centers) > count:
                self._drop_center()
            self._keep(count, self._centers)
        self._centers = self.stops[count].centers

    def _keep(self, count: int, first: Floats) -> None:
        """Run Lloyd's method from these centers, and keep its result if it is the best so far."""
        found = run_lloyd(self._problem, first, max_iter=MAX_PASSES, tol=self._tol)
        if count in self.stops and self.stops[count].inertia <= found.inertia:
            return
        near = self._problem.assign(found.centers, self._labels, keep_ties=False)
        silhouette = _measure_silhouette(near, self._mass) if count > 1 else 0.0
        self.stops[count] = _Stop(found.centers, found.inertia, silhouette)

    def _add_centers(self, count: int) -> Floats:
        """Return the centers and further rows, each the best of a few draws by squared distance."""
        problem, centers, nearest = self._problem, self._centers, self._nearest
        dtype = compute_type(problem.source.dtype)
        while len(centers) < count:
            rows = draw_rows(nearest * self._mass, count_trials(count), self._stream)
            candidates = problem.source.take(rows)
            frame = Frame.around(candidates, dtype, problem.ranges)
            squared = measure_rows(problem.source, candidates, frame, problem.n_threads)
            after = np.minimum(frame.undo(squared), nearest)
            best = int(np.argmin(np.sum(after * self._mass, axis=1)))
            nearest = after[best]
            centers = np.concatenate([centers, candidates[best : best + 1]])
        return centers

    def _drop_center(self) -> None:
        """Remove the center that costs least to drop."""
        costs = measure_drop_costs(self._problem, self._centers)
        self._centers = np.delete(self._centers, int(np.argmin(costs)), axis=0)


def _measure_silhouette(near: Nearness, mass: Floats) -> float:
    to_own, to_next = np.maximum(near.nearest, 0.0), np.maximum(near.second, 0.0)
    apart = to_next > 0
    ratios = np.sqrt(np.divide(to_own, to_next, out=np.ones_like(to_own), where=apart))
    return float(np.sum((1 - np.minimum(ratios, 1.0)) * mass) / mass.sum())


def measure_drop_costs(problem: Problem, centers: Floats) -> Floats:
    """Return by how much the inertia rises for each center if that one alone is dropped.

    The rows of a dropped center go to their second nearest one. A center without rows costs 0.
    """
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    near = problem.assign(centers, labels, keep_ties=False)
    losses = (near.second - near.nearest) * mass_of(problem)
    costs = np.bincount(labels, weights=losses, minlength=len(centers))
    return np.asarray(costs, dtype=np.float64)
