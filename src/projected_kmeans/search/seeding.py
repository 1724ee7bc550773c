"""SEED: where starts begin: what ``init`` may be, and the seedings by name.

A seeding chooses rows; only that of ORSS06 moves centers away from them. Greedy k-means++, exact
draws and cells are told in `kmeans_plus_plus.py`. k-means|| and AFK-MC^2 pass over all rows only a
few times, for very many rows.

Few rows are searched inside a kernel (`FewRows`), because a pass over a thousand rows takes less
time than the Python around it. The same search, passes and swaps of single centers, runs in one
call of `search_few_rows` for each start. Exact passes go on from the best of them, and have little
left to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_init
from projected_kmeans.keys import FEW_ROWS, SEEDING, open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem, measure_rows
from projected_kmeans.projections.map_protocol import MapTransformer, sketch_rows
from projected_kmeans.results import Floats
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.kmeans_plus_plus import (
    MIN_CLUSTERS,
    MIN_ROWS_PER_CLUSTER,
    SEEDING_COLUMNS,
    Indices,
    OnCenter,
    SeedDistances,
    Stream,
    count_trials,
    draw_rows,
    ignore,
    locate,
    mass_of,
    seed_by_cells,
    seed_plus_plus,
    sketch_signs,
)
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.reduction import transform_rows
from projected_kmeans.thread_pool import ThreadPool

# k-means||: the number of rounds, and how many rows a round draws per cluster, on average.
ROUNDS, OVERSAMPLING = 5, 1.0

# AFK-MC^2: the steps of a chain, as in the authors' experiments, and how many chains are measured
# together.
CHAIN, TOGETHER = 200, 32

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


class FirstCenters:
    """Where starts begin: rows of ``problem``, or what the caller gave in the original space.

    Sparse rows, which are clustered without a map, are seeded on a sign sketch.
    """

    def __init__(
        self, recipe: Recipe, original: Problem, problem: Problem, monitor: Monitor
    ) -> None:
        self._recipe, self._original, self._problem = recipe, original, problem
        self._measured = problem
        if problem.source.sparse and isinstance(recipe.init, str):
            width = min(SEEDING_COLUMNS, problem.source.shape[1])
            monitor.note("seed: on a sign sketch of %d columns, because rows are sparse", width)
            self._measured = sketch_signs(problem, recipe.key)

    def draw(self, index: int, on_center: OnCenter) -> Floats:
        """Return the first centers of a start; ``on_center`` is told of each that is chosen."""
        recipe, problem = self._recipe, self._problem
        init, k = recipe.init, recipe.n_clusters
        stream = open_stream(recipe.key, SEEDING, index)
        if callable(init):
            state = np.random.RandomState(int(stream.integers(2**32)))
            init = init(self._original.source.select(), k, random_state=state)
        if isinstance(init, str):
            enough = problem.source.shape[0] >= MIN_ROWS_PER_CLUSTER * k
            takes_cells = k >= MIN_CLUSTERS and enough and not problem.source.sparse
            if init == "k-means++" and takes_cells:
                centers = seed_by_cells(problem, k, stream)
                on_center(k)
                return centers
            centers = problem.source.take(SEEDINGS[init](self._measured, k, stream, on_center))
            moves = init == "orss06" and self._measured is problem
            return move_to_balls(problem, centers) if moves else centers
        given = check_init(init, k, self._original.source.shape)
        if given.ndim == 1:  # indices of rows
            return problem.source.take(given)
        if recipe.projection is None:
            return given
        if isinstance(recipe.projection, MapTransformer):
            return sketch_rows(recipe.projection, ArrayBlocks(given))
        return transform_rows(recipe.projection, given).astype(np.float64)


def seed_centers(name: str, problem: Problem, n_clusters: int, stream: Stream) -> Floats:
    """Return rows that the seeding of that name chooses; for "orss06" the means around them."""
    centers = problem.source.take(SEEDINGS[name](problem, n_clusters, stream))
    return move_to_balls(problem, centers) if name == "orss06" else centers


def seed_random(
    problem: Problem, n_clusters: int, stream: Stream, on_center: OnCenter = ignore
) -> Indices:
    """Choose distinct rows at random, with probability proportional to their weight."""
    chances = None
    if problem.weights is not None:
        n_positive = int(np.count_nonzero(problem.weights))
        if n_positive < n_clusters:
            raise ValueError(
                f"sample_weight has {n_positive} positive entries, fewer than "
                f"n_clusters={n_clusters}; use fewer clusters"
            )
        chances = problem.weights / problem.weights.sum()
    chosen = stream.choice(problem.source.shape[0], n_clusters, replace=False, p=chances)
    on_center(n_clusters)
    return np.asarray(chosen, dtype=np.int64)


def seed_orss06(
    problem: Problem, n_clusters: int, stream: Stream, on_center: OnCenter = ignore
) -> Indices:
    """Choose rows by the sampling of Ostrovsky, Rabani, Schulman and Swamy (2006).

    The first two rows are drawn as a pair with probability proportional to their squared distance:
    x by Delta_1 + n ||x - c||^2, where Delta_1 is the inertia about the mean c of all rows, then y
    by ||x - y||^2. Every further row is drawn by its squared distance from the rows so far, one
    trial each. `move_to_balls` is the other half of their seeding.
    """
    source, mean, mass = problem.source, problem.sum_all().means, mass_of(problem)
    frame = Frame.around(mean, compute_type(source.dtype), problem.ranges)
    from_mean = frame.undo(measure_rows(source, mean, frame, problem.n_threads)[0])
    chances = mass * (math.fsum(from_mean * mass) + mass.sum() * from_mean)
    first = draw_rows(chances, 1, stream)
    on_center(1)
    return seed_plus_plus(problem, n_clusters, stream, on_center, first=first, n_trials=1)


def move_to_balls(problem: Problem, centers: Floats) -> Floats:
    """Return the mean of the rows within a third of each center's distance to the next one."""
    if len(centers) == 1:
        return centers
    gaps = np.array([np.sum((centers - center) ** 2, axis=1) for center in centers])
    np.fill_diagonal(gaps, np.inf)
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    distances = problem.assign(centers, labels, keep_ties=False).nearest
    # Balls are disjoint, so a row is in at most one of them: that of its nearest center.
    inside = distances <= gaps.min(axis=0)[labels] / 9
    mass = inside * (1.0 if problem.weights is None else problem.weights)
    return replace(problem, weights=mass).sum(labels, centers).means


def seed_oversampled(
    problem: Problem, n_clusters: int, stream: Stream, on_center: OnCenter = ignore
) -> Indices:
    """Choose rows by k-means|| (Bahmani, Moseley, Vattani, Kumar, Vassilvitskii 2012).

    Five rounds draw about k rows each, every row independently with probability proportional to its
    weighted squared distance from the rows drawn before. Greedy k-means++ then chooses k of them,
    each with the weight of the rows that are nearest to it. This takes seven passes over the rows
    for any k, which together cost about as much as ten of Lloyd's.
    """
    distances = SeedDistances(problem)
    mass = distances.mass
    drawn = draw_rows(mass, 1, stream)
    distances.lower(drawn)
    for _ in range(ROUNDS):
        chances = distances.values * mass
        inertia = float(chances.sum())
        share = OVERSAMPLING * n_clusters * chances
        latest = np.flatnonzero(stream.random(len(mass)) * inertia < share)
        distances.lower(latest)
        drawn = np.concatenate([drawn, latest])
    # Greedy k-means++ chooses among the drawn rows, weighted by the rows near them.
    centers = problem.source.take(drawn)
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    problem.label(centers, labels)
    mass = np.bincount(labels, weights=problem.weights, minlength=len(drawn)).astype(np.float64)
    # Of several equal rows, one gets all the weight and the others none.
    n_wanted = min(n_clusters, int(np.count_nonzero(mass)))
    among = replace(problem, source=ArrayBlocks(centers.astype(problem.source.dtype)), weights=mass)
    places = seed_plus_plus(among, n_wanted, stream, n_trials=count_trials(n_clusters))
    for n_before in range(n_wanted):
        on_center(n_before + 1)
    chosen = drawn[places]
    return seed_plus_plus(problem, n_clusters, stream, on_center, first=chosen, n_trials=1)


def seed_markov(
    problem: Problem, n_clusters: int, stream: Stream, on_center: OnCenter = ignore
) -> Indices:
    """Choose rows by AFK-MC^2 (Bachem, Lucic, Hassani, Krause 2016).

    After one pass over all rows, each center is the end of a Markov chain of 200 rows whose
    stationary distribution is that of k-means++: the cost grows with k^2 but not with the number of
    rows. Half of a chain's proposals are drawn by weight, half by squared distance from the first
    center. If a chain only finds rows equal to centers, the rest is drawn by exact distances.
    """
    distances = SeedDistances(problem)
    mass = distances.mass
    chosen = draw_rows(mass, 1, stream)
    on_center(1)
    distances.lower(chosen)
    far = distances.values * mass
    inertia = float(far.sum())
    proposal = mass / mass.sum() + (far / inertia if inertia > 0 else 0.0)
    odds = np.divide(mass, proposal, out=np.zeros(len(mass)), where=mass > 0)
    cumulative = np.cumsum(proposal)
    while len(chosen) < n_clusters:
        n_chains = min(TOGETHER, n_clusters - len(chosen))
        rows = locate(cumulative, stream.random(n_chains * CHAIN)).reshape(n_chains, CHAIN)
        floors = stream.random((n_chains, CHAIN))
        latest = _run_chains(distances, chosen, rows, odds[rows], floors)
        for n_before in range(len(chosen), len(chosen) + len(latest)):
            on_center(n_before + 1)
        chosen = np.concatenate([chosen, latest])
        if len(latest) < n_chains:
            return seed_plus_plus(problem, n_clusters, stream, on_center, first=chosen, n_trials=1)
    return chosen


def _run_chains(
    distances: SeedDistances, chosen: Indices, rows: Indices, odds: Floats, floors: Floats
) -> Indices:
    """Return the rows where chains end, up to the first chain that ends on a center."""
    source, dtype = distances.source, distances.dtype
    frame, n_threads = (distances.origin, distances.scale), distances.n_threads
    points = source.take(rows.ravel()).astype(dtype)
    nearest = np.full(len(points), np.inf, dtype=dtype)
    centers = source.take(chosen).astype(dtype)
    _native.lower_distances(points, *frame, centers, nearest, n_threads)
    points, nearest = points.reshape(*rows.shape, -1), nearest.reshape(rows.shape)
    ends: list[int] = []
    latest: list[NDArray[Any]] = []
    for chain in range(len(rows)):
        if latest:
            centers = np.array(latest)
            _native.lower_distances(points[chain], *frame, centers, nearest[chain], n_threads)
        levels = (nearest[chain] * odds[chain]).tolist()
        place, level = 0, levels[0]
        for step, floor in enumerate(floors[chain].tolist()):
            if levels[step] > floor * level:
                place, level = step, levels[step]
        if not level > 0:
            break
        ends.append(int(rows[chain, place]))
        latest.append(points[chain, place])
    return np.array(ends, dtype=np.int64)


SEEDINGS: Mapping[str, Callable[..., Indices]] = {
    "k-means++": seed_plus_plus,
    "k-means||": seed_oversampled,
    "afk-mc2": seed_markov,
    "random": seed_random,
    "orss06": seed_orss06,
}


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
