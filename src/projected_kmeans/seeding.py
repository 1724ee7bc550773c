"""SEED: the first centers, as rows of the sketch.

Draws from the key alone; it does not move centers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks import compute_type
from projected_kmeans.passes import Frame, Problem, measure_rows
from projected_kmeans.results import Floats

OnCenter: TypeAlias = Callable[[int], object]


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
        Which seeding.
    problem : Problem
        The rows and their weights.
    n_clusters : int
        How many to choose.
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
    their weighted squared distance from the centers so far. A row of weight zero is never chosen
    while others are left; rows repeat only where there are fewer distinct rows than clusters.
    """
    source = problem.source
    # Differences of rows are exact about zero: an outlier must not take the digits of the others.
    zero = np.zeros((1, source.shape[1]))
    frame = Frame.around(zero, compute_type(source.dtype), problem.ranges)
    mass = np.ones(source.shape[0]) if problem.weights is None else problem.weights
    n_trials = 2 + int(math.log(n_clusters))

    def measure(rows: NDArray[np.int64]) -> NDArray[np.floating]:
        return measure_rows(source, source.take(rows), frame, problem.n_threads)

    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = _draw(mass, 1, stream)[0]
    nearest = measure(chosen[:1])[0]
    for index in range(1, n_clusters):
        if on_center is not None:
            on_center(index)
        candidates = _draw(nearest * mass, n_trials, stream)
        after = np.minimum(measure(candidates), nearest)
        left = np.einsum("ij,j->i", after, mass)  # not BLAS: the same bits on any threads
        best = int(np.argmin(left))
        chosen[index] = candidates[best]
        nearest = after[best]
    if on_center is not None:
        on_center(n_clusters)
    return chosen


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
    mass = np.ones(source.shape[0]) if problem.weights is None else problem.weights
    middle = (problem.ranges.minimum + problem.ranges.maximum) / 2
    mean = problem.sum(np.zeros(source.shape[0], dtype=np.int32), middle[None]).means
    frame = Frame.around(mean, compute_type(source.dtype), problem.ranges)

    def measure(centers: Floats) -> Floats:
        return frame.undo(measure_rows(source, centers, frame, problem.n_threads)[0])

    from_mean = measure(mean)
    chances = mass * (math.fsum(from_mean * mass) + mass.sum() * from_mean)
    chosen = np.empty(n_clusters, dtype=np.int64)
    nearest = np.full(source.shape[0], np.inf)
    for index in range(n_clusters):
        chosen[index] = _draw(chances, 1, stream)[0]
        nearest = np.minimum(measure(source.take(chosen[index : index + 1])), nearest)
        chances = nearest * mass
        if on_center is not None:
            on_center(index + 1)
    return chosen


def move_to_balls(problem: Problem, centers: Floats) -> Floats:
    """Return the mean of the rows within a third of each center's distance to the next one.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    centers : ndarray of float64 (k, columns)
        Where the balls are.
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


def _draw(
    chances: NDArray[np.floating], n_draws: int, stream: np.random.Generator
) -> NDArray[np.int64]:
    """Draw rows with probability proportional to ``chances``; uniformly where all are zero."""
    cumulative = np.cumsum(chances, dtype=np.float64)
    if not cumulative[-1] > 0:
        return np.asarray(stream.integers(len(chances), size=n_draws), dtype=np.int64)
    points = stream.random(n_draws) * cumulative[-1]
    rows = np.searchsorted(cumulative, points, side="right")
    last = np.searchsorted(cumulative, cumulative[-1], side="left")  # has a chance; none after it
    return np.asarray(np.minimum(rows, last), dtype=np.int64)


SEEDINGS: Mapping[str, Callable[..., NDArray[np.int64]]] = MappingProxyType(
    {"k-means++": seed_plus_plus, "random": seed_random, "orss06": seed_orss06}
)
