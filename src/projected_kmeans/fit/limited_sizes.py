"""CLUSTER with limits of cluster sizes: passes on the sketch from several first centers.

A pass of Lloyd's method then assigns all rows together, by `LimitedSearch`. Everything else, from
exact sums to checkpoints, is as without limits. A partition found without limits that keeps them is
the answer. Otherwise its centers are one start among several, because limits must divide large
groups and join small ones, and where passes end depends on the start by a percent or more. Passes
begin on a subsample; several starts compete there if rows and clusters are few, see
`planning.size_race`. In the end centers are swapped, one at a time, as long as that gains.
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
from projected_kmeans.planning.size_race import (
    N_FINALISTS,
    N_STARTS,
    count_race_rows,
    count_starts,
)
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.limited_swaps import swap_one_center
from projected_kmeans.solvers.restarts import draw_subsample, first_of_lowest
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.seeding import seed_centers

# Passes end when one lowers the inertia by less than this share, unless the caller fixes another.
MIN_GAIN = 1e-5

# The same for starts that compete: the last digits of a subsample say nothing about all rows.
RACE_GAIN = 2e-4

# Swaps of centers at most. They end with the first that does not lower the inertia.
MAX_SWAPS = 4


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

    Passes begin on a subsample, and further starts are seeded, if the caller has chosen neither
    first centers nor a solver.

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
    starts, may_seed = {0: best.centers}, _may_seed(recipe, sketch)
    if may_seed:
        race, n_starts = _open_race(recipe, whole), count_starts(len(best.labels), len(best.mass))
        for index in range(1, n_starts):
            stream = open_stream(recipe.key, LIMITED_SIZES, index)
            starts[index] = seed_centers("k-means++", race.rows, recipe.n_clusters, stream)
        found = _run_all(recipe, race, starts, run)
        order = sorted(found, key=lambda index: (found[index].inertia, index))
        starts = {index: found[index].centers for index in order[:N_FINALISTS]}
    ended = list(_run_all(recipe, whole, starts, run).values())
    return _swap_centers(recipe, whole, ended, run) if may_seed else ended


def _swap_centers(
    recipe: Recipe, whole: _Course, ended: list[Clustering], run: Run
) -> list[Clustering]:
    """Return the partitions, the best of them improved by swaps of centers while these gain."""
    lowest = first_of_lowest([one.inertia for one in ended])
    best, others = ended[lowest], [*ended[:lowest], *ended[lowest + 1 :]]
    for swap in range(MAX_SWAPS):
        path = recipe.key, LIMITED_SIZES, 0, swap
        centers = None if run.monitor.stopped else swap_one_center(whole.rows, best, path)
        if centers is None:
            break
        (found,) = _run_all(recipe, whole, {N_STARTS + swap: centers}, run).values()
        if not found.inertia < best.inertia:
            break
        best = found
    return [best, *others]


def _may_seed(recipe: Recipe, sketch: Problem) -> bool:
    drawn = isinstance(recipe.init, str) and recipe.own_solver is None
    return drawn and not sketch.source.sparse and sketch.weights is None


def _open_race(recipe: Recipe, whole: _Course) -> _Course:
    """Return rows on which starts compete, with limits in proportion, rounded outwards."""
    n_rows = whole.rows.source.shape[0]
    n_some = count_race_rows(n_rows, recipe.n_clusters)
    some = draw_subsample(whole.rows, n_some, recipe.key)
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
