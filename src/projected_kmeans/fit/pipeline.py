"""CLUSTER, LIFT, POLISH: the steps after the rows are reduced.

Calls the solvers; every choice is made already and stands in the recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from projected_kmeans.fit.first_centers import FirstCenters, sketch_for_seeding
from projected_kmeans.passes.candidate_search import CandidateSearch, list_candidates
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import is_partition
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Clustering, Lifted
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.lifting import lift
from projected_kmeans.solvers.restarts import draw_subsample, first_of_lowest, run_restarts
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.settling import settle_labels
from projected_kmeans.solvers.single_restart import Effort


def cluster_sketch(
    recipe: Recipe, original: Problem, sketch: Problem, run: Run
) -> list[Clustering]:
    """Run the solver from several first centers; return the partitions of the finalists."""
    approach = recipe.approach
    effort = Effort(
        solver=approach.solver,
        key=recipe.key,
        max_iter=recipe.max_iter,
        tol=0.0 if approach.solver == "hartigan" else recipe.tol * sketch.mean_variance,
        inertia_tol=approach.inertia_tol,
        min_breathing_gain=approach.min_breathing_gain,
    )
    sample = draw_subsample(sketch, approach.subsample_rows, recipe.key)
    measured = sample or sketch_for_seeding(recipe, sketch, run.monitor)
    first = FirstCenters(recipe, original, sample or sketch, measured)
    return run_restarts(sketch, recipe.n_clusters, approach.n_init, first.draw, effort, run, sample)


def lift_partition(
    original: Problem, sketch: Problem, finalists: Sequence[Clustering], run: Run
) -> Lifted:
    """Return the finalist with the lowest inertia in the original space, and its centers there."""
    if sketch is original:
        return _choose_lowest(finalists, finalists)
    known = run.recall("lifted", Lifted, partial(_fits, original, sketch, len(finalists[0].mass)))
    if known is not None:
        return known
    lifted = _choose_lowest(finalists, _lift(original, finalists, run.monitor))
    run.keep("lifted", lifted)
    return lifted


def _fits(original: Problem, sketch: Problem, n_clusters: int, found: Lifted) -> bool:
    """Return whether partitions that were stored can be those of these rows."""
    return is_partition(found.sketched, sketch.source.shape, n_clusters) and is_partition(
        found.original, original.source.shape, n_clusters
    )


def _lift(original: Problem, finalists: Sequence[Clustering], monitor: Monitor) -> list[Clustering]:
    n_walks = len(finalists) if original.source.sparse else 1
    total = n_walks * original.source.shape[0]
    with monitor.step("lift", total, unit_bytes=original.source.stored_row_bytes):
        lifted = lift(original, finalists, lambda done: done < total and monitor.report(done))
        monitor.report(total, min(one.inertia for one in lifted))
        return lifted


def _choose_lowest(sketched: Sequence[Clustering], lifted: Sequence[Clustering]) -> Lifted:
    winner = first_of_lowest([one.inertia for one in lifted])
    return Lifted(sketched[winner], lifted[winner])


def polish_partition(
    recipe: Recipe, original: Problem, sketch: Problem, lifted: Lifted, run: Run
) -> Clustering:
    """Run a few passes of Lloyd's method in the original space.

    A pass looks at all centers, or only at the centers nearest to each row in the sketch. If
    nothing was projected, rows then get the labels of their nearest centers.
    """
    found = _polish(recipe, original, sketch, lifted, run)
    return settle_labels(original, found) if sketch is original else found


def _polish(
    recipe: Recipe, original: Problem, sketch: Problem, lifted: Lifted, run: Run
) -> Clustering:
    approach, start = recipe.approach, lifted.original
    if approach.polish_iter == 0 or run.monitor.stopped:
        return start
    source, search = original.source, None
    pass_bytes = source.stored_row_bytes * source.shape[0]
    with run.monitor.step("polish", approach.polish_iter, unit_bytes=pass_bytes):
        if approach.polish_candidates:
            lists = list_candidates(sketch, lifted.sketched, approach.polish_candidates)
            search = CandidateSearch(original, lists)
        found = run_to_plateau(
            original,
            start.centers,
            run,
            "polish",
            max_iter=approach.polish_iter,
            inertia_tol=approach.inertia_tol,
            start=start,
            search=search,
        )
    if search is not None:
        run.monitor.note(
            "polish: %d distances in %d columns, %d in full passes; lists: %d in %d columns",
            search.n_distances,
            source.shape[1],
            search.n_distances // lists.shape[1] * recipe.n_clusters,
            source.shape[0] * recipe.n_clusters,
            sketch.source.shape[1],
        )
    return found
