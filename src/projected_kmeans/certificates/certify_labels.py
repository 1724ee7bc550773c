"""Prove how far the labels of a clustering can be from the best ones.

Measures the inertia of the labels; `lower_bounds` computes the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_kmeans.blocks.holes import Holes, find_holes
from projected_kmeans.blocks.inputs import as_native_rows
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.certificates.lower_bounds import kmeans_lower_bound
from projected_kmeans.certificates.unit_centers import to_unit_centers
from projected_kmeans.checks import check_choice
from projected_kmeans.keys import RandomState
from projected_kmeans.passes.scoring import SET_ASIDE, measure_inertia
from projected_kmeans.results import FitState


def certify(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    metric: str = "euclidean",
    on_missing: str = "error",
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
        The cluster of every row; k is the number of different labels. The label -1 is no cluster:
        rows that a fit has set aside take no part.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" proves it for rows of length one and centers of length one, as
        ``ProjectedKMeans(metric="cosine")`` has them.
    on_missing : {"error", "skip"}, default="error"
        What to do with rows that have a hole (NaN): name the first, or leave them out.
    method, time_limit, confidence, random_state, callback : optional
        As in `kmeans_lower_bound`.

    Examples
    --------
    >>> from projected_kmeans import certify
    >>> certify([[0.0], [1.0], [5.0], [6.0], [20.0]], [0, 0, 1, 1, 2]).describe()
    'proven optimal for all 5 rows: no clustering into 3 groups can be better (neighbour bound)'
    """
    check_choice("metric", metric, ("euclidean", "cosine"))
    check_choice("on_missing", on_missing, ("error", "skip"))
    spherical = metric == "cosine"
    X, labels, holes = _leave_out(X, np.asarray(labels), on_missing)
    X = to_unit_rows(as_native_rows(X)) if spherical else X
    measured = measure_inertia(X, labels, spherical=spherical)
    bound = kmeans_lower_bound(
        X,
        len(np.unique(labels)),
        method=method,
        labels=labels,
        time_limit=time_limit,
        confidence=confidence,
        random_state=random_state,
        callback=callback,
    )
    bound = to_unit_centers(bound, X) if spherical else bound
    if bound.better_labels is not None:
        bound = replace(bound, better_labels=holes.spread(bound.better_labels, SET_ASIDE))
    return Certificate.of(measured.value, measured.error, bound)


def _leave_out(X: Any, labels: NDArray[Any], on_missing: str) -> tuple[Any, NDArray[Any], Holes]:
    """Return rows and labels without rows that belong to no cluster or have a hole, and which."""
    missing = np.asarray(labels == SET_ASIDE, dtype=np.bool_)
    holes = Holes.none(labels.size)
    if on_missing == "skip" or missing.any():
        X = as_native_rows(X)
        if labels.shape != (X.shape[0],):
            return X, labels, holes  # refused below
        if on_missing == "skip":
            holes = find_holes(open_blocks(X))
        holes = holes.add(missing)
    if len(holes.rows):
        if not holes.complete.any():
            raise ValueError("no row is complete and has a cluster; give labels of a clustering")
        return X[holes.complete], labels[holes.complete], holes
    return X, labels, holes
