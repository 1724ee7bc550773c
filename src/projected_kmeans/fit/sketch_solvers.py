"""CLUSTER: solvers that get the sketch as a whole and return one partition of it.

The paper's gamma-approximations by name, and solvers of the caller. None of them starts from first
centers, so ``init`` has no effect.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.certificates.efforts import EFFORTS
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, polish
from projected_kmeans.keys import SEEDING, SOLVER, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.exact import MAX_ROWS, find_optimum
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.solvers.kss04 import solve_by_samples
from projected_kmeans.solvers.lifting import describe_labels
from projected_kmeans.solvers.orss06 import solve_orss06
from projected_kmeans.solvers.own_solvers import run_own_solver
from projected_kmeans.solvers.restarts import FINALISTS, first_of_lowest, run_restarts
from projected_kmeans.solvers.seeding import seed_centers
from projected_kmeans.solvers.single_restart import Effort, Restart


def solve_sketch(recipe: Recipe, sketch: Problem, run: Run) -> Clustering:
    """Run the solver of a recipe as often as its ``n_init`` says; return the lowest inertia.

    A run of the solver is one unit of work: a callback, a time budget and Ctrl-C are asked between
    two of them, and a checkpoint stores each.

    Parameters
    ----------
    recipe : Recipe
        Its approach names the solver, or it has one of the caller.
    sketch : Problem
        The rows of the sketch.
    run : Run
        Told of every run of the solver.
    """
    if recipe.approach.solver == "exact" and sketch.source.shape[0] > MAX_ROWS:
        return _prove_optimum(recipe, sketch, run)
    found: list[Clustering] = []
    for index in range(recipe.approach.n_init):
        found.append(_solve_once(recipe, sketch, run, index))
        if run.monitor.stopped:
            break
    return found[first_of_lowest([one.inertia for one in found])]


def _solve_once(recipe: Recipe, sketch: Problem, run: Run, index: int) -> Clustering:
    """Return what one run of the solver finds, or what an earlier run of the fit has stored."""
    shape, k = sketch.source.shape, recipe.n_clusters
    fits = partial(Restart.fits, index=index, shape=shape, n_clusters=k)
    known = run.recall(f"solved-{index}", Restart, fits)
    if known is not None:
        return known.clustering
    with run.monitor.step("cluster", recipe.approach.n_init, index):
        found = _solve(recipe, sketch, index)
        run.monitor.report(index + 1, found.inertia)
    run.keep(f"solved-{index}", Restart.pack(index, found))
    return found


def _solve(recipe: Recipe, sketch: Problem, index: int) -> Clustering:
    k, stream = recipe.n_clusters, open_stream(recipe.key, SOLVER, index)
    if recipe.own_solver is not None:
        # The key itself is the first seed, so that a caller can run the solver by hand.
        seed = (recipe.key + index) % 2**32
        rows = sketch.source.select()
        labels = run_own_solver(recipe.own_solver, rows, k, seed, sketch.weights)
        found = describe_labels(sketch, labels, k)
        return replace(found, n_iter=1, history=(found.inertia,), converged=True)
    if recipe.approach.solver == "orss06":
        return solve_orss06(sketch, k, stream)
    if recipe.approach.solver == "kss04":
        return solve_by_samples(sketch, k, stream, max_iter=recipe.max_iter)
    found = find_optimum(sketch, k)
    return replace(
        found, n_iter=1, history=(found.inertia,), converged=True, settled=True, gamma=1.0
    )


def _prove_optimum(recipe: Recipe, sketch: Problem, run: Run) -> Clustering:
    """Cluster as well as the local search can, and prove by the semidefinite bound how well.

    The proof may find better labels, which are then taken. ``gamma`` of the result is what is
    proven; nothing may be, if the run is stopped before.
    """
    k, best = recipe.n_clusters, _search_locally(recipe, sketch, run)
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
    if bound.better_labels is not None:
        best = _take_better(sketch, best, bound.better_labels)
    proven = Certificate.of(best.inertia, best.inertia_error, bound)
    return replace(best, gamma=proven.ratio if proven.certain else None, converged=True)


def _search_locally(recipe: Recipe, sketch: Problem, run: Run) -> Clustering:
    """Return the best of a few restarts with breathing."""

    def seed(restart: int, on_center: OnCenter) -> Floats:
        stream = open_stream(recipe.key, SEEDING, restart)
        return seed_centers("k-means++", sketch, recipe.n_clusters, stream, on_center)

    effort = Effort(
        solver="breathing",
        key=recipe.key,
        max_iter=recipe.max_iter,
        tol=recipe.tol * sketch.mean_variance,
        inertia_tol=0.0,
    )
    found = run_restarts(sketch, recipe.n_clusters, FINALISTS, seed, effort, run)
    return found[first_of_lowest([one.inertia for one in found])]


def _take_better(sketch: Problem, best: Clustering, labels: Labels) -> Clustering:
    """Return the clustering of labels that a proof has found, if it is better with k clusters."""
    if len(np.unique(labels)) != len(best.mass):
        return best
    found = polish(sketch, describe(sketch, labels))
    if not found.inertia < best.inertia:
        return best
    return replace(found, n_iter=best.n_iter, history=(*best.history, found.inertia))
