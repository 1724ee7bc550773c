"""CLUSTER, POLISH: which rows go to clusters that a pass of Lloyd's method left empty.

Chooses rows; Lloyd's method moves them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.row_arrays import take_entries
from projected_kmeans.passes.cluster_sums import SomeMoments
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# A cluster has no spread if its squared distances to its mean are below this share of those to its
# center: so small a rest is rounding.
SPREAD = 1e-13

# Rows that are listed for each empty cluster at first. Some of them may not leave their clusters.
MIN_LISTED = 16


def choose_refills(
    problem: Problem, moments: SomeMoments, centers: Floats, labels: Labels
) -> tuple[NDArray[np.int64], Labels]:
    """Return a row for each cluster without weight, in ascending order, and these clusters.

    The rows farthest from their centers are taken first. A row may only leave a cluster that has
    some spread and keeps other rows, and no two of the rows are equal, so that the inertia falls.
    If there are too few distinct rows, some clusters stay empty.
    """
    empty = np.flatnonzero(moments.mass <= 0)
    weights = problem.weights
    mass = moments.mass.copy()
    spread = moments.cluster_inertia > SPREAD * moments.squares
    chosen: list[int] = []
    given: list[Floats] = []
    for row, home in _list_farthest(problem, centers, labels, len(empty)):
        if len(given) == len(empty):
            break
        weight = 1.0 if weights is None else weights[row]
        if not spread[home] or mass[home] - weight <= 0:
            continue
        values = problem.source.take(np.array([row]))[0]
        if any(np.array_equal(values, other) for other in given):
            continue
        mass[home] -= weight
        chosen.append(row)
        given.append(values)
    rows = np.array(chosen, dtype=np.int64)
    order = np.argsort(rows)
    return rows[order], empty[: len(rows)][order].astype(np.int32)


def _list_farthest(
    problem: Problem, centers: Floats, labels: Labels, n_wanted: int
) -> Iterator[tuple[int, int]]:
    """Yield rows with weight and their labels, those farthest from their centers first.

    Rows equal to their centers are left out. Some rows are listed by one walk, and more only if
    these do not suffice.
    """
    n_rows, n_done = problem.source.shape[0], 0
    n_listed = MIN_LISTED * n_wanted
    while n_done < n_rows:
        listed = problem.list_farthest(centers, labels, min(n_listed, n_rows))[n_done:]
        rows = listed["row"][listed["key"] < 0]
        yield from zip(rows.tolist(), take_entries(labels, rows).tolist(), strict=True)
        if len(rows) < len(listed):
            return
        n_done, n_listed = n_done + len(listed), 8 * n_listed
