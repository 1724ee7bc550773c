"""SCORE: the paper's measures of a clustering: F, F~, P and the indicator matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.inputs import as_native_rows
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.moments import Moments, normalize
from projected_kmeans.passes.problem import Problem

# The label of rows that belong to no cluster.
SET_ASIDE = -1


def inertia(X: ArrayLike, labels: ArrayLike) -> float:
    """Return F, the sum of squared distances of rows to the mean of their cluster.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        The rows. Sparse rows are never made dense.
    labels : array-like (n,)
        The cluster of every row; any hashable labels.

    Examples
    --------
    >>> inertia([[0.0], [2.0], [10.0]], [0, 0, 1])
    2.0
    """
    return measure_inertia(X, labels).value


class Measured(NamedTuple):
    """An inertia, and the most that it can differ from its exact value."""

    value: float
    error: float


def measure_inertia(X: ArrayLike, labels: ArrayLike, *, spherical: bool = False) -> Measured:
    """Return F with its proven error; the parameters are those of `inertia`.

    If ``spherical`` is true, rows have length one and so have centers.
    """
    moments = _moments(X, labels, spherical=spherical)
    return Measured(moments.inertia, moments.inertia_error)


def normalized_inertia(X: ArrayLike, labels: ArrayLike) -> float:
    """Return F~ = F / ||A||_F^2: inertia over the sum of squared entries.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        The rows. Their mean is not subtracted, as in the paper.
    labels : array-like (n,)
        The cluster of every row.

    Returns
    -------
    float
        Between 0 and 1; 0 if all entries are zero.

    Examples
    --------
    >>> normalized_inertia([[0.0], [2.0], [4.0]], [0, 0, 1])
    0.1
    """
    moments = _moments(X, labels)
    return normalize(moments.inertia, moments.sum_of_squares)


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return P: the share of rows whose cluster is matched to their class.

    Each cluster is matched to at most one class and each class to at most one cluster, in the way
    that makes this share as large as possible. Rows that were set aside, with the cluster -1, count
    as rows but are matched to no class: to set rows aside cannot raise the share.

    Parameters
    ----------
    labels_true, labels_pred : array-like (n,)
        The class and the cluster of every row. Labels may be any values; only which rows have
        equal labels matters. The cluster -1 is none, as in ``labels_`` of a fit with ``trim``.

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, -1])
    0.75
    """
    classes = _as_codes(labels_true, "labels_true")
    clusters = _as_codes(labels_pred, "labels_pred")
    if len(classes) != len(clusters):
        raise ValueError(
            f"labels_true has {len(classes)} entries but labels_pred {len(clusters)}; "
            "pass one label of each kind for every row"
        )
    table = np.zeros((classes.max() + 1, clusters.max() + 1), dtype=np.int64)
    inside = np.asarray(np.asarray(labels_pred) != SET_ASIDE, dtype=np.bool_)
    np.add.at(table, (classes[inside], clusters[inside]), 1)
    matched = linear_sum_assignment(table, maximize=True)
    return float(table[matched].sum() / len(classes))


def indicator_matrix(
    labels: ArrayLike, n_clusters: int | None = None
) -> scipy.sparse.csr_array[Any, tuple[int, int]]:
    """Return the paper's indicator matrix X: n x k, X_ij = 1/sqrt(z_j) where row i is in cluster j.

    z_j is the number of rows of cluster j, so X^T X = I and F(A, X) = ||A - X X^T A||_F^2 is the
    inertia.

    Parameters
    ----------
    labels : array-like of int (n,)
        The cluster of every row, from 0.
    n_clusters : int, optional
        k; by default the largest label plus one. An empty cluster has a column of zeros, and then
        X^T X is not I.

    Examples
    --------
    >>> indicator_matrix([0, 1, 0, 0, 0]).toarray()
    array([[0.5, 0. ],
           [0. , 1. ],
           [0.5, 0. ],
           [0.5, 0. ],
           [0.5, 0. ]])
    """
    rows = _as_vector(labels, "labels")
    if not np.issubdtype(rows.dtype, np.integer) or rows.min() < 0:
        raise ValueError(f"labels are {rows.dtype} from {rows.min()}; use integers from 0")
    width = int(rows.max()) + 1 if n_clusters is None else n_clusters
    if rows.max() >= width:
        raise ValueError(
            f"labels reach {rows.max()}, but n_clusters={width}; use n_clusters={rows.max() + 1}"
        )
    sizes = np.bincount(rows, minlength=width)
    values = 1.0 / np.sqrt(sizes[rows])
    return scipy.sparse.csr_array(
        (values, rows, np.arange(len(rows) + 1)), shape=(len(rows), width)
    )


def _moments(X: ArrayLike, labels: ArrayLike, *, spherical: bool = False) -> Moments:
    source = open_blocks(as_native_rows(X))
    codes, n_rows = _as_codes(labels, "labels"), source.shape[0]
    if len(codes) != n_rows:
        raise ValueError(
            f"labels has {len(codes)} entries but X {n_rows} rows; pass one label for each row"
        )
    first = np.unique(codes, return_index=True)[1].astype(np.int64)
    problem = Problem(source, scan_columns(source), spherical=spherical)
    return problem.sum(codes, source.take(first))


def _as_vector(labels: ArrayLike, name: str) -> NDArray[Any]:
    vector = np.asarray(labels)
    if vector.ndim != 1 or len(vector) == 0:
        raise ValueError(f"{name} has shape {vector.shape}; pass one label for every row")
    return vector


def _as_codes(labels: ArrayLike, name: str) -> NDArray[np.int32]:
    codes = np.unique(_as_vector(labels, name), return_inverse=True)[1]
    return codes.astype(np.int32)
