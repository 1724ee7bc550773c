"""The optimum of k-means for at most 15 rows, with which approximations are compared.

Checks an array and opens it as a problem; the search itself is `solvers.exact`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_count
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.search.paper_solvers import find_optimum


def solve_exactly(X: ArrayLike, n_clusters: int) -> Clustering:
    """Return a partition into at most k clusters with the minimum inertia.

    Parameters
    ----------
    X : array-like (n, d)
        At most 15 rows.
    n_clusters : int
        k, at most n.

    Returns
    -------
    Clustering
        The optimum. Clusters are empty if fewer than k reach the same inertia.

    Examples
    --------
    >>> from projected_kmeans.paper import solve_exactly
    >>> best = solve_exactly([[0.0], [1.0], [5.0], [6.0], [20.0]], 3)
    >>> best.labels, best.inertia
    (array([2, 2, 1, 1, 0], dtype=int32), 1.0)
    """
    rows = check_array(X, dtype=np.float64, order="C")
    check_count("n_clusters", n_clusters, most=("n_samples", len(rows)))
    source = ArrayBlocks(rows)
    return find_optimum(Problem(source, scan_columns(source), n_threads=1), n_clusters)
