"""CLUSTER, LIFT, POLISH: the steps after the rows are reduced.

Calls the solvers; every choice is made already and stands in the recipe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.choices import SKETCH_SOLVERS
from projected_kmeans.fit.first_centers import FirstCenters, sketch_for_seeding
from projected_kmeans.fit.sketch_solvers import solve_sketch
from projected_kmeans.passes.assignment import Search
from projected_kmeans.passes.bounded_search import NearestSearch
from projected_kmeans.passes.candidate_search import (
    Candidates,
    CandidateSearch,
    list_candidates,
)
from projected_kmeans.passes.center_graph import find_neighbours
from projected_kmeans.passes.cluster_sums import ClusterSums, KeptSums
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.listed_search import CenterLists, ListedSearch
from projected_kmeans.passes.polish_search import PolishSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.pruned_search import PrunedSearch, is_moderate, is_worthwhile
from projected_kmeans.passes.stored_partitions import is_partition
from projected_kmeans.passes.tails import FAR_PART, MIN_TAIL_SHARE, TAIL_ROWS, measure_tail
from projected_kmeans.planning.approach import MIN_POLISH_GAIN, plan_tails
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
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.scouting import Scouts
from projected_kmeans.solvers.settling import settle_and_fill, settle_labels
from projected_kmeans.solvers.single_restart import Effort


def watch_tails(recipe: Recipe, sketch: Problem, monitor: Monitor) -> Recipe:
    """Return the recipe for the tails that the rows have, if it wants to know about them."""
    if not recipe.approach.watches_tails:
        return recipe
    share = measure_tail(draw_subsample(sketch, TAIL_ROWS, recipe.key) or sketch)
    heavy = share >= MIN_TAIL_SHARE
    if heavy:
        monitor.note(
            "cluster: the farthest 1 / %d of the rows hold %.0f %% of the sum of squares, so all "
            "rows are searched by swaps of centers",
            FAR_PART,
            100 * share,
        )
    return adapt_recipe(recipe, heavy)


def adapt_recipe(recipe: Recipe, has_tails: bool) -> Recipe:
    """Return the recipe for rows with or without heavy tails."""
    return replace(recipe, approach=plan_tails(recipe.approach)) if has_tails else recipe


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


def polish_partition(
    recipe: Recipe,
    original: Problem,
    sketch: Problem,
    lifted: Lifted,
    run: Run,
    kept: KeptSums | None = None,
) -> Clustering:
    """Run a few passes of Lloyd's method in the original space.

    A pass looks at all centers, or only at the centers nearest to each row in the sketch. In the
    end rows get the labels of their nearest centers. If rows were projected and there was no pass,
    also because the fit was stopped, labels stay: they are the paper's partition. Those of a solver
    of the caller stay too, because it may have aimed at something else, and so do labels within
    limits of the sizes of clusters. ``kept`` holds what lifting left there;
    without it, rows are summed again, to the same bits.
    """
    approach, start = recipe.approach, lifted.original
    if approach.polish_iter > 0 and not run.monitor.stopped:
        if kept is None and sketch is not original:
            kept = KeptSums(sum_for_polishing(original, start.labels, len(start.mass)))
        return _polish(recipe, original, sketch, lifted, run, kept or KeptSums())
    keeps_labels = recipe.limits is not None or (
        recipe.own_solver is not None and approach.polish_iter == 0
    )
    return start if sketch is not original or keeps_labels else settle_labels(original, start)


def _polish(
    recipe: Recipe, original: Problem, sketch: Problem, lifted: Lifted, run: Run, kept: KeptSums
) -> Clustering:
    approach, start = recipe.approach, lifted.original
    source = original.source
    search: LimitedSearch | ListedSearch | CandidateSearch | NearestSearch | PolishSearch
    pass_bytes = source.stored_row_bytes * source.shape[0]
    sketched, n_candidates = lifted.sketched, approach.polish_candidates
    max_iter, tol = approach.polish_iter, approach.inertia_tol
    if sketched.scattered and not source.sparse:  # sparse rows have a list each
        n_candidates = min(approach.wide_candidates, recipe.n_clusters)
    if approach.extra_polish and (sketched.cells is None or sketched.scattered):
        max_iter += approach.extra_polish
        tol = max(tol, MIN_POLISH_GAIN)
    with run.monitor.step("polish", max_iter, unit_bytes=pass_bytes):
        if recipe.limits is not None:
            search = LimitedSearch(original, recipe.limits)
        elif n_candidates:
            search = _open_search(n_candidates, original, sketch, sketched)
        else:
            search = _open_full_search(original, start)
        found = run_to_plateau(
            original,
            start.centers,
            run,
            "polish",
            max_iter=max_iter,
            inertia_tol=tol,
            start=start,
            search=search,
            # Centers ahead of the means have no length of one, and no prices for limits of sizes.
            momentum=0.0 if original.spherical or recipe.limits else approach.momentum,
            kept=kept,
        )
        if recipe.limits is None:
            found = _settle(original, found, search, run.monitor, kept.sums)
    if not isinstance(search, LimitedSearch):
        run.monitor.note(
            "polish: %d distances in %d columns; full passes would take %d a row",
            search.n_distances,
            source.shape[1],
            recipe.n_clusters,
        )
    return found


def _settle(
    original: Problem,
    found: Clustering,
    polished: Search,
    monitor: Monitor,
    sums: ClusterSums | None,
) -> Clustering:
    """Give every row the label of its nearest center.

    Passes that looked at all centers know which rows need no look. After other passes, bounds tell
    where that saves work.
    """
    if isinstance(polished, NearestSearch | PolishSearch):
        return settle_and_fill(original, found, polished, sums)
    source, search = original.source, None
    n_clusters, (n_rows, n_columns) = len(found.mass), source.shape
    if not source.sparse and is_worthwhile(n_rows, n_clusters, n_columns):
        search = PrunedSearch(original) if is_moderate(original.ranges) else None
    found = settle_and_fill(original, found, search, sums)
    if search is not None:
        monitor.note(
            "labels: the nearest of all centers by %d distances in %d columns; a full pass would "
            "take %d a row",
            search.n_distances,
            n_columns,
            n_clusters,
        )
    return found


def _open_full_search(original: Problem, start: Clustering) -> NearestSearch | PolishSearch:
    """Return what finds the nearest of all centers.

    Many centers are in groups, and each row keeps a bound for every group. Otherwise each row keeps
    one bound for all of them.
    """
    typical = math.sqrt(start.inertia / float(start.mass.sum()))
    search = NearestSearch(original, len(start.mass), typical)
    return search if search.keeps_bounds else PolishSearch(original)


def _open_search(
    n_candidates: int, original: Problem, sketch: Problem, sketched: Clustering
) -> ListedSearch | CandidateSearch:
    """Return what finds the nearest of a few centers that are near in the sketch.

    If clusters were found in cells, these are the centers around a row's cluster, else those around
    the row itself. Sparse rows have a list each in both cases.
    """
    if sketched.cells is None:
        return CandidateSearch(original, list_candidates(sketch, sketched, n_candidates))
    frame = Frame.around(sketched.centers, compute_type(sketch.source.dtype), sketch.ranges)
    near = find_neighbours(frame, sketched.cells, n_candidates, sketch.n_threads)
    if original.source.sparse:
        narrow = len(near) <= _native.MAX_NARROW_CENTERS
        lists: Candidates = near.astype(np.uint16) if narrow else near
        return CandidateSearch(original, lists[np.asarray(sketched.labels)])
    return ListedSearch(original, CenterLists.of_rows(near))
