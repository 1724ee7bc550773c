"""CLUSTER with limits of cluster sizes: passes on the sketch that begin at what was found freely.

A pass of Lloyd's method then assigns all rows together, by `LimitedSearch`. Everything else, from
exact sums to checkpoints, is as without limits.
"""

from __future__ import annotations

from collections.abc import Sequence

from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Clustering
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.restarts import first_of_lowest
from projected_kmeans.solvers.resumable_solvers import run_to_plateau

# Passes end when one lowers the inertia by less than this share, unless the caller fixes another.
MIN_GAIN = 1e-5

# Up to this many rows times clusters, all finalists go on and not only the lowest.
MAX_WORK_OF_ALL = 500_000


def limit_sizes(
    recipe: Recipe, sketch: Problem, finalists: Sequence[Clustering], run: Run
) -> list[Clustering]:
    """Return partitions within limits of cluster sizes; the finalists themselves without limits.

    Of large problems only the finalist with the lowest inertia goes on.

    Parameters
    ----------
    recipe : Recipe
        With limits or without.
    sketch : Problem
        The rows of the sketch.
    finalists : sequence of Clustering
        Partitions of these rows without limits. Their centers are where the passes begin.
    run : Run
        Told of every pass. If it is stopped, every finalist still gets one pass.
    """
    if recipe.limits is None:
        return list(finalists)
    if sketch.source.shape[0] * recipe.n_clusters > MAX_WORK_OF_ALL:
        finalists = [finalists[first_of_lowest([one.inertia for one in finalists])]]
    # A search of its own for each, because prices of one finalist are no start for another.
    return [
        _limit(recipe, sketch, one, LimitedSearch(sketch, recipe.limits), run, index)
        for index, one in enumerate(finalists)
    ]


def _limit(
    recipe: Recipe,
    sketch: Problem,
    free: Clustering,
    search: LimitedSearch,
    run: Run,
    index: int,
) -> Clustering:
    max_iter = 1 if run.monitor.stopped else recipe.max_iter
    with run.monitor.step("cluster", max_iter, index):
        return run_to_plateau(
            sketch,
            free.centers,
            run,
            f"limited-{index}",
            max_iter=max_iter,
            inertia_tol=max(MIN_GAIN, recipe.approach.inertia_tol),
            tol=recipe.tol * sketch.mean_variance,
            search=search,
        )
