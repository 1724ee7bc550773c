"""SCORE: the paper's measures F, F~ and P, the indicator matrix, and two clusterings compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.inputs import as_native_rows
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.moments import Moments, normalize
from projected_kmeans.passes.problem import Problem
from projected_kmeans.result_tables import list_facts

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


class MatchedClusters(NamedTuple):
    """A cluster of the first clustering and the one of the second that it became.

    Attributes
    ----------
    a, b : label
        Their labels; None for a cluster that has no counterpart.
    n_shared : int
        Number of rows in both.
    n_a, n_b : int
        Number of rows of each, among the rows that are compared.
    """

    a: Any
    b: Any
    n_shared: int
    n_a: int
    n_b: int


@dataclass(frozen=True, eq=False)
class ClusteringComparison:
    """How much two clusterings of the same rows agree.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_compared : int
        Number of rows that have a cluster in both. A label below 0 is no cluster: rows that
        ``trim`` sets aside have one. The next three attributes count the compared rows only.
    overlap : float
        Share of the compared rows that are in matched clusters. Clusters are matched one to one
        such that this share is as large as it can be.
    adjusted_rand_index : float
        Agreement on pairs of rows: 1 for the same partition, about 0 for independent ones.
    normalized_mutual_information : float
        Shared information by the mean entropy, from 0 to 1.
    moved_rows : ndarray of int64 (m,)
        Ascending indices of the rows that moved: their two clusters are not matched, or they have a
        cluster in one clustering only.
    n_left, n_joined : int
        Number of rows that have a cluster in the first clustering only, and in the second only.
    matches : tuple of MatchedClusters
        The matched clusters in the order of the first clustering, then clusters of the second
        without a counterpart.

    Examples
    --------
    >>> from projected_kmeans import compare_clusterings
    >>> compare_clusterings([0, 0, 1, 1], [1, 1, 0, 0])
    <ClusteringComparison: 0 of 4 rows moved; overlap 100.00%, adjusted Rand index 1.0000, \
normalized mutual information 1.0000>
    """

    n_rows: int
    n_compared: int
    overlap: float
    adjusted_rand_index: float
    normalized_mutual_information: float
    moved_rows: NDArray[np.int64]
    n_left: int
    n_joined: int
    matches: tuple[MatchedClusters, ...]

    def describe(self) -> str:
        """Return the comparison as a sentence."""
        text = (
            f"{len(self.moved_rows):,} of {self.n_rows:,} rows moved; overlap {self.overlap:.2%}, "
            f"adjusted Rand index {self.adjusted_rand_index:.4f}, normalized mutual information "
            f"{self.normalized_mutual_information:.4f}"
        )
        if self.n_compared == self.n_rows:
            return text
        apart = self.n_rows - self.n_compared
        return f"{text}, without {apart:,} rows that were set aside in one of them or both"

    def __repr__(self) -> str:
        """Return the comparison in a line."""
        return f"<ClusteringComparison: {self.describe()}>"

    def _repr_html_(self) -> str:
        return list_facts(
            {
                "moved rows": f"{len(self.moved_rows):,} of {self.n_rows:,}",
                "overlap": f"{self.overlap:.2%} of {self.n_compared:,} compared rows",
                "adjusted Rand index": f"{self.adjusted_rand_index:.4f}",
                "normalized mutual information": f"{self.normalized_mutual_information:.4f}",
                "left and joined": f"{self.n_left:,} and {self.n_joined:,} rows",
            }
        )


def compare_clusterings(a: ArrayLike, b: ArrayLike) -> ClusteringComparison:
    """Compare two clusterings of the same rows, such as those of last month and of today.

    The numbers of clusters need not agree, and need not mean the same: clusters are matched.

    Parameters
    ----------
    a, b : array-like (n,)
        The cluster of every row in each clustering: numbers or text. A number below 0 means that
        the row is in no cluster.

    Returns
    -------
    ClusteringComparison
        Overlap, indices of agreement, the rows that moved, and which cluster became which.

    Examples
    --------
    >>> from projected_kmeans import compare_clusterings
    >>> found = compare_clusterings([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, -1])
    >>> found.overlap, found.moved_rows.tolist(), found.n_left
    (0.8, [4, 5], 1)
    >>> [(one.a, one.b, one.n_shared) for one in found.matches]
    [(0, 1, 2), (1, 0, 2), (2, None, 0)]
    """
    first, second = _read("a", a), _read("b", b)
    if len(first) != len(second):
        raise ValueError(
            f"a has {len(first)} labels and b {len(second)}; give both for the same rows"
        )
    in_a, in_b = _in_clusters(first), _in_clusters(second)
    both = in_a & in_b
    names_a, codes_a = np.unique(first[both], return_inverse=True)
    names_b, codes_b = np.unique(second[both], return_inverse=True)
    table = np.zeros((len(names_a), len(names_b)), dtype=np.int64)
    np.add.at(table, (codes_a, codes_b), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    became = np.full(len(names_a), -1)
    became[rows] = np.where(table[rows, columns] > 0, columns, -1)
    stays = became[codes_a] == codes_b
    moved = in_a ^ in_b
    moved[np.flatnonzero(both)[~stays]] = True
    n_compared = int(both.sum())
    return ClusteringComparison(
        n_rows=len(first),
        n_compared=n_compared,
        overlap=float(np.mean(stays)) if n_compared else 0.0,
        adjusted_rand_index=float(adjusted_rand_score(codes_a, codes_b)) if n_compared else 0.0,
        normalized_mutual_information=float(normalized_mutual_info_score(codes_a, codes_b))
        if n_compared
        else 0.0,
        moved_rows=np.flatnonzero(moved),
        n_left=int((in_a & ~in_b).sum()),
        n_joined=int((in_b & ~in_a).sum()),
        matches=_match(table, names_a, names_b, became),
    )


def _match(
    table: NDArray[np.int64], names_a: NDArray[Any], names_b: NDArray[Any], became: NDArray[Any]
) -> tuple[MatchedClusters, ...]:
    """Return the clusters of both sides, matched where they share rows."""
    sizes_a, sizes_b = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    labels_a, labels_b = names_a.tolist(), names_b.tolist()
    found = [
        MatchedClusters(labels_a[i], labels_b[j], int(table[i, j]), sizes_a[i], sizes_b[j])
        if j >= 0
        else MatchedClusters(labels_a[i], None, 0, sizes_a[i], 0)
        for i, j in enumerate(became.tolist())
    ]
    alone = sorted(set(range(len(labels_b))) - set(became.tolist()))
    found += [MatchedClusters(None, labels_b[j], 0, 0, sizes_b[j]) for j in alone]
    return tuple(found)


def _read(name: str, labels: ArrayLike) -> NDArray[Any]:
    vector = np.asarray(labels)
    if vector.ndim != 1 or not len(vector) or vector.dtype.kind not in "biufUSO":
        raise ValueError(
            f"{name} holds {vector.dtype} values of shape {vector.shape}; give one label a row"
        )
    if vector.dtype.kind == "f" and np.isnan(vector).any():
        raise ValueError(f"{name} has labels that are NaN; use -1 for rows without a cluster")
    return vector.astype(str) if vector.dtype.kind == "O" else vector


def _in_clusters(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows are in a cluster: those whose label is not a number below 0."""
    if labels.dtype.kind in "if":
        return np.asarray(labels >= 0)
    if labels.dtype.kind in "US":
        return np.asarray(labels.astype(str) != "-1")
    return np.ones(len(labels), dtype=np.bool_)
