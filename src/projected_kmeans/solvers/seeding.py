"""SEED: the table of seedings by name; greedy k-means++, random rows and ORSS06.

A seeding chooses rows; only that of ORSS06 moves centers away from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.solvers.kmeans_plus_plus import (
    OnCenter,
    announce,
    count_trials,
    draw_rows,
    extend_rows,
    mass_of,
)
from projected_kmeans.solvers.sampled_seeding import seed_markov, seed_oversampled

# Sparse rows without a map are seeded on a sign sketch of at most 64 columns.
SEEDING_COLUMNS = 64


def count_seeding_columns(n_columns: int) -> int:
    """Return the columns of the sketch on which sparse rows are seeded."""
    return min(SEEDING_COLUMNS, n_columns)


def seed_centers(
    name: str,
    problem: Problem,
    n_clusters: int,
    stream: np.random.Generator,
    on_center: OnCenter | None = None,
) -> Floats:
    """Return first centers by the seeding of that name, one of `SEEDINGS`.

    Parameters
    ----------
    name : str
        The name of the seeding.
    problem : Problem
        The rows and their weights.
    n_clusters : int
        How many rows to choose.
    stream : numpy.random.Generator
        Where the draws come from.
    on_center : callable, optional
        Called with the number of centers chosen so far.

    Returns
    -------
    ndarray of float64 (n_clusters, columns)
        Rows of the problem; for "orss06" the means of the rows around them.
    """
    centers = problem.source.take(SEEDINGS[name](problem, n_clusters, stream, on_center))
    return move_to_balls(problem, centers) if name == "orss06" else centers


def seed_plus_plus(
    problem: Problem,
    n_clusters: int,
    stream: np.random.Generator,
    on_center: OnCenter | None = None,
) -> NDArray[np.int64]:
    """Choose rows by greedy k-means++ (Arthur, Vassilvitskii 2007).

    Each next center is the best of 2 + floor(ln k) rows drawn with probability proportional to
    their weighted squared distance from the centers so far: the one that leaves the lowest inertia
    on all rows, or on a sample of them if there are more than 8192. A row of weight zero is never
    chosen while others are left. Rows repeat only if there are fewer distinct rows than clusters.
    """
    first = draw_rows(mass_of(problem), 1, stream)
    announce(on_center, 0, 1)
    return extend_rows(problem, first, n_clusters, count_trials(n_clusters), stream, on_center)


def seed_random(
    problem: Problem,
    n_clusters: int,
    stream: np.random.Generator,
    on_center: OnCenter | None = None,
) -> NDArray[np.int64]:
    """Choose distinct rows at random, with probability proportional to their weight."""
    n_rows = problem.source.shape[0]
    chances = None
    if problem.weights is not None:
        n_positive = int(np.count_nonzero(problem.weights))
        if n_positive < n_clusters:
            raise ValueError(
                f"sample_weight has {n_positive} positive entries, fewer than "
                f"n_clusters={n_clusters}; use fewer clusters"
            )
        chances = problem.weights / problem.weights.sum()
    chosen = stream.choice(n_rows, n_clusters, replace=False, p=chances)
    if on_center is not None:
        on_center(n_clusters)
    return np.asarray(chosen, dtype=np.int64)


def seed_orss06(
    problem: Problem,
    n_clusters: int,
    stream: np.random.Generator,
    on_center: OnCenter | None = None,
) -> NDArray[np.int64]:
    """Choose rows by the sampling of Ostrovsky, Rabani, Schulman and Swamy (2006).

    The first two rows are drawn as a pair with probability proportional to their squared distance:
    x by Delta_1 + n ||x - c||^2, where Delta_1 is the inertia about the mean c of all rows, then y
    by ||x - y||^2. Every further row is drawn by its squared distance from the rows so far, one
    trial each. `move_to_balls` is the other half of their seeding.
    """
    source = problem.source
    mean = problem.mean
    frame = Frame.around(mean, compute_type(source.dtype), problem.ranges)
    from_mean = frame.undo(measure_rows(source, mean, frame, problem.n_threads)[0])
    mass = mass_of(problem)
    chances = mass * (math.fsum(from_mean * mass) + mass.sum() * from_mean)
    first = draw_rows(chances, 1, stream)
    announce(on_center, 0, 1)
    return extend_rows(problem, first, n_clusters, 1, stream, on_center)


def move_to_balls(problem: Problem, centers: Floats) -> Floats:
    """Return the mean of the rows within a third of each center's distance to the next one.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    centers : ndarray of float64 (k, columns)
        The centers of the balls.
    """
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


SEEDINGS: Mapping[str, Callable[..., NDArray[np.int64]]] = MappingProxyType(
    {
        "k-means++": seed_plus_plus,
        "k-means||": seed_oversampled,
        "afk-mc2": seed_markov,
        "random": seed_random,
        "orss06": seed_orss06,
    }
)
