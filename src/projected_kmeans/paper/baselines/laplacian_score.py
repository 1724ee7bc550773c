"""Baseline: select the columns that vary little between neighbours (Table 2, "LS").

Builds a graph of neighbours and computes the Laplacian score of every column; it uses no labels.
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

from projected_kmeans.blas_threads import multiply, one_blas_thread
from projected_kmeans.checks import check_choice, check_count
from projected_kmeans.paper.baselines.column_ranking import keep_best
from projected_kmeans.results import Floats

Graph: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"

# Maximum number of rows whose mean distance sets the width of the heat kernel.
WIDTH_ROWS = 3000
# Columns that vary less than this are scored zero.
SMALLEST_SPREAD = 1e-12


def draw_2007_graph(rows: Floats, n_neighbors: int) -> Graph:
    """Return the graph of May 2007: weight 1 for the largest cosines, with loops.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        Rows of any length; they are scaled to length 1.
    n_neighbors : int
        Neighbours of a row, not counting itself.
    """
    unit = normalize(rows)
    with one_blas_thread():
        weights = kneighbors_graph(unit, n_neighbors + 1, mode="connectivity", include_self=True)
    return _symmetrize(weights)


def draw_heat_graph(rows: Floats, n_neighbors: int) -> Graph:
    """Return today's default graph: heat kernel weights between nearest rows, without loops.

    A weight is exp(-distance^2 / (2 width^2)). The width is the mean distance of all pairs, or of
    the pairs of at most 3,000 evenly spaced rows if there are more.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        Rows; they are not scaled.
    n_neighbors : int
        Neighbours of a row, not counting itself.
    """
    stride = -(-len(rows) // WIDTH_ROWS)
    with one_blas_thread():
        width = float(pairwise_distances(rows[::stride]).mean())
        weights = kneighbors_graph(rows, n_neighbors, mode="distance", include_self=False)
    exponents = weights.data / width if width > 0 else weights.data
    weights.data = np.exp(-(exponents**2) / 2)
    return _symmetrize(weights)


GRAPHS: Mapping[str, Callable[[Floats, int], Graph]] = MappingProxyType(
    {"today": draw_heat_graph, "2007": draw_2007_graph}
)


def score_columns(rows: Floats, graph: Graph) -> Floats:
    """Return one minus the Laplacian score of every column, so that larger is better.

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
    # Shifting a column does not change its score; around its mean no digits are lost.
    centred = rows - multiply(degrees, rows) / total
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
        t, the number of columns to keep.
    graph : {"today", "2007"}, default="today"
        How neighbours are weighted. "today" is the present default of the authors' program
        constructW (nearest rows, heat kernel). "2007" is its default of May 2007, which the paper
        used (largest cosines, weight 1, loops kept).
    n_neighbors : int, default=5
        Neighbours of a row in the graph.

    Attributes
    ----------
    scores_ : ndarray (d,)
        One minus the Laplacian score of every column.
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
            More than ``n_neighbors`` rows.
        y : ignored
            Present by convention.

        Returns
        -------
        LaplacianScore
            The fitted estimator.
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
