"""Prove how far the labels of a clustering can be from the best ones.

Measures the inertia of the labels; `lower_bounds` computes the bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.blocks.inputs import as_native_rows
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.certificates.lower_bounds import kmeans_lower_bound
from projected_kmeans.certificates.unit_centers import to_unit_centers
from projected_kmeans.checks import check_choice
from projected_kmeans.keys import RandomState
from projected_kmeans.passes.scoring import measure_inertia
from projected_kmeans.results import FitState


def certify(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    time_limit: float | None = None,
    confidence: float = 0.99,
    random_state: RandomState = None,
    callback: Callable[[FitState], object] | None = None,
) -> Certificate:
    """Return how far a clustering can be from the best one with the same number of clusters.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        Rows; sparse rows are never made dense.
    labels : array-like (n,)
        The cluster of every row; k is the number of different labels.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" proves it for rows of length one and centers of length one, as
        ``ProjectedKMeans(metric="cosine")`` has them.
    method, time_limit, confidence, random_state, callback : optional
        As in `kmeans_lower_bound`.

    Examples
    --------
    >>> from projected_kmeans import certify
    >>> certify([[0.0], [1.0], [5.0], [6.0], [20.0]], [0, 0, 1, 1, 2]).describe()
    'proven optimal for all 5 rows: no clustering into 3 groups can be better (neighbour bound)'
    """
    check_choice("metric", metric, ("euclidean", "cosine"))
    spherical = metric == "cosine"
    X = to_unit_rows(as_native_rows(X)) if spherical else X
    measured = measure_inertia(X, labels, spherical=spherical)
    bound = kmeans_lower_bound(
        X,
        len(np.unique(np.asarray(labels))),
        method=method,
        labels=labels,
        time_limit=time_limit,
        confidence=confidence,
        random_state=random_state,
        callback=callback,
    )
    bound = to_unit_centers(bound, X) if spherical else bound
    return Certificate.of(measured.value, measured.error, bound)
