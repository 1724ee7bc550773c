"""The (1 + eps)-approximation of Kumar, Sabharwal and Sen (2004), for at most 4 clusters.

Checks an array and opens it as a problem; the search itself is `solvers.kss04`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_count
from projected_kmeans.keys import RandomState, open_stream, resolve_key
from projected_kmeans.paper.streams import KSS04
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.search.paper_solvers import solve_by_samples


def solve_kss04(
    X: ArrayLike,
    n_clusters: int,
    *,
    eps: float = 0.5,
    n_subsets: int | None = None,
    max_iter: int = 300,
    random_state: RandomState = None,
) -> Clustering:
    """Return a partition whose inertia is, very likely, within 1 + eps of the optimum.

    ``ProjectedKMeans(solver="kss04")`` does the same in the sketch, with eps = 0.5.

    Parameters
    ----------
    X : array-like (n, d)
        Rows.
    n_clusters : int
        k, at most 4.
    eps : float, default=0.5
        The error in (0, 1].
    n_subsets : int, optional
        Subsets that every node of the search tries; by default at most 64, and so few that the
        tree has at most 32,768 leaves. The proof needs 2^(k/eps)^O(1).
    max_iter : int, default=300
        Maximum number of passes of Lloyd's method at the end.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the search.

    Returns
    -------
    Clustering
        The best partition found.

    Examples
    --------
    >>> from projected_kmeans.paper import solve_kss04
    >>> solve_kss04([[0.0], [1.0], [5.0], [6.0]], 2, random_state=0).inertia
    1.0
    """
    rows = check_array(X, dtype=np.float64, order="C")
    check_count("n_clusters", n_clusters, most=("n_samples", len(rows)))
    if not 0 < eps <= 1:
        raise ValueError(f"eps={eps!r} is outside (0, 1]; use for example eps=0.5")
    if n_subsets is not None:
        check_count("n_subsets", n_subsets)
    source = ArrayBlocks(rows)
    problem = Problem(source, scan_columns(source), n_threads=1)
    stream = open_stream(resolve_key(random_state), KSS04)
    return solve_by_samples(
        problem, n_clusters, stream, eps=eps, n_subsets=n_subsets, max_iter=max_iter
    )
