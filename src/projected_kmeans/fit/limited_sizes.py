"""CLUSTER with limits of cluster sizes: passes on the sketch from several first centers.

A pass of Lloyd's method then assigns all rows together, by `LimitedSearch`. Everything else, from
exact sums to checkpoints, is as without limits. Passes begin at what was found without limits, and
of small problems at seedings, too: where groups are uneven, limits must divide large ones, and the
centers of a free partition, one in each group, are far from that.
"""

from __future__ import annotations

from collections.abc import Sequence

from projected_kmeans.keys import LIMITED_SIZES, open_stream
from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.restarts import first_of_lowest
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.seeding import seed_centers

# Passes end when one lowers the inertia by less than this share, unless the caller fixes another.
MIN_GAIN = 1e-5

# Up to this many rows times clusters, all finalists go on and not only the lowest, and passes begin
# at some seedings, too. A start of larger problems takes seconds.
MAX_WORK_OF_ALL, N_SEEDINGS = 500_000, 2


def limit_sizes(
    recipe: Recipe, sketch: Problem, finalists: Sequence[Clustering], run: Run
) -> list[Clustering]:
    """Return partitions within limits of cluster sizes; the finalists themselves without limits.

    Of large problems only the finalist with the lowest inertia goes on. Of small ones, seedings are
    drawn, too, if the caller has chosen neither first centers nor a solver.

    Parameters
    ----------
    recipe : Recipe
        With limits or without.
    sketch : Problem
        The rows of the sketch.
    finalists : sequence of Clustering
        Partitions of these rows without limits. Their centers are where the passes begin.
    run : Run
        Told of every pass. If it is stopped, the first start still gets one pass.
    """
    if recipe.limits is None:
        return list(finalists)
    free_to_seed = isinstance(recipe.init, str) and recipe.own_solver is None
    starts = [one.centers for one in finalists]
    if sketch.source.shape[0] * recipe.n_clusters > MAX_WORK_OF_ALL:
        starts = [starts[first_of_lowest([one.inertia for one in finalists])]]
    elif free_to_seed and not sketch.source.sparse:
        starts += [_seed(recipe, sketch, index) for index in range(N_SEEDINGS)]
    found: list[Clustering] = []
    for index, centers in enumerate(starts):
        if found and run.monitor.stopped:
            break
        # A search of its own for each, because prices of one start are no start for another.
        search = LimitedSearch(sketch, recipe.limits)
        found.append(_limit(recipe, sketch, centers, search, run, index))
    return found


def _seed(recipe: Recipe, sketch: Problem, index: int) -> Floats:
    stream = open_stream(recipe.key, LIMITED_SIZES, index)
    return seed_centers("k-means++", sketch, recipe.n_clusters, stream)


def _limit(
    recipe: Recipe,
    sketch: Problem,
    centers: Floats,
    search: LimitedSearch,
    run: Run,
    index: int,
) -> Clustering:
    max_iter = 1 if run.monitor.stopped else recipe.max_iter
    with run.monitor.step("cluster", max_iter, index):
        return run_to_plateau(
            sketch,
            centers,
            run,
            f"limited-{index}",
            max_iter=max_iter,
            inertia_tol=max(MIN_GAIN, recipe.approach.inertia_tol),
            tol=recipe.tol * sketch.mean_variance,
            search=search,
        )
