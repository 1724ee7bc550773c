"""SEED: k-means|| and AFK-MC^2, which pass over all rows only a few times, for very many rows.

Each chooses rows; exact draws and the greedy choice are those of `kmeans_plus_plus`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.search.kmeans_plus_plus import (
    Indices,
    OnCenter,
    SeedDistances,
    Stream,
    count_trials,
    draw_rows,
    ignore,
    locate,
    seed_plus_plus,
)

# k-means||: the number of rounds, and how many rows a round draws per cluster, on average.
ROUNDS, OVERSAMPLING = 5, 1.0

# AFK-MC^2: the steps of a chain, as in the authors' experiments, and how many chains are measured
# together.
CHAIN, TOGETHER = 200, 32


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
