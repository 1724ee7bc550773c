"""LIFT, POLISH: labels of the nearest centers, for a partition whose last pass moved its centers.

A pass of Lloyd's method labels rows and then moves the centers to the means. If the method ends
before nothing changes any more, because of ``max_iter``, a tolerance, a limit of time or because
it compared rows with a few centers only, some rows are nearer to another of the moved centers. One
more assignment gives every row its nearest center, as scikit-learn's KMeans does. The centers stay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import ChangedEntries, put_entries
from projected_kmeans.passes.assignment import Search
from projected_kmeans.passes.polish_search import PolishSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.total_inertia import weigh_centers
from projected_kmeans.results import Clustering
from projected_kmeans.solvers.empty_clusters import choose_refills

# How often clusters that lose all their rows get others, each time with one more pass.
MAX_REFILLS = 2


def settle_labels(problem: Problem, found: Clustering, search: Search | None = None) -> Clustering:
    """Return a partition in which every row has the label that ``predict`` gives it.

    That is the nearest center, in the precision in which a model stores centers, and of equally
    near ones the lowest. The inertia is that about these centers, so that ``score`` of the rows
    agrees with it. It is not above the inertia that was found, up to the rounding of the centers.

    Parameters
    ----------
    problem : Problem
        The rows.
    found : Clustering
        A partition of these rows and its centers.
    search : Search, optional
        What finds the nearest of all centers; by default all distances are measured.
    """
    dtype, in_memory = compute_type(problem.source.dtype), problem.source.resident
    # Where no label changes, the inertia about means is right up to the square of their rounding.
    # A center of length one is no mean: there the rounding itself counts, and rows are summed anew.
    keeps_inertia = not problem.spherical
    if keeps_inertia and isinstance(search, PolishSearch):
        rounding = 0.0 if dtype == np.float64 else float(np.finfo(dtype).eps) / 2
        if search.proves(found.centers, found.labels, rounding):
            return replace(found, settled=True)
    centers = found.centers.astype(dtype).astype(np.float64)
    labels = found.labels.copy()
    sums, changed = problem.open_sums(centers), ChangedEntries(labels, found.labels)
    adding = sums.adding(labels)
    # Rows that are read from elsewhere are read once, and summed even if no label changes.
    then = [changed.task] if in_memory else [adding, changed.task]
    if search is None:
        problem.label(centers, labels, then)
    else:
        search.assign(centers, labels, keep_ties=False, then=then)
    if keeps_inertia and not changed:
        return replace(found, settled=True)
    if in_memory:
        problem.source.walk(adding)
    moments = sums.about_references()
    return replace(
        found,
        labels=labels,
        centers=centers,
        mass=moments.mass,
        center_weights=weigh_centers(moments),
        inertia=moments.inertia_about_references,
        inertia_error=moments.error_about_references,
        settled=True,
    )


def settle_and_fill(
    problem: Problem, found: Clustering, search: Search | None = None
) -> Clustering:
    """Return the same as `settle_labels`, with rows for clusters that lost all of theirs.

    That happens if rows met a few centers only before, and two centers had come to the same place.
    """
    settled = settle_labels(problem, found, search)
    for _ in range(MAX_REFILLS):
        if settled.mass.min() > 0 or found.mass.min() <= 0:
            break
        settled = settle_labels(problem, _fill_empty(problem, settled, search), search)
    return settled


def _fill_empty(problem: Problem, settled: Clustering, search: Search | None) -> Clustering:
    """Return a partition in which empty clusters have rows, and its means."""
    sums = problem.open_sums(settled.centers)
    moments = sums.update(settled.labels)
    rows, targets = choose_refills(problem, moments, settled.centers, settled.labels)
    labels = settled.labels.copy()
    put_entries(labels, rows, targets)
    if search is not None:
        search.rows_reassigned(rows, targets)
    filled = sums.update(labels, settled.labels).describe(labels)
    return replace(
        filled, n_iter=settled.n_iter, converged=settled.converged, history=settled.history
    )
