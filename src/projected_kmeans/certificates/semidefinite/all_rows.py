"""All rows: one part if they are few, else disjoint parts whose bounds are added.

Restricting a clustering to some of the rows cannot raise its inertia, if every cluster gets the
mean of its remaining rows as center. So the minimum inertia of all rows is at least the sum of the
minimum inertias of disjoint parts, and the sum of bounds of parts is a bound for all rows. A part
that was not reached in time counts as 0: the sum is certain whenever the work stops.

Rounding. `math.fsum` rounds the exact sum of the bounds once; the result is lowered by more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.certificates.proof_rows import ROUNDING
from projected_kmeans.certificates.semidefinite.dealing import deal_rows
from projected_kmeans.certificates.semidefinite.part import prove_part
from projected_kmeans.certificates.semidefinite.part_results import PartEffort
from projected_kmeans.results import Floats
from projected_kmeans.running.deadlines import Deadline, OutOfTime

# Up to so many rows are one part: with cuts, and without. More rows are dealt over parts of at most
# PART_ROWS rows, which cost about a second each, and lose about 0.2 % to the deal.
MAX_ROWS_WITH_CUTS = 1000
MAX_ROWS_AT_ONCE = 2048
PART_ROWS = 1000

WITH_CUTS = PartEffort(cuts=True, max_steps=600, goal=1 + 1e-6)
WITHOUT_CUTS = PartEffort(max_steps=60, round=False)


@dataclass(frozen=True)
class AllRowsProof:
    """What was proven for all rows.

    Attributes
    ----------
    bound : float
        No clustering of all rows into at most k clusters has a smaller inertia.
    part_rows : int
        Rows of the largest part; 0 if all rows are one part.
    deal_ratio : float
        The smallest ratio that these parts can prove for the clustering given; 1.0 for one part.
    n_parts, n_proven : int
        The number of parts, and of those that were reached in time.
    """

    bound: float
    part_rows: int
    deal_ratio: float
    n_parts: int
    n_proven: int


def prove_all_rows(
    rows: Any,
    n_clusters: int,
    labels: NDArray[np.integer[Any]],
    *,
    weights: Floats | None,
    key: int,
    deadline: Deadline,
    on_part: Callable[[], bool],
) -> AllRowsProof:
    """Return a certain bound for all rows.

    Parameters
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept.
    n_clusters : int
        k.
    labels : ndarray of int (n,)
        A clustering of the rows, which parts mirror and searches start from.
    weights : ndarray of float64 (n,) or None
        All above 0; None counts every row once.
    key : int
        Fixes the deal.
    deadline : Deadline
        When to stop.
    on_part : callable
        Called after every part; the work stops if it returns true.
    """
    n_rows = rows.shape[0]
    if n_rows <= MAX_ROWS_AT_ONCE:
        effort = WITH_CUTS if n_rows <= MAX_ROWS_WITH_CUTS else WITHOUT_CUTS
        whole = prove_part(
            rows, n_clusters, labels, weights=weights, effort=effort, deadline=deadline
        )
        on_part()
        return AllRowsProof(whole.bound, 0, 1.0, 1, 1)
    n_parts = -(-n_rows // PART_ROWS)
    try:
        deal = deal_rows(rows, labels, n_parts, weights=weights, key=key, check=deadline.check)
    except OutOfTime:
        return AllRowsProof(0.0, PART_ROWS, 1.0, n_parts, 0)
    bounds: list[float] = []
    for part in deal.parts:
        if deadline.is_over:
            break
        own = np.unique(labels[part], return_inverse=True)[1]
        some = None if weights is None else weights[part]
        found = prove_part(
            rows[part], n_clusters, own, weights=some, effort=WITHOUT_CUTS, deadline=deadline
        )
        bounds.append(found.bound)
        if on_part():
            break
    total = max(0.0, math.fsum(bounds) * (1 - 4 * ROUNDING))
    largest = max(len(part) for part in deal.parts)
    return AllRowsProof(total, largest, deal.ratio, n_parts, len(bounds))
