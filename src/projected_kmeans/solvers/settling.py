"""LIFT, POLISH: labels of the nearest centers, for a partition whose last pass moved its centers.

A pass of Lloyd's method labels rows and then moves the centers to the means. If the method ends
before nothing changes any more, because of ``max_iter``, a tolerance, a limit of time or because
it compared rows with a few centers only, some rows are nearer to another of the moved centers. One
more assignment gives every row its nearest center, as scikit-learn's KMeans does. The centers stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.row_arrays import ChangedEntries, put_entries, take_entries
from projected_kmeans.blocks.tasks import Task
from projected_kmeans.passes.assignment import NOTHING, Search
from projected_kmeans.passes.cluster_sums import ClusterSums, SomeMoments
from projected_kmeans.passes.cluster_totals import TOLERANCE
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.polish_search import PolishSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.pruned_search import PrunedSearch
from projected_kmeans.passes.total_inertia import weigh_centers
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.solvers.empty_clusters import choose_refills

# How often clusters that lose all their rows get others, each time with one more pass.
MAX_REFILLS = 2


def settle_labels(
    problem: Problem,
    found: Clustering,
    search: Search | None = None,
    sums: ClusterSums | None = None,
    *,
    at_means: bool = True,
) -> Clustering:
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
    sums : ClusterSums, optional
        The sums over the partition, if they are known. Only rows that move are then summed.
    at_means : bool, default=True
        Whether the centers are the means of the partition, so that its inertia is about them.
    """
    dtype, in_memory = compute_type(problem.source.dtype), problem.source.resident
    # Where no label changes, the inertia about means is right up to the square of their rounding.
    # A center of length one is no mean: there the rounding itself counts, and rows are summed anew.
    keeps_inertia = at_means and not problem.spherical
    if keeps_inertia and isinstance(search, PolishSearch):
        rounding = 0.0 if dtype == np.float64 else float(np.finfo(dtype).eps) / 2
        if search.proves(found.centers, found.labels, rounding):
            return replace(found, settled=True)
    centers = found.centers.astype(dtype).astype(np.float64)
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
    if search is None:
        problem.label(centers, labels, then)
    else:
        search.assign(centers, labels, keep_ties=False, then=then)
    if keeps_inertia and not changed:
        return replace(found, settled=True)
    if in_memory:
        sums = sums or problem.open_sums(centers)
        problem.source.walk(sums.adding(labels, before))
    assert sums is not None
    moments, inertia, error = _measure_about(problem, sums, centers, labels)
    return replace(
        found,
        labels=labels,
        centers=centers,
        mass=moments.mass,
        center_weights=weigh_centers(moments),
        inertia=inertia,
        inertia_error=error,
        settled=True,
    )


def _measure_about(
    problem: Problem, sums: ClusterSums, centers: Floats, labels: Labels
) -> tuple[SomeMoments, float, float]:
    """Return sums, the inertia about the centers and its error; rows are summed again if need be.

    Parameters
    ----------
    problem : Problem
        The rows.
    sums : ClusterSums
        Their sums, about the centers or about other points.
    centers : ndarray of float64 (k, columns)
        The centers.
    labels : ndarray of int32 (n,)
        The labels that the rows were summed for.
    """
    if sums.references is not centers:
        moments = sums.moments()
        if isinstance(moments, Moments):
            inertia, error = moments.inertia_about(centers)
            if error <= TOLERANCE * inertia:
                return moments, inertia, error
        sums = problem.open_sums(centers)
        problem.source.walk(sums.adding(labels))
    moments = sums.about_references()
    return moments, moments.inertia_about_references, moments.error_about_references


def settle_and_fill(
    problem: Problem,
    found: Clustering,
    search: Search | None = None,
    sums: ClusterSums | None = None,
) -> Clustering:
    """Return the same as `settle_labels`, with rows for clusters that lost all of theirs.

    That happens if rows met a few centers only before, and two centers had come to the same place.
    """
    settled = settle_labels(problem, found, search, sums)
    for _ in range(MAX_REFILLS):
        if settled.mass.min() > 0 or found.mass.min() <= 0:
            break
        filled, changed = _fill_empty(problem, settled, search)
        again = search
        if isinstance(search, PrunedSearch) and problem.source.resident:
            again = ChangedCenters(problem, changed)
        settled = settle_labels(problem, filled, again, at_means=False)
    return settled


def _fill_empty(
    problem: Problem, settled: Clustering, search: Search | None
) -> tuple[Clustering, NDArray[np.int64]]:
    """Return a partition in which empty clusters have rows, and the clusters that changed.

    These have other centers, their means.
    """
    sums = problem.open_sums(settled.centers)
    moments = sums.update(settled.labels)
    rows, targets = choose_refills(problem, moments, settled.centers, settled.labels)
    changed = np.unique(np.concatenate([take_entries(settled.labels, rows), targets]))
    labels, centers = settled.labels.copy(), settled.centers.copy()
    put_entries(labels, rows, targets)
    if search is not None:
        search.rows_reassigned(rows, targets)
    filled = sums.update(labels, settled.labels).describe(labels)
    centers[changed] = filled.centers[changed]
    return replace(
        filled,
        centers=centers,
        n_iter=settled.n_iter,
        converged=settled.converged,
        history=settled.history,
    ), changed.astype(np.int64)


class ChangedCenters:
    """Finds the nearest of all centers, if labels were those before a few centers changed.

    Rows of a changed cluster meet all centers. All other rows meet their own center and the changed
    ones. A `Search`.

    Parameters
    ----------
    problem : Problem
        Dense rows in memory.
    changed : ndarray of int64
        The centers that changed.
    """

    def __init__(self, problem: Problem, changed: NDArray[np.int64]) -> None:
        self.remembered = NOTHING
        self._problem, self._changed = problem, changed

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest of all centers; of equally near ones the lowest wins."""
        problem, changed = self._problem, self._changed
        rows = np.flatnonzero(np.isin(labels, changed))
        some = replace(problem, source=ArrayBlocks(problem.source.select(rows)), weights=None)
        found: Labels = np.zeros(len(rows), np.int32)
        some.label(centers, found)
        groups = labels.copy()
        groups[rows], labels[:] = -1, -1  # labels of -1, because the present center wins no tie
        known = set(changed.tolist())
        lists = [[j] if j in known else [j, *known] for j in range(len(centers))]
        joined = CenterLists.join([np.array(one) for one in lists])
        assign_listed(problem, centers, joined, labels, groups, measured=False)
        labels[rows] = found
        problem.source.walk(*then)

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Do nothing, because nothing is remembered."""
