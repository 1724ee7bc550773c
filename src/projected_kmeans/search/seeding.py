"""SEED: where starts begin: what ``init`` may be, and the table of seedings by name.

A seeding chooses rows; only that of ORSS06 moves centers away from them. How rows are drawn by
squared distance is told in `kmeans_plus_plus.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_init
from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import RandomMap, sketch_rows
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.kmeans_plus_plus import (
    MIN_CLUSTERS,
    MIN_ROWS_PER_CLUSTER,
    SEEDING_COLUMNS,
    Indices,
    OnCenter,
    Stream,
    draw_rows,
    ignore,
    mass_of,
    seed_by_cells,
    seed_plus_plus,
    sketch_signs,
)
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.reduction import transform_rows
from projected_kmeans.search.sampled_seeding import seed_markov, seed_oversampled


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
        if isinstance(recipe.projection, RandomMap):
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


def solve_orss06(problem: Problem, n_clusters: int, stream: Stream) -> Clustering:
    """Return the partition after one step of Lloyd's method from the centers of ORSS06.

    *The Effectiveness of Lloyd-Type Methods for the k-Means Problem*, FOCS 2006, proves that this
    is near the optimum if k clusters fit the rows much better than k - 1 do.
    """
    centers = seed_centers("orss06", problem, n_clusters, stream)
    # One step is all that the method makes, so it has ended and was not cut short.
    return replace(run_lloyd(problem, centers, max_iter=1), converged=True)


SEEDINGS: Mapping[str, Callable[..., Indices]] = {
    "k-means++": seed_plus_plus,
    "k-means||": seed_oversampled,
    "afk-mc2": seed_markov,
    "random": seed_random,
    "orss06": seed_orss06,
}
