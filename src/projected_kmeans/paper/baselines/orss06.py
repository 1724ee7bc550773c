"""The seeding of Ostrovsky, Rabani, Schulman and Swamy (2006), with its ball step.

Returns first centers; the caller runs Lloyd's method from them.
"""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.utils import check_array

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import as_native
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_count
from projected_kmeans.keys import RandomState, open_stream, resolve_key
from projected_kmeans.paper.streams import ORSS06
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.search.seeding import seed_centers


def place_orss06(X: ArrayLike, n_clusters: int, random_state: RandomState = None) -> Floats:
    """Return first centers: sampled rows, each moved to the mean of the rows in its ball.

    The radius of a center's ball is a third of the distance to the nearest other center. If k
    clusters fit the data much better than k - 1, Lloyd's method is near the optimum after one step
    from these centers. ``ProjectedKMeans(init="orss06")`` does the same in the sketch, and
    ``ProjectedKMeans(solver="orss06")`` adds that one step.

    Parameters
    ----------
    X : array-like (n, d)
        Rows.
    n_clusters : int
        k, at most n.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the draws.

    Returns
    -------
    ndarray of float64 (k, d)
        The first centers.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import place_orss06
    >>> X = np.array([[0.0], [1.0], [2.0], [90.0], [91.0], [92.0]])
    >>> np.sort(place_orss06(X, 2, random_state=0).ravel())
    array([ 1., 91.])
    """
    rows = as_native(check_array(X, dtype="numeric", ensure_all_finite=False))
    check_count("n_clusters", n_clusters, most=("n_samples", len(rows)))
    source = ArrayBlocks(rows)
    problem = Problem(source, scan_columns(source))
    stream = open_stream(resolve_key(random_state), ORSS06)
    return seed_centers("orss06", problem, n_clusters, stream)
