"""SEED: the first centers, as rows of the sketch.

Draws from the key alone; it does not move centers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks import compute_type
from projected_kmeans.passes import Frame, Problem, measure_rows

OnCenter: TypeAlias = Callable[[int], object]


def seed_rows(
    name: str,
    problem: Problem,
    n_clusters: int,
    stream: np.random.Generator,
    on_center: OnCenter | None = None,
) -> NDArray[np.int64]:
    """Choose rows by the seeding of that name, one of `SEEDINGS`.

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
    ndarray of int64 (n_clusters,)
        Row indices.
    """
    return SEEDINGS[name](problem, n_clusters, stream, on_center)


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
    corners = np.stack([problem.ranges.minimum, problem.ranges.maximum])
    frame = Frame.around(corners, compute_type(source.dtype))
    mass = np.ones(source.shape[0]) if problem.weights is None else problem.weights
    n_trials = 2 + int(math.log(n_clusters))

    def measure(rows: NDArray[np.int64]) -> NDArray[np.floating]:
        return measure_rows(source, source.take(rows), frame, problem.n_threads)

    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = _draw(mass, 1, stream)[0]
    nearest = measure(chosen[:1])[0]
    for index in range(1, n_clusters):
        candidates = _draw(nearest * mass, n_trials, stream)
        after = np.minimum(measure(candidates), nearest)
        best = int(np.argmin(after @ mass))
        chosen[index] = candidates[best]
        nearest = after[best]
        if on_center is not None:
            on_center(index + 1)
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
    {"k-means++": seed_plus_plus, "random": seed_random}
)
