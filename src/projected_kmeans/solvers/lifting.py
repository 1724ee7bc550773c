"""LIFT: the centers and the inertia, in the original space, of partitions found on the sketch.

One pass over the rows serves all partitions; it does not change any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from projected_kmeans.blocks.row_arrays import (
    apply_to_entries,
    find_first_rows,
    have_equal_entries,
)
from projected_kmeans.blocks.tasks import OnBlock
from projected_kmeans.passes.cluster_sums import ClusterSums, KeptSums, SomeMoments, is_kept
from projected_kmeans.passes.clusterwise_sums import RowReferences
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels, Lifted
from projected_kmeans.solvers.restarts import ROUNDING, first_of_lowest
from projected_kmeans.solvers.sum_references import are_far


def lift(
    problem: Problem, sketched: Sequence[Clustering], on_block: OnBlock = lambda done: None
) -> list[Clustering]:
    """Return the same partitions with their means and their inertia on the original rows.

    Sums are taken about the first row of each cluster, so that one pass suffices and no digits
    are lost to a common offset. A cluster without rows gets the center of the cluster whose
    sketched center is nearest to its own.

    The kernel sees the clusters of all partitions as those of one partition, to which every row is
    added once per partition. Sparse rows are lifted in one pass per partition, because dense
    centers of several partitions may take more memory than the rows.

    Parameters
    ----------
    problem : Problem
        The original rows.
    sketched : sequence of Clustering
        Partitions of these rows, with centers on the sketch.
    on_block : callable, optional
        Called with the number of rows done, over all passes.
    """
    if problem.source.sparse:
        n_rows = problem.source.shape[0]
        return [_lift_sparse(problem, one, on_block, i * n_rows) for i, one in enumerate(sketched)]
    return lift_together(problem, sketched, on_block).partitions


class LiftedTogether(NamedTuple):
    """Partitions lifted in one pass, the sums of their clusters, and which of these are whose."""

    partitions: list[Clustering]
    sums: ClusterSums
    clusters: list[slice]


def lift_together(
    problem: Problem, sketched: Sequence[Clustering], on_block: OnBlock
) -> LiftedTogether:
    """Return partitions of dense rows lifted."""
    n_clusters = [len(one.mass) for one in sketched]
    starts = np.concatenate([[0], np.cumsum(n_clusters)])
    partitions = [
        apply_to_entries(partial(np.add, np.int32(start)), one.labels) if start else one.labels
        for one, start in zip(sketched, starts, strict=False)
    ]
    references = np.concatenate(
        [choose_references(problem, one.labels, len(one.mass)) for one in sketched]
    )
    sums = problem.open_sums(references)
    problem.source.walk(sums.adding_repeated(partitions), on_block=on_block)
    moments = sums.moments(last=not is_kept(max(n_clusters), references.shape[1]))
    assert isinstance(moments, Moments)
    errors = moments.errors
    parts = [slice(start, start + k) for start, k in zip(starts, n_clusters, strict=False)]
    found = [
        replace(
            moments,
            references=moments.references[part],
            mass=moments.mass[part],
            offsets=moments.offsets[part],
            squares=moments.squares[part],
            errors=None if errors is None else errors[:, part],
            lost=moments.lost,
        )
        for part in parts
    ]
    # The sums of all partitions together may be accurate and those of one of them not.
    own = [
        part if part.accurate else problem.sum(one.labels, part.references)
        for one, part in zip(sketched, found, strict=True)
    ]
    lifted = [_describe(part, one) for one, part in zip(sketched, own, strict=True)]
    return LiftedTogether(lifted, sums, parts)


def lift_lowest(
    problem: Problem,
    sketched: Sequence[Clustering],
    on_block: OnBlock = lambda done: None,
    kept: KeptSums | None = None,
) -> Lifted:
    """Return the partition with the lowest inertia on the original rows, sketched and lifted.

    Of equal partitions, perhaps with other numbers for the clusters, only the first is lifted,
    because all have the same inertia to the bit. Of sparse rows only the lowest partition is kept.

    Parameters
    ----------
    problem, sketched, on_block
        As in `lift`.
    kept : KeptSums, optional
        Overwritten by the sums of the partition, if they are small.
    """
    distinct = _drop_repeated(sketched)
    if not problem.source.sparse:
        lifted, sums, parts = lift_together(problem, distinct, on_block)
        winner = first_of_lowest([one.inertia for one in lifted])
        if kept is not None:
            labels = distinct[winner].labels
            known = partial(sums.of_some, parts[winner], labels)
            kept.sums = sum_for_polishing(problem, labels, len(distinct[winner].mass), known)
        return Lifted(distinct[winner], lifted[winner])
    n_rows, left = problem.source.shape[0], list[Lifted]()
    for index, one in enumerate(distinct):
        left.append(Lifted(one, _lift_sparse(problem, one, on_block, index * n_rows)))
        # Those that are equal up to rounding stay, because the first of them wins in the end.
        lowest = min(one.original.inertia for one in left)
        left = [one for one in left if one.original.inertia * (1 - ROUNDING) <= lowest]
    if kept is not None:
        labels = left[0].sketched.labels
        kept.sums = sum_for_polishing(problem, labels, len(left[0].sketched.mass))
    return left[0]


def sum_for_polishing(
    problem: Problem,
    labels: Labels,
    n_clusters: int,
    find: Callable[[], ClusterSums | None] = lambda: None,
) -> ClusterSums | None:
    """Return the sums that polishing goes on from; None if it is to open sums about the means.

    They depend on the partition alone: a fit that goes on after lifting has the same.

    Parameters
    ----------
    problem : Problem
        The original rows.
    labels : ndarray of int32 (n,)
        Their partition.
    n_clusters : int
        k.
    find : callable, optional
        Returns the sums about the first row of each cluster if they are known; else None, and they
        are summed.
    """
    if not is_kept(n_clusters, problem.source.shape[1]):
        return None
    sums = find()
    if sums is None:
        sums = problem.open_sums(choose_references(problem, labels, n_clusters))
        sums.update(labels)
    moments = sums.moments()
    return None if are_far(sums, moments) else sums


def _lift_sparse(
    problem: Problem, sketched: Clustering, on_block: OnBlock, done: int
) -> Clustering:
    """Return one partition of sparse rows lifted."""
    first = find_first_rows(sketched.labels, len(sketched.mass))
    sums = problem.open_sums(RowReferences(problem.source, first))
    problem.source.walk(sums.adding(sketched.labels), on_block=lambda rows: on_block(done + rows))
    return _describe(sums.moments(), sketched)


def _drop_repeated(sketched: Sequence[Clustering]) -> list[Clustering]:
    """Return the partitions that differ, the first of equal ones."""
    distinct, numbered = [sketched[0]], list[Labels]()
    for one in sketched[1:]:
        numbered = numbered or [_number_by_first_row(sketched[0])]
        labels = _number_by_first_row(one)
        if not any(have_equal_entries(labels, other) for other in numbered):
            distinct.append(one)
            numbered.append(labels)
    return distinct


def _number_by_first_row(found: Clustering) -> Labels:
    """Return labels of the same partition whose clusters are numbered as they first appear."""
    n_clusters = len(found.mass)
    rank = np.empty(n_clusters, np.int32)
    first = find_first_rows(found.labels, n_clusters)
    rank[np.argsort(first, kind="stable")] = np.arange(n_clusters, dtype=np.int32)
    numbered: Labels = apply_to_entries(partial(np.take, rank), found.labels)
    return numbered


def choose_references(problem: Problem, labels: Labels, n_clusters: int) -> Floats:
    """Return the first row of each cluster; the first of all rows for a cluster without rows."""
    return problem.source.take(find_first_rows(labels, n_clusters))


def describe_labels(problem: Problem, labels: Labels, n_clusters: int) -> Clustering:
    """Return a partition with its means and its inertia, from its labels alone."""
    references = choose_references(problem, labels, n_clusters)
    return problem.sum(labels, references).describe(labels)


def _describe(moments: SomeMoments, sketched: Clustering) -> Clustering:
    lifted = moments.describe(sketched.labels)
    centers = lifted.centers
    filled = np.flatnonzero(sketched.mass > 0)
    for cluster in np.flatnonzero(sketched.mass <= 0):
        gaps = np.sum((sketched.centers[filled] - sketched.centers[cluster]) ** 2, axis=1)
        centers[cluster] = centers[filled[np.argmin(gaps)]]
    return replace(lifted, centers=centers)
