"""LIFT: the centers and the inertia, in the original space, of partitions found on the sketch.

One pass over the rows serves all partitions; it does not change any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.tasks import OnBlock
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats


def lift(
    problem: Problem,
    sketched: Sequence[Clustering],
    on_block: OnBlock = lambda done: None,
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
    if problem.source.sparse and len(sketched) > 1:
        n_rows = problem.source.shape[0]

        def lift_one(index: int) -> Clustering:
            return lift(problem, [sketched[index]], lambda rows: on_block(index * n_rows + rows))[0]

        return [lift_one(index) for index in range(len(sketched))]
    n_clusters = [len(one.mass) for one in sketched]
    starts = np.concatenate([[0], np.cumsum(n_clusters)])
    partitions = [
        one.labels + np.int32(start) for one, start in zip(sketched, starts, strict=False)
    ]
    references = np.concatenate([_references(problem, one) for one in sketched])
    sums = problem.open_sums(references, times=len(sketched))
    problem.source.walk(sums.adding_repeated(partitions), on_block=on_block)
    moments = sums.moments()
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
    return [_describe(part, one) for one, part in zip(sketched, own, strict=True)]


def _references(problem: Problem, sketched: Clustering) -> Floats:
    clusters, first = np.unique(sketched.labels, return_index=True)
    rows = np.zeros(len(sketched.mass), dtype=np.int64)
    rows[clusters] = first
    return problem.source.take(rows)


def _describe(moments: Moments, sketched: Clustering) -> Clustering:
    lifted = moments.describe(sketched.labels)
    centers = lifted.centers
    filled = np.flatnonzero(sketched.mass > 0)
    for cluster in np.flatnonzero(sketched.mass <= 0):
        gaps = np.sum((sketched.centers[filled] - sketched.centers[cluster]) ** 2, axis=1)
        centers[cluster] = centers[filled[np.argmin(gaps)]]
    return replace(lifted, centers=centers)
