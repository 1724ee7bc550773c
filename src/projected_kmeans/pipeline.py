"""The steps in their order: reduce, seed, cluster, lift, polish.

Composes what the step modules do; every choice is made already and stands in the recipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks import ArrayBlocks, as_native, scan_columns
from projected_kmeans.hartigan import move_single_points
from projected_kmeans.journal import Journal
from projected_kmeans.keys import LOCAL_SEARCH, SEEDING, open_stream
from projected_kmeans.lifting import lift
from projected_kmeans.lloyd import run_lloyd
from projected_kmeans.local_search import breathe
from projected_kmeans.parameters import check_init
from projected_kmeans.passes import Problem
from projected_kmeans.random_maps import RandomMap, sketch_rows
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.seeding import seed_centers

# Restarts whose inertias differ by less are the same up to rounding: the first of them is kept.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Recipe:
    """All that a run depends on beside the rows and their weights, nothing left to "auto".

    Attributes
    ----------
    n_clusters : int
        k.
    key : int
        What fixes all randomness.
    projection : RandomMap, transformer or None
        A fitted random map; another transformer, to be fitted; or None for the original space.
    init : str, array-like or callable
        First centers, as `ProjectedKMeans` takes them.
    n_init, max_iter, polish_iter : int
        Restarts, passes over the sketch, passes in the original space.
    solver : str
        "lloyd", "hartigan" or "breathing".
    tol : float
        As `ProjectedKMeans` takes it.
    n_threads : int
        0 takes what OpenMP allows.
    """

    n_clusters: int
    key: int
    projection: Any
    init: Any
    n_init: int
    solver: str
    max_iter: int
    tol: float
    polish_iter: int
    n_threads: int


def open_rows(recipe: Recipe, rows: NDArray[Any], weights: Floats | None, log: Journal) -> Problem:
    """Look at every row once: all must be finite, and sums need the columns' ranges."""
    source = ArrayBlocks(rows)
    with log.step("check", len(source)):
        ranges = scan_columns(source, recipe.n_threads, log.report)
    return Problem(source, ranges, weights, recipe.n_threads)


def reduce_rows(recipe: Recipe, original: Problem, log: Journal) -> Problem:
    """Return the same rows in few dimensions, or the problem itself where none are to be saved."""
    if recipe.projection is None:
        return original
    source = original.source
    with log.step("reduce", len(source)):
        if isinstance(recipe.projection, RandomMap):
            sketch = sketch_rows(recipe.projection, source, log.report)
        else:
            sketch = _transform(recipe.projection.fit(source.array), source.array)
        return _open_sketch(recipe, sketch, original.weights)


def cluster_sketch(recipe: Recipe, original: Problem, sketch: Problem, log: Journal) -> Clustering:
    """Run the solver from several first centers and return the partition of least inertia."""
    tol = 0.0 if recipe.solver == "hartigan" else recipe.tol * sketch.mean_variance
    best: Clustering | None = None
    for restart in range(recipe.n_init):
        with log.step("seed", recipe.n_clusters, restart):
            centers = _seed(recipe, original, sketch, restart, log)
        with log.step("cluster", recipe.max_iter, restart):
            found = run_lloyd(
                sketch, centers, max_iter=recipe.max_iter, tol=tol, on_pass=log.report
            )
            if recipe.solver == "hartigan" and not log.stopped:
                found = move_single_points(
                    sketch, found, max_iter=recipe.max_iter, on_pass=log.report
                )
            elif recipe.solver == "breathing" and not log.stopped:
                stream = open_stream(recipe.key, LOCAL_SEARCH, restart)
                solve = partial(run_lloyd, sketch, tol=tol)
                found = breathe(
                    sketch, found, solve, stream, max_iter=recipe.max_iter, on_pass=log.report
                )
        if best is None or found.inertia < best.inertia * (1 - ROUNDING):
            best = found
        if log.stopped:
            break
    assert best is not None  # n_init is at least 1
    return best


def lift_partition(
    original: Problem, sketch: Problem, sketched: Clustering, log: Journal
) -> Clustering:
    """Return the partition with its centers and its inertia in the original space."""
    if sketch is original:
        return sketched
    with log.step("lift", 1):
        lifted = lift(original, sketched)
        log.report(1, lifted.inertia)
    return lifted


def polish_partition(
    recipe: Recipe, original: Problem, lifted: Clustering, log: Journal
) -> Clustering:
    """Run a few passes of Lloyd's method in the original space."""
    if recipe.polish_iter == 0 or log.stopped:
        return lifted
    with log.step("polish", recipe.polish_iter):
        return run_lloyd(
            original,
            lifted.centers,
            max_iter=recipe.polish_iter,
            start=lifted,
            on_pass=log.report,
        )


def _open_sketch(recipe: Recipe, sketch: NDArray[Any], weights: Floats | None) -> Problem:
    blocks = ArrayBlocks(sketch)
    try:
        ranges = scan_columns(blocks, recipe.n_threads)
    except ValueError:  # the rows are finite, so it is the map that went too far
        own = isinstance(recipe.projection, RandomMap)
        raise ValueError(
            f"the sketch of X overflows {sketch.dtype}; divide X by a large constant"
            if own
            else f"projection={recipe.projection!r} made a number that is not finite; use another"
        ) from None
    return Problem(blocks, ranges, weights, recipe.n_threads)


def _seed(recipe: Recipe, original: Problem, sketch: Problem, restart: int, log: Journal) -> Floats:
    """Return the first centers in the space of the sketch."""
    init = recipe.init
    stream = open_stream(recipe.key, SEEDING, restart)
    if callable(init):
        state = np.random.RandomState(int(stream.integers(2**32)))
        init = init(original.source.array, recipe.n_clusters, random_state=state)
    if isinstance(init, str):
        return seed_centers(init, sketch, recipe.n_clusters, stream, on_center=log.report)
    given = check_init(init, recipe.n_clusters, original.source.shape)
    if given.ndim == 1:
        return sketch.source.take(given)
    if recipe.projection is None:
        return given
    if isinstance(recipe.projection, RandomMap):
        return sketch_rows(recipe.projection, ArrayBlocks(given))
    return _transform(recipe.projection, given).astype(np.float64)


def _transform(projection: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Return what a transformer that is not ours makes of the rows."""
    sketch = np.asarray(projection.transform(rows))
    if sketch.ndim != 2 or len(sketch) != len(rows):
        raise ValueError(
            f"projection={projection!r} made shape {sketch.shape} of {len(rows)} rows; "
            "use a transformer that gives one row for each"
        )
    return np.ascontiguousarray(as_native(sketch))
