"""CLUSTER, LIFT: the steps after the rows are reduced.

Calls the solvers; every choice is made already and stands in the recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from projected_kmeans.choices import SKETCH_SOLVERS
from projected_kmeans.fit.first_centers import FirstCenters, sketch_for_seeding
from projected_kmeans.fit.reduction import Reduced
from projected_kmeans.fit.sketch_solvers import solve_sketch
from projected_kmeans.passes.cluster_sums import KeptSums
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import is_partition
from projected_kmeans.passes.tails import FAR_PART, MIN_TAIL_SHARE, TAIL_ROWS, measure_tail
from projected_kmeans.planning.approach import plan_tails
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.planning.settings import OWN_SOLVER
from projected_kmeans.results import Clustering, Lifted
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.cell_search import search_cells
from projected_kmeans.solvers.lifting import lift_lowest, sum_for_polishing
from projected_kmeans.solvers.restarts import (
    FINALISTS,
    draw_subsample,
    first_of_lowest,
    run_restarts,
)
from projected_kmeans.solvers.scouting import Scouts
from projected_kmeans.solvers.single_restart import Effort


def watch_tails(recipe: Recipe, reduced: Reduced, monitor: Monitor) -> tuple[Recipe, Reduced]:
    """Return the recipe for the tails that the rows have, and the rows that it clusters.

    These are the sketch, or the original rows if the recipe leaves the sketch for heavy tails.
    """
    original, sketch = reduced
    if not recipe.approach.watches_tails:
        return recipe, reduced
    share = measure_tail(draw_subsample(sketch, TAIL_ROWS, recipe.key) or sketch)
    if share < MIN_TAIL_SHARE:
        return recipe, reduced
    recipe = adapt_recipe(recipe, original.source.shape[1], True)
    monitor.note(
        "cluster: the farthest 1 / %d of the rows hold %.0f %% of the sum of squares, so all "
        "rows are searched by swaps of centers%s",
        FAR_PART,
        100 * share,
        "" if recipe.projection is not None else " in the original space",
    )
    return recipe, reduced if recipe.projection is not None else Reduced(original, original)


def adapt_recipe(recipe: Recipe, n_columns: int, has_tails: bool) -> Recipe:
    """Return the recipe for rows with or without heavy tails, if it is not that already."""
    if not has_tails or recipe.approach.has_tails:
        return recipe
    approach = plan_tails(recipe.approach, n_columns)
    kept = None if approach.projection is None else recipe.projection
    return replace(recipe, approach=approach, projection=kept)


def cluster_sketch(
    recipe: Recipe, original: Problem, sketch: Problem, run: Run
) -> list[Clustering]:
    """Run the solver from several first centers; return the partitions of the finalists.

    A solver that gets the sketch as a whole returns one partition.
    """
    approach = recipe.approach
    if approach.solver in (*SKETCH_SOLVERS, OWN_SOLVER):
        return [solve_sketch(recipe, sketch, run)]
    effort = Effort(
        solver=approach.solver,
        key=recipe.key,
        max_iter=recipe.max_iter,
        tol=0.0 if approach.solver == "hartigan" else recipe.tol * sketch.mean_variance,
        inertia_tol=approach.inertia_tol,
        min_breathing_gain=approach.min_breathing_gain,
        momentum=approach.momentum,
        # On a sketch, inertias tell only roughly which restart wins in the original space.
        n_finalists=1 if sketch is original else FINALISTS,
    )
    if approach.solver == "cells":
        return [_search_cells(recipe, sketch, effort, run)]
    if approach.scouts:
        scouts = Scouts(sketch, recipe.n_clusters, approach.n_init, recipe.max_iter, recipe.key)
        return run_restarts(sketch, recipe.n_clusters, 1, scouts.find_centers, effort, run)
    sample = draw_subsample(sketch, approach.subsample_rows, recipe.key)
    measured = sample or sketch_for_seeding(recipe, sketch, run.monitor)
    first = FirstCenters(recipe, original, sample or sketch, measured)
    return run_restarts(sketch, recipe.n_clusters, approach.n_init, first.draw, effort, run, sample)


def _search_cells(recipe: Recipe, sketch: Problem, effort: Effort, run: Run) -> Clustering:
    """Return the best partition of all restarts of the solver "cells", by inertia on the sketch."""
    approach, best = recipe.approach, None
    for restart in range(approach.n_init):
        if best is not None and run.monitor.stopped:
            break
        n_held = approach.subsample_rows
        found = search_cells(sketch, recipe.n_clusters, n_held, effort, run, restart)
        if best is None or found.inertia < best.inertia:
            best = found
    assert best is not None
    return best


def lift_partition(
    original: Problem,
    sketch: Problem,
    finalists: Sequence[Clustering],
    run: Run,
    kept: KeptSums | None = None,
) -> Lifted:
    """Return the finalist with the lowest inertia in the original space, and its centers there.

    Its sums are left in ``kept``, if polishing can go on from them.
    """
    if sketch is original:
        lowest = finalists[first_of_lowest([one.inertia for one in finalists])]
        return Lifted(lowest, lowest)
    known = run.recall("lifted", Lifted, partial(_fits, original, sketch, len(finalists[0].mass)))
    if known is not None:
        if kept is not None:
            kept.sums = sum_for_polishing(original, known.original.labels, len(known.original.mass))
        return known
    lifted = _lift(original, finalists, run.monitor, kept)
    run.keep("lifted", lifted)
    return lifted


def _fits(original: Problem, sketch: Problem, n_clusters: int, found: Lifted) -> bool:
    """Return whether partitions that were stored can be those of these rows."""
    return is_partition(found.sketched, sketch.source.shape, n_clusters) and is_partition(
        found.original, original.source.shape, n_clusters
    )


def _lift(
    original: Problem, finalists: Sequence[Clustering], monitor: Monitor, kept: KeptSums | None
) -> Lifted:
    n_walks = len(finalists) if original.source.sparse else 1
    total = n_walks * original.source.shape[0]
    with monitor.step("lift", total, unit_bytes=original.source.stored_row_bytes):
        lifted = lift_lowest(
            original, finalists, lambda done: done < total and monitor.report(done), kept
        )
        monitor.report(total, lifted.original.inertia)
        return lifted
