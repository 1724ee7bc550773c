"""CLUSTER with limits of cluster sizes: passes on the sketch from several first centers.

A pass of Lloyd's method then assigns all rows together, by `LimitedSearch`. Everything else, from
exact sums to checkpoints, is as without limits. A partition found without limits that keeps them is
the answer. Otherwise its centers are one start among several, because limits must divide large
groups and join small ones, and where passes end depends on the start by a percent or more. Starts
compete on a subsample, or on all rows if these are few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from projected_kmeans.keys import LIMITED_SIZES, open_stream
from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.restarts import draw_subsample, first_of_lowest
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.seeding import seed_centers

# Passes end when one lowers the inertia by less than this share, unless the caller fixes another.
MIN_GAIN = 1e-5

# Starts that compete, with that of the free partition; how many rows a cluster they compete on;
# after which gain their passes end; and how many go on with all rows.
N_STARTS, RACE_ROWS_PER_CLUSTER, MIN_RACE_ROWS, RACE_GAIN, N_FINALISTS = 8, 100, 2000, 2e-4, 2

# Starts are not seeded if rows times clusters exceed this: a pass of one would take seconds.
MAX_WORK = 50_000_000


@dataclass(frozen=True)
class _Course:
    """Rows on which passes run, their limits, and after which gain passes end."""

    rows: Problem
    limits: SizeLimits
    min_gain: float
    name: str


def limit_sizes(
    recipe: Recipe, sketch: Problem, finalists: Sequence[Clustering], run: Run
) -> list[Clustering]:
    """Return partitions within limits of cluster sizes; the finalists themselves without limits.

    Further starts are seeded if the caller has chosen neither first centers nor a solver.

    Parameters
    ----------
    recipe : Recipe
        With limits or without.
    sketch : Problem
        The rows of the sketch.
    finalists : sequence of Clustering
        Partitions of these rows without limits.
    run : Run
        Told of every pass. If it is stopped, the first start still gets one pass.
    """
    limits = recipe.limits
    if limits is None:
        return list(finalists)
    best = finalists[first_of_lowest([one.inertia for one in finalists])]
    if limits.hold(best.mass):
        return [one for one in finalists if limits.hold(one.mass)]
    whole = _Course(sketch, limits, max(MIN_GAIN, recipe.approach.inertia_tol), "limited")
    starts = {0: best.centers}
    if _may_seed(recipe, sketch):
        race = _open_race(recipe, whole)
        for index in range(1, N_STARTS):
            stream = open_stream(recipe.key, LIMITED_SIZES, index)
            starts[index] = seed_centers("k-means++", race.rows, recipe.n_clusters, stream)
        found = _run_all(recipe, race, starts, run)
        order = sorted(found, key=lambda index: (found[index].inertia, index))
        starts = {index: found[index].centers for index in order[:N_FINALISTS]}
    return list(_run_all(recipe, whole, starts, run).values())


def _may_seed(recipe: Recipe, sketch: Problem) -> bool:
    chosen = not isinstance(recipe.init, str) or recipe.own_solver is not None
    rows = sketch.source
    work = rows.shape[0] * recipe.n_clusters
    return not chosen and not rows.sparse and sketch.weights is None and work <= MAX_WORK


def _open_race(recipe: Recipe, whole: _Course) -> _Course:
    """Return rows on which starts compete, with limits in proportion, rounded outwards."""
    n_rows = whole.rows.source.shape[0]
    n_some = max(MIN_RACE_ROWS, RACE_ROWS_PER_CLUSTER * recipe.n_clusters)
    some = draw_subsample(whole.rows, n_some if 2 * n_some <= n_rows else 0, recipe.key)
    if some is None:
        return _Course(whole.rows, whole.limits, RACE_GAIN, "race")
    share = n_some / n_rows
    low, high = math.floor(whole.limits.minimum * share), math.ceil(whole.limits.maximum * share)
    return _Course(some, SizeLimits(low, high), RACE_GAIN, "race")


def _run_all(
    recipe: Recipe, course: _Course, starts: dict[int, Floats], run: Run
) -> dict[int, Clustering]:
    """Run passes from all starts, or until the run is stopped; the first gets one at least."""
    found: dict[int, Clustering] = {}
    for index, centers in starts.items():
        if found and run.monitor.stopped:
            break
        # A search of its own for each, because prices of one start are no start for another.
        search = LimitedSearch(course.rows, course.limits)
        max_iter = 1 if run.monitor.stopped else recipe.max_iter
        with run.monitor.step("cluster", max_iter, index):
            found[index] = run_to_plateau(
                course.rows,
                centers,
                run,
                f"{course.name}-{index}",
                max_iter=max_iter,
                inertia_tol=course.min_gain,
                tol=recipe.tol * course.rows.mean_variance,
                search=search,
            )
    return found
