"""How small and how large clusters may be, in rows or in weight."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from projected_kmeans.results import Floats

# Limits of weight are compared with sums of weights, which are rounded.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SizeLimits:
    """The smallest and the largest size of a cluster: a number of rows, or a weight."""

    minimum: float
    maximum: float

    def hold(self, mass: Floats) -> bool:
        """Return whether sizes of clusters are within the limits, up to rounding of sums."""
        low, high = self.minimum * (1 - ROUNDING), self.maximum * (1 + ROUNDING)
        return bool(np.all(mass >= low) and np.all(mass <= high))

    def scale(self, share: float) -> SizeLimits:
        """Return the limits of a sample that is such a share of all rows, rounded outwards."""
        return SizeLimits(math.floor(self.minimum * share), math.ceil(self.maximum * share))


def resolve_limits(
    minimum: float | None,
    maximum: float | None,
    *,
    balanced: bool,
    n_clusters: int,
    n_rows: int,
    weights: Floats | None,
) -> SizeLimits | None:
    """Return the limits that a caller asked for; None if there are none.

    Raise one sentence if no partition can keep them. Without weights the test is exact. With
    weights it is not, because to fill clusters with heavy rows is a packing problem. If
    ``balanced``, sizes are as equal as they can be: they differ by at most one row, or by at most
    twice the weight of the heaviest row.
    """
    if minimum is None and maximum is None and not balanced:
        return None
    if weights is None:
        if balanced:
            return SizeLimits(n_rows // n_clusters, -(-n_rows // n_clusters))
        total, heaviest, word = float(n_rows), 1.0, "rows,"
        high = n_rows if maximum is None else min(n_rows, math.floor(maximum))
        limits = SizeLimits(max(1, math.ceil(minimum or 0)), high)  # every cluster has a row
    else:
        total, heaviest, word = math.fsum(weights), float(np.max(weights)), "weight,"
        if balanced:
            even = total / n_clusters
            return SizeLimits(max(0.0, even - heaviest), even + heaviest)
        limits = SizeLimits(minimum or 0.0, total if maximum is None else float(maximum))
    if limits.minimum * n_clusters > total * (1 + ROUNDING):
        raise ValueError(
            f"n_clusters={n_clusters} with min_cluster_size={limits.minimum:g} need more than all "
            f"{word} {total:g} in total; use at most {total / n_clusters:g}"
        )
    if limits.maximum * n_clusters < total * (1 - ROUNDING):
        raise ValueError(
            f"n_clusters={n_clusters} with max_cluster_size={limits.maximum:g} have no room for "
            f"all {word} {total:g} in total; use at least {total / n_clusters:g}"
        )
    if heaviest > limits.maximum:
        raise ValueError(
            f"max_cluster_size={limits.maximum:g} is below the weight {heaviest:g} of a single "
            "row; use a larger limit, or split the row into several of smaller weight"
        )
    return limits
