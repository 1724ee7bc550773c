"""LIFT, POLISH: centers of labels on the original rows, and in the end labels of nearest centers.

A pass of Lloyd's method labels rows and then moves the centers to the means. If the method ends
before nothing changes any more, because of a tolerance, a limit of time or because it compared rows
with near centers only, some rows are nearer to another of the moved centers. One more assignment
gives every row its nearest center, as scikit-learn's KMeans does. The centers stay, unless moving
them to the means would still gain: then they move, and rows are labelled again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from projected_kmeans.blocks.row_arrays import ChangedEntries, find_first_rows
from projected_kmeans.blocks.tasks import OnBlock
from projected_kmeans.passes.moments import TOLERANCE, Moments, weigh_centers
from projected_kmeans.passes.nearest import NearestSearch, Search
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.sums import MAX_KEPT, ClusterSums, RowReferences
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.search.lloyd import are_far, as_stored, choose_refills

# How often clusters that lose all their rows get others, each time with one more pass.
MAX_REFILLS = 2

# Centers move to the means, and rows are labelled again, while that gains this share.
MIN_GAIN, MAX_ROUNDS = 5e-4, 8


def settle(
    problem: Problem,
    found: Clustering,
    run: Run,
    *,
    search: Search | None = None,
    sums: ClusterSums | None = None,
    settled_at: Floats | None = None,
    moves: bool = True,
    done: int = 0,
) -> Clustering:
    """Return a partition in which every row has the label that ``predict`` gives it.

    With ``moves``, a further step of means and labels gains next to nothing. ``search`` has made
    the last pass, if that saw all centers, and ``sums`` are those over the partition, if known.
    Labels are those of ``predict`` already if the centers ``settled_at`` are given.
    """
    search = search or NearestSearch(problem, len(found.mass), rules_out=True)
    is_filled = bool(found.mass.min() > 0)
    for index in range(MAX_ROUNDS if moves else 1):
        settled = _settle_once(problem, found, search, sums, settled_at)
        settled_at = None
        if not moves or run.monitor.stopped or settled.moments is None:
            break
        if index and run.monitor.report(done + index, settled.found.inertia):
            break
        before, after = settled.found.inertia, settled.moments.inertia
        if index + 1 == MAX_ROUNDS or not before - after > MIN_GAIN * before:
            break
        sums = settled.sums
        found = replace(
            settled.moments.describe(settled.found.labels),
            n_iter=found.n_iter,
            converged=found.converged,
            history=found.history,
        )
    if is_filled and settled.found.mass.min() <= 0:
        return _fill_lost(problem, settled.found, search)
    return settled.found


class _Settled(NamedTuple):
    """A partition with the labels of its nearest centers; its sums, if rows were summed."""

    found: Clustering
    moments: Moments | None = None
    sums: ClusterSums | None = None


def settle_labels(
    problem: Problem, found: Clustering, search: Search | None = None, *, at_means: bool = True
) -> Clustering:
    """Return a partition in which every row has the label of its nearest center.

    That is the nearest center in the precision in which a model stores centers, and of equally near
    ones the lowest. The inertia is that about these centers, so that ``score`` of the rows agrees
    with it. It is not above the inertia that was found, up to the rounding of the centers.
    ``at_means`` says whether the centers are the means of the partition.
    """
    search = search or NearestSearch(problem, len(found.mass), rules_out=True)
    return _settle_once(problem, found, search, None, at_means=at_means).found


def _settle_once(
    problem: Problem,
    found: Clustering,
    search: Search,
    sums: ClusterSums | None,
    settled_at: Floats | None = None,
    *,
    at_means: bool = True,
) -> _Settled:
    if settled_at is not None and sums is not None:
        if found.settled:  # no label changed in the last pass
            return _Settled(found)
        return _describe_settled(problem, found, sums, settled_at, found.labels)
    in_memory = problem.source.resident
    # Where no label changes, the inertia about means is right up to the square of their rounding.
    # A center of length one is no mean: there the rounding itself counts, and rows are summed anew.
    keeps_inertia = at_means and not problem.spherical
    centers = as_stored(problem, found.centers)
    labels = found.labels.copy()
    changed = ChangedEntries(labels, found.labels)
    sums = None if problem.spherical else sums
    before = None if sums is None else found.labels
    # Rows that are read from elsewhere are read once, and summed even if no label changes. Others
    # are summed in the end, when the search has given back its memory.
    then = [changed.task]
    if not in_memory:
        sums = sums or problem.open_sums(centers)
        then.insert(0, sums.adding(labels, before))
    search.assign(centers, labels, keep_ties=False, then=then)
    if keeps_inertia and not changed:
        return _Settled(replace(found, settled=True))
    if in_memory:
        sums = sums or problem.open_sums(centers)
        problem.source.walk(sums.adding(labels, before))
    assert sums is not None
    return _describe_settled(problem, found, sums, centers, labels)


def _describe_settled(
    problem: Problem, found: Clustering, sums: ClusterSums, centers: Floats, labels: Labels
) -> _Settled:
    """Return labels of the nearest centers with the inertia about these, from sums over them.

    Rows are summed again if the sums are too far from the centers to tell it.
    """
    moments = sums.moments()
    if moments.references is centers:
        inertia, error = moments.inertia_about_references, moments.error_about_references
    else:
        inertia, error = moments.inertia_about(centers)
    if not error <= TOLERANCE * inertia:
        anew = problem.open_sums(centers)
        problem.source.walk(anew.adding(labels))
        moments = anew.about_references()
        inertia, error = moments.inertia_about_references, moments.error_about_references
    settled = replace(
        found,
        labels=labels,
        centers=centers,
        mass=moments.mass,
        center_weights=weigh_centers(moments),
        inertia=inertia,
        inertia_error=error,
        settled=True,
    )
    return _Settled(settled, moments, sums if moments.references is sums.references else None)


def _fill_lost(problem: Problem, settled: Clustering, search: Search) -> Clustering:
    """Return the same partition, with rows for clusters that lost all of theirs.

    That happens if rows met a few centers only before, and two centers had come to the same place.
    """
    for _ in range(MAX_REFILLS):
        if settled.mass.min() > 0:
            break
        search.restart()
        filled = _fill_empty(problem, settled)
        settled = settle_labels(problem, filled, search, at_means=False)
    return settled


def _fill_empty(problem: Problem, settled: Clustering) -> Clustering:
    """Return a partition in which empty clusters have rows; clusters that changed are at means."""
    sums = problem.open_sums(settled.centers)
    moments = sums.update(settled.labels)
    rows, targets = choose_refills(problem, moments, settled.centers, settled.labels)
    labels = settled.labels.copy()
    labels[rows] = targets
    filled = sums.update(labels, settled.labels).describe(labels)
    changed = filled.mass != settled.mass
    centers = np.where(changed[:, None], filled.centers, settled.centers)
    return replace(
        filled,
        centers=centers,
        n_iter=settled.n_iter,
        converged=settled.converged,
        history=settled.history,
    )


class Lift(NamedTuple):
    """A partition of the original rows, with what is known of it where that takes little memory."""

    found: Clustering
    sums: ClusterSums | None
    moments: Moments | None


def lift_labels(
    problem: Problem, sketched: Clustering, on_block: OnBlock = lambda done: None
) -> Lift:
    """Return the same partition with its means and its inertia on the original rows.

    Sums are taken about the first row of each cluster, so that one pass suffices and no digits are
    lost to a common offset. A cluster without rows gets the center of the cluster whose sketched
    center is nearest to its own.
    """
    first = find_first_rows(sketched.labels, len(sketched.mass))
    # Dense points of many clusters of sparse rows may take more memory than the rows.
    wide = problem.source.sparse and len(first) * problem.source.shape[1] >= MAX_KEPT
    references = RowReferences(problem.source, first) if wide else problem.source.take(first)
    sums = problem.open_sums(references)
    problem.source.walk(sums.adding(sketched.labels), on_block=on_block)
    moments = sums.moments()
    lifted = moments.describe(sketched.labels)
    centers, filled = lifted.centers, np.flatnonzero(sketched.mass > 0)
    for cluster in np.flatnonzero(sketched.mass <= 0):
        gaps = np.sum((sketched.centers[filled] - sketched.centers[cluster]) ** 2, axis=1)
        centers[cluster] = centers[filled[np.argmin(gaps)]]
    kept = sums if sums.is_small and not are_far(sums, moments) else None
    return Lift(replace(lifted, centers=centers), kept, moments if wide or kept else None)


def describe_labels(problem: Problem, labels: Labels, n_clusters: int) -> Clustering:
    """Return a partition with its means and its inertia, from its labels alone."""
    references = problem.source.take(find_first_rows(labels, n_clusters))
    return problem.sum(labels, references).describe(labels)
