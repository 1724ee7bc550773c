"""POLISH: a few passes in the original space, and the labels of the nearest centers in the end."""

from __future__ import annotations

import math

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
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
from projected_kmeans.planning.approach import MIN_POLISH_GAIN
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.projections.spectral import SpectralProjection
from projected_kmeans.results import Clustering, Lifted
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.lifting import sum_for_polishing
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.settling import settle_and_fill, settle_labels

# Polishing is longer, and among more centers, if rows are scattered and the sketch loses more than
# this share of the variance. It loses .61 to .63 of word and token vectors, and .87 of noise.
MAX_LOST_VARIANCE = 0.5


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
    scattered = sketched.scattered and _says_little(recipe.projection)
    if scattered and not source.sparse:  # sparse rows have a list each
        n_candidates = min(approach.wide_candidates, recipe.n_clusters)
    if approach.extra_polish and (sketched.cells is None or scattered):
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


def _says_little(learnt: object) -> bool:
    """Return whether a sketch keeps less than half of the variance, so that polishing gains more.

    Digits keep .86 of it: long polishing ends .1 % lower there, for twice the time of the fit.
    """
    return isinstance(learnt, SpectralProjection) and learnt.lost_variance_ > MAX_LOST_VARIANCE


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
