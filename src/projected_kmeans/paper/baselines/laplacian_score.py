"""Baseline: columns that vary little between neighbours, by the Laplacian score (Table 2, "LS").

Builds the neighbour graph and scores columns; it does not use labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from projected_kmeans.checks import check_choice, check_count
from projected_kmeans.paper.baselines.column_ranking import keep_best
from projected_kmeans.results import Floats

Graph: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"

# Rows whose mean distance sets the width of the heat kernel, at most.
WIDTH_ROWS = 3000
# Columns that vary less than this are scored zero.
SMALLEST_SPREAD = 1e-12


def draw_2007_graph(rows: Floats, n_neighbors: int) -> Graph:
    """Return the graph of May 2007: weight 1 for the largest cosines, a row's own included.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        Scaled to length 1 first.
    n_neighbors : int
        Neighbours of a row, itself not counted.
    """
    unit = normalize(rows)
    weights = kneighbors_graph(unit, n_neighbors + 1, mode="connectivity", include_self=True)
    return _symmetrize(weights)


def draw_heat_graph(rows: Floats, n_neighbors: int) -> Graph:
    """Return today's default graph: heat kernel weights between nearest rows, no loops.

    A weight is exp(-distance^2 / (2 width^2)) with the mean distance of all pairs as the width,
    for more than 3,000 rows that of 3,000 evenly spread ones.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        As they are.
    n_neighbors : int
        Neighbours of a row, itself not counted.
    """
    stride = -(-len(rows) // WIDTH_ROWS)
    width = float(pairwise_distances(rows[::stride]).mean())
    weights = kneighbors_graph(rows, n_neighbors, mode="distance", include_self=False)
    exponents = weights.data / width if width > 0 else weights.data
    weights.data = np.exp(-(exponents**2) / 2)
    return _symmetrize(weights)


GRAPHS: Mapping[str, Callable[[Floats, int], Graph]] = MappingProxyType(
    {"today": draw_heat_graph, "2007": draw_2007_graph}
)


def score_columns(rows: Floats, graph: Graph) -> Floats:
    """Return the Laplacian score of every column, turned so that larger is better.

    With W the graph, D = W 1 and x a column, it is
    (x^T W x - (D^T x)^2 / sum D) / (x^T diag(D) x - (D^T x)^2 / sum D): one minus the score of
    He, Cai and Niyogi (2006).

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        The data.
    graph : sparse array (n, n)
        Symmetric weights.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> graph = scipy.sparse.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> score_columns(rows, graph)
    array([1., 0.])
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    total = degrees.sum()
    if not total > 0:
        return np.zeros(rows.shape[1])
    # The score does not change when a column is shifted; about its mean, no digits cancel.
    centred = rows - (degrees @ rows) / total
    spread = np.einsum("i,ij,ij->j", degrees, centred, centred)
    alike = np.einsum("ij,ij->j", centred, graph @ centred)
    scores: Floats = np.zeros(rows.shape[1])
    np.divide(alike, spread, out=scores, where=spread >= SMALLEST_SPREAD)
    return scores


class LaplacianScore(SelectorMixin, BaseEstimator):
    """Keep the columns with the best Laplacian score, unscaled and in their order.

    Parameters
    ----------
    n_features_to_select : int, default=10
        t.
    graph : {"today", "2007"}, default="today"
        How neighbours are weighted. "today" is the default of the authors' constructW of the
        present day (nearest rows, heat kernel); "2007" is that of May 2007 which the paper used
        (largest cosines, weight 1, loops kept).
    n_neighbors : int, default=5
        Neighbours of a row in the graph.

    Attributes
    ----------
    scores_ : ndarray (d,)
        The larger, the better.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import LaplacianScore
    >>> groups = np.repeat([0.0, 9.0], 8)
    >>> X = np.column_stack([np.tile([0.0, 1.0], 8), groups])
    >>> LaplacianScore(1).fit(X).get_support()
    array([False,  True])
    """

    def __init__(
        self, n_features_to_select: int = 10, *, graph: str = "today", n_neighbors: int = 5
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.graph = graph
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Score the columns of X.

        Parameters
        ----------
        X : array-like (n, d)
            Rows; more than ``n_neighbors`` of them.
        y : ignored
            Present by convention.

        Returns
        -------
        LaplacianScore
            Itself.
        """
        check_count("n_features_to_select", self.n_features_to_select)
        check_count("n_neighbors", self.n_neighbors)
        check_choice("graph", self.graph, GRAPHS)
        rows = validate_data(self, X, dtype=np.float64)
        if self.n_neighbors >= len(rows):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is not below n_samples={len(rows)}; "
                "use fewer neighbours or more rows"
            )
        self.scores_ = score_columns(rows, GRAPHS[self.graph](rows, self.n_neighbors))
        keep_best(self.scores_, self.n_features_to_select)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return keep_best(self.scores_, self.n_features_to_select)


def _symmetrize(weights: Any) -> Graph:
    square = scipy.sparse.csr_array(weights)
    return square.maximum(square.T).tocsr()
