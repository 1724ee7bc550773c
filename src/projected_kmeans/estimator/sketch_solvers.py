"""CLUSTER: solvers that get the sketch as a whole and return one partition of it.

The paper's gamma-approximations by name, and solvers of the caller, all through one door: a
function from the sketch to a partition. None of them starts from first centers, so ``init`` has no
effect.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.prover import EFFORTS
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, polish
from projected_kmeans.choices import SKETCH_SOLVERS
from projected_kmeans.keys import SOLVER, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.search.approach import choose_approach
from projected_kmeans.search.levels import first_of_lowest, search_sketch
from projected_kmeans.search.own_solvers import run_own_solver
from projected_kmeans.search.paper_solvers import (
    MAX_ROWS,
    find_optimum,
    solve_by_samples,
    solve_orss06,
)
from projected_kmeans.search.recipe import Recipe, SketchSolver
from projected_kmeans.search.settings import Settings, Sizes
from projected_kmeans.search.settling import describe_labels


def open_solver(settings: Settings, recipe: Recipe) -> SketchSolver | None:
    """Return the solver that clusters the sketch as a whole; None for the search."""
    if isinstance(settings.solver, str) and settings.solver not in SKETCH_SOLVERS:
        return None
    n_times = 1 if isinstance(settings.n_init, str) else int(settings.n_init)
    return partial(_solve, recipe, n_times)


def _solve(recipe: Recipe, n_times: int, sketch: Problem, run: Run) -> Clustering:
    """Run a solver as often as ``n_init`` says; return the lowest inertia.

    A run of the solver is one unit of work: a callback, a time budget and Ctrl-C are asked between
    two of them, and a checkpoint stores each.
    """
    is_exact = recipe.own_solver is None and recipe.solver_name == "exact"
    if is_exact and sketch.source.shape[0] > MAX_ROWS:
        return _prove_optimum(recipe, sketch, run)
    ended: list[Clustering] = []
    for index in range(n_times):
        known = run.recall(f"solved-{index}", Clustering, sketch.sizes(recipe.n_clusters))
        if known is None:
            with run.monitor.step("cluster", n_times, index):
                known = _solve_once(recipe, sketch, index)
                run.monitor.report(index + 1, known.inertia)
            run.keep(f"solved-{index}", known)
        ended.append(known)
        if run.monitor.stopped:
            break
    return ended[first_of_lowest([each.inertia for each in ended])]


def _solve_once(recipe: Recipe, sketch: Problem, index: int) -> Clustering:
    k, stream = recipe.n_clusters, open_stream(recipe.key, SOLVER, index)
    if recipe.own_solver is not None:
        # The key itself is the first seed, so that a caller can run the solver by hand.
        seed = (recipe.key + index) % 2**32
        rows = sketch.source.select()
        labels = run_own_solver(recipe.own_solver, rows, k, seed, sketch.weights)
        ended = describe_labels(sketch, labels, k)
        return replace(ended, n_iter=1, history=(ended.inertia,), converged=True)
    if recipe.solver_name == "orss06":
        return solve_orss06(sketch, k, stream)
    if recipe.solver_name == "kss04":
        return solve_by_samples(sketch, k, stream, max_iter=recipe.max_iter)
    ended = find_optimum(sketch, k)
    return replace(
        ended, n_iter=1, history=(ended.inertia,), converged=True, settled=True, gamma=1.0
    )


def _prove_optimum(recipe: Recipe, sketch: Problem, run: Run) -> Clustering:
    """Cluster as well as the search can, and prove by the semidefinite bound how well.

    The proof may find better labels, which are then taken. ``gamma`` of the result is what is
    proven; nothing may be, if the run is stopped before.
    """
    k = recipe.n_clusters
    settings = Settings(k, projection=None, tol=0.0)
    approach = choose_approach(settings, Sizes.of(sketch.source, k))
    free = replace(recipe, solve=None, projection=None, init="k-means++", limits=None)
    best = search_sketch(free, approach, sketch, sketch, Run(run.monitor))
    if run.monitor.stopped:
        return best
    bound = bound_inertia(
        sketch.source.select(),
        sketch.weights,
        k,
        effort=EFFORTS["semidefinite"],
        key=recipe.key,
        monitor=run.monitor,
        labels=np.asarray(best.labels),
        inertia=best.inertia + best.inertia_error,
        n_threads=recipe.n_threads,
        memory=recipe.memory.left_bytes,
    )
    labels = bound.better_labels
    if labels is not None and len(np.unique(labels)) == k:
        better = polish(sketch, describe(sketch, labels))
        if better.inertia < best.inertia:
            history = (*best.history, better.inertia)
            best = replace(better, n_iter=best.n_iter, history=history)
    proven = Certificate.of(best.inertia, best.inertia_error, bound)
    return replace(best, gamma=proven.ratio if proven.certain else None, converged=True)
