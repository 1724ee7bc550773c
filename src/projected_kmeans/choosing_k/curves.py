"""Curves over the number of clusters: inertia, silhouette, and the gap statistic.

A sweep clusters rows into many numbers of clusters, each started from the centers of its
neighbours, and keeps the best of warm and fresh starts for every number. The gap statistic says how
much faster inertia falls with more clusters than for random rows, which are swept in the same way
(Tibshirani, Walther, Hastie 2001). Neither judges which number is good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import strictly
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.keys import REFERENCE_ROWS, SWEEP, open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Nearness, Problem, measure_rows
from projected_kmeans.results import Floats
from projected_kmeans.search.kmeans_plus_plus import count_trials, draw_rows, mass_of
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.seeding import seed_centers
from projected_kmeans.thread_pool import ThreadPool

# A fresh seeding is tried besides the warm start up to 20 clusters, and then for every fifth
# number, because warm starts alone would carry a bad center along.
MAX_ALWAYS_FRESH = 20
FRESH_EVERY = 5

# Limits of Lloyd's method for each start: passes, and the squared shift of the centers as a share
# of the mean variance. A warm start rarely needs more, and curves need no last digit.
MAX_PASSES = 50
TOLERANCE = 1e-4

# Random rows are drawn 8 times.
N_REFERENCES = 8

# The statistic is measured on at most 2,048 rows, or 20 rows a cluster if that is more.
MAX_SAMPLE_ROWS = 2048
SAMPLE_ROWS_PER_CLUSTER = 20

# Random rows use parts 2 to 9 of the key, because the sweeps of the rows use parts 0 and 1.
FIRST_PART = 2

# An inertia below this share of the inertia of one cluster is rounding, and counts as zero.
ZERO_SHARE = 1e-12


@dataclass(frozen=True)
class Sweep:
    """What was found for every number of clusters."""

    counts: NDArray[np.int64]  # ascending
    inertia: Floats  # never rises with the number
    # Simplified: the mean over rows of 1 - a / b, where a and b are the distances to the nearest
    # and to the second nearest center; 0 for one cluster.
    silhouette: Floats
    centers: tuple[Floats, ...]  # of the best clustering into each number


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
    divides clusters that the way up left undivided. Sweeps with different parts of the key are
    independent. ``on_count`` is called after every number, upwards and downwards.
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
        ended = run_lloyd(self._problem, first, max_iter=MAX_PASSES, tol=self._tol)
        if count in self.stops and self.stops[count].inertia <= ended.inertia:
            return
        near = self._problem.assign(ended.centers, self._labels, keep_ties=False)
        silhouette = _measure_silhouette(near, self._mass) if count > 1 else 0.0
        self.stops[count] = _Stop(ended.centers, ended.inertia, silhouette)

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
        """Remove the center that costs least to drop: its rows go to their second nearest one.

        A center without rows costs 0.
        """
        near = self._problem.assign(self._centers, self._labels, keep_ties=False)
        losses = (near.second - near.nearest) * self._mass
        costs = np.bincount(self._labels, weights=losses, minlength=len(self._centers))
        self._centers = np.delete(self._centers, int(np.argmin(costs)), axis=0)


def _measure_silhouette(near: Nearness, mass: Floats) -> float:
    to_own, to_next = np.maximum(near.nearest, 0.0), np.maximum(near.second, 0.0)
    apart = to_next > 0
    ratios = np.sqrt(np.divide(to_own, to_next, out=np.ones_like(to_own), where=apart))
    return float(np.sum((1 - np.minimum(ratios, 1.0)) * mass) / mass.sum())


@dataclass(frozen=True)
class Gap:
    """The statistic for every number of clusters."""

    # Mean of log(inertia / inertia of one cluster) of random rows, minus that of the rows: 0 for
    # one cluster, infinity if the inertia is 0.
    values: Floats
    errors: Floats  # their standard errors, as far as they come from the random rows
    silhouette: Floats  # mean silhouette of the random rows


def draw_sample(problem: Problem, max_clusters: int, key: int) -> Problem:
    """Return the problem itself, or a sample if it has more rows than the statistic needs.

    The sample is drawn uniformly, or by weight, so that each drawn row counts once.
    """
    n_rows = problem.source.shape[0]
    n_wanted = max(MAX_SAMPLE_ROWS, SAMPLE_ROWS_PER_CLUSTER * max_clusters)
    if n_rows <= n_wanted:
        return problem
    stream = open_stream(key, REFERENCE_ROWS)
    if problem.weights is None:
        drawn = stream.choice(n_rows, n_wanted, replace=False)
    else:
        drawn = stream.choice(n_rows, n_wanted, p=problem.weights / problem.weights.sum())
    source = ArrayBlocks(problem.source.select(np.sort(drawn)))
    ranges = scan_columns(source, problem.n_threads)
    return replace(problem, source=source, ranges=ranges, weights=None)


def measure_gap(
    sample: Problem,
    sweep: Sweep,
    key: int,
    on_reference: Callable[[], object],
) -> Gap:
    """Return the gap statistic of a sample of the rows.

    Random rows are uniform in the box of the sample along its principal directions, and are swept
    as the sample was. They are few, so each sweep uses one thread and several run at a time.
    ``on_reference`` is called after each of the `N_REFERENCES` sweeps of random rows.
    """
    counts = sweep.counts.tolist()
    low, high = _measure_box(sample.source.take(np.flatnonzero(mass_of(sample))))
    dtype = compute_type(sample.source.dtype)

    def sweep_random_rows(index: int) -> Sweep:
        stream = open_stream(key, REFERENCE_ROWS, index)
        rows = stream.uniform(low, high, size=(sample.source.shape[0], len(low)))
        source = ArrayBlocks(rows.astype(dtype))
        problem = Problem(source, scan_columns(source, 1), sample.weights, n_threads=1)
        return sweep_counts(problem, counts, key, FIRST_PART + index)

    curves = []
    with ThreadPool(_native.max_threads(sample.n_threads)) as pool:
        for curve in pool.map(sweep_random_rows, range(N_REFERENCES)):
            curves.append(curve)
            on_reference()
    falls = np.array([_take_logs(curve.inertia) for curve in curves])
    errors = falls.std(axis=0, ddof=1) * np.sqrt(1 + 1 / N_REFERENCES)
    silhouette = np.mean([curve.silhouette for curve in curves], axis=0)
    return Gap(falls.mean(axis=0) - _take_logs(sweep.inertia), errors, silhouette)


def _take_logs(inertia: Floats) -> Floats:
    """Return the logarithms of inertia / inertia of one cluster, minus infinity for zero."""
    logs = np.full(len(inertia), -np.inf)
    above = inertia > ZERO_SHARE * inertia[0]
    logs[above] = np.log(inertia[above] / inertia[0])
    return logs


def _measure_box(rows: Floats) -> tuple[Floats, Floats]:
    """Return the minimum and the maximum of rows along each of their principal directions."""
    centred = rows - rows.mean(axis=0)
    # One thread, because the rounding of a product may depend on the number of threads.
    turned = strictly(lambda: centred @ np.linalg.eigh(centred.T @ centred)[1])
    return turned.min(axis=0), turned.max(axis=0)
