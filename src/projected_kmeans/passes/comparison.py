"""Two clusterings of the same rows: how much they agree, and which rows moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from projected_kmeans.result_tables import list_facts


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
