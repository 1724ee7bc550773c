"""CLUSTER, POLISH: the points that sums over clusters are about, so that they lose no digits."""

from __future__ import annotations

import numpy as np

from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.passes.cluster_sums import ClusterSums, SomeMoments
from projected_kmeans.results import Floats

# The first sums are about points whose entries are at most this many times the largest of the rows.
FAR = 2**10


def limit_references(centers: Floats, ranges: ColumnRanges) -> Floats:
    """Return first centers, or points nearer to the rows.

    Means lie among the rows. First centers that the caller gave may be so far away that sums about
    them would have no digits left for the rows.
    """
    reach = FAR * max(-float(ranges.minimum.min()), float(ranges.maximum.max()))
    return np.minimum(np.maximum(centers, -reach), reach) if reach > 0 else centers


def are_far(sums: ClusterSums, moments: SomeMoments | None) -> bool:
    """Return whether means have come so far from the references that sums lose digits.

    Moments have other references than the sums if the rows had to be summed again.
    """
    if moments is None:
        return False
    return moments.references is not sums.references or moments.loses_bits
