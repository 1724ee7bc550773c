"""The least inertia within limits of sizes, from prices that nearly keep them.

At any prices, rows that choose for themselves are assigned optimally for the sizes that result.
What is left is to move a few rows. A move of a row from cluster a to cluster b costs the difference
of its two distances; the cheapest moves between all pairs of clusters make a graph with k nodes.
Rows too many travel over shortest paths of this graph to clusters with too few. Prices change with
the lengths of the paths, so that every row stays with the cluster that is cheapest for it
(successive shortest paths). The result is therefore optimal, up to the rounding of the distances.

One more node, the hub, stands for the freedom of sizes: a path over it lets one cluster keep a row
more, or another one do with a row less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.passes.cluster_prices import Choice, rank_gaps, target_sizes
from projected_kmeans.passes.size_limits import SizeLimits

# First only rows with small gaps take part: 16 of each cluster, and twice those in the wrong place.
# Then all rows do.
ROWS_PER_CLUSTER, ROWS_PER_WRONG = 16, 2


def repair_sizes(distances: NDArray[Any], choice: Choice, limits: SizeLimits) -> Choice:
    """Return the assignment of least inertia within limits, for rows without weights.

    Distances (n, k) are squared. Limits are in whole rows, and can be kept. ``choice`` is what rows
    choose at some prices. The prices of the result prove that no labels within the limits have less
    inertia. If rows were moved, its gaps, seconds and value are still those of the prices before.
    """
    k = distances.shape[1]
    if not choice.excess.any():
        return choice
    prices, labels = choice.prices.copy(), choice.labels.copy()
    sizes = np.bincount(labels, minlength=k)
    # The size that each cluster shall have so far, and what nodes have above it. The last node is
    # the hub.
    wanted = target_sizes(prices, sizes.astype(np.float64), limits).astype(np.int64)
    excess = np.append(sizes - wanted, 0)
    excess[k] = -np.sum(excess)
    n_taking_part = ROWS_PER_CLUSTER + ROWS_PER_WRONG * np.abs(choice.excess).astype(np.int64)
    near = np.where(n_taking_part < sizes, rank_gaps(choice, n_taking_part), np.inf)
    # Rows move whose gaps are within reach. The other rows of a cluster stay where they are as long
    # as its price has not risen by more than their smallest gap, compared with any other price.
    # Rows stop moving before that.
    for reaches in (near, np.full(k, np.inf)):
        rows = np.flatnonzero(choice.gaps <= reaches[labels])
        moved = labels[rows].astype(np.int32)
        part = distances if len(rows) == len(distances) else distances[rows]
        low, high = int(limits.minimum), int(limits.maximum)
        _native.repair_sizes(part, reaches, low, high, moved, prices, wanted, excess)
        labels[rows] = moved
        if not excess.any():
            break
    return replace(choice, prices=prices, labels=labels, excess=np.zeros(k))
