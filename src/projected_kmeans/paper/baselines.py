"""The reductions that the paper compares with, as scikit-learn transformers.

`SVDFeatures` and `LocallyLinearFeatures` make new coordinates, `LaplacianScore` and `FisherScore`
select columns. They serve comparisons: they are tested against independent computations, but they
are not made for large data. Table 1's folklore projection is a `SignProjection`, and its sampled
columns are a `ColumnSampling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import SelectorMixin, f_classif
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize
from sklearn.utils import Tags
from sklearn.utils.extmath import svd_flip
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from projected_kmeans.blas_threads import multiply, one_blas_thread, strictly
from projected_kmeans.checks import check_choice, check_count
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.results import Floats

Graph: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"

ALGORITHMS = ("exact", "arpack", "randomized")
INDEXINGS = ("textbook", "paper")
# Roweis' code uses this regulariser if there are more neighbours than dimensions, else none.
REGULARIZER = 1e-3
# Maximum number of rows whose mean distance sets the width of the heat kernel.
WIDTH_ROWS = 3000
# Columns that vary less than this get the Laplacian score zero.
SMALLEST_SPREAD = 1e-12


class Decomposition(NamedTuple):
    """Leading singular vectors and values: rows are about ``(left * values) @ right``."""

    left: Floats
    values: Floats
    right: Floats


def decompose_exactly(rows: Floats, n_components: int) -> Decomposition:
    """Return leading singular vectors by LAPACK, with signs that do not depend on its version."""
    full: Any = strictly(lambda: scipy.linalg.svd(rows, full_matrices=False))
    left, right = svd_flip(full[0], full[2], u_based_decision=False)
    return Decomposition(
        np.ascontiguousarray(left[:, :n_components]),
        full[1][:n_components],
        np.ascontiguousarray(right[:n_components]),
    )


class _NewCoordinates(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer whose columns are named after its class and counted by ``_n_features_out``."""


class SVDFeatures(_NewCoordinates):
    """Coordinates of rows along the leading right singular vectors: U_t Sigma_t, or U_t alone.

    U_k Sigma_k keeps the optimum of k-means within a factor of 2 (Drineas, Frieze, Kannan,
    Vempala, Vinay 1999). The paper's Table 2 comes from U_t without Sigma. Rows are not centred,
    so that this is not principal component analysis. "arpack" and "randomized" call
    scikit-learn's `TruncatedSVD` and take sparse rows; "arpack" takes t below min(n, d) only.

    Parameters
    ----------
    n_components : int, default=2
        t, at most min(n, d).
    scaled : bool, default=True
        Whether coordinates are multiplied by the singular values.
    algorithm : {"exact", "arpack", "randomized"}, default="exact"
        LAPACK, in time O(n d min(n, d)); ARPACK, as MatLab's svds; or random sampling.
    random_state : int, RandomState instance or None, default=None
        Seed of "arpack" and "randomized".

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import SVDFeatures
    >>> X = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> SVDFeatures(2, scaled=False).fit_transform(X) + 0.0
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        scaled: bool = True,
        algorithm: str = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.scaled = scaled
        self.algorithm = algorithm
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the leading singular vectors of X; y is ignored."""
        self._decompose(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> Floats:
        """Return U_t Sigma_t or U_t from left singular vectors: X V_t Sigma_t^-1 would round."""
        basis = self._decompose(X)
        return basis.left * basis.values if self.scaled else basis.left

    def transform(self, X: ArrayLike) -> Floats:
        """Return X V_t if ``scaled``, else X V_t divided by the singular values."""
        check_is_fitted(self)
        rows: Any = validate_data(
            self, X, reset=False, dtype=np.float64, accept_sparse=self._takes_sparse
        )
        turned: Any = self.components_.T
        along: Floats = rows @ turned if scipy.sparse.issparse(rows) else multiply(rows, turned)
        return along if self.scaled else _divide(along, self.singular_values_)

    def _decompose(self, X: ArrayLike) -> Decomposition:
        check_count("n_components", self.n_components)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        rows = validate_data(self, X, dtype=np.float64, accept_sparse=self._takes_sparse)
        n_samples, n_features = rows.shape
        limit = min(n_samples, n_features) - (self.algorithm == "arpack")
        if self.n_components > limit:
            raise ValueError(
                f"n_components={self.n_components} is too much for n_samples={n_samples}, "
                f"n_features={n_features} and algorithm={self.algorithm!r}; use at most {limit}"
            )
        if self.algorithm == "exact":
            basis = decompose_exactly(rows, self.n_components)
        else:
            basis = self._decompose_truncated(rows)
        self.components_, self.singular_values_ = basis.right, basis.values
        return basis

    def _decompose_truncated(self, rows: Any) -> Decomposition:
        svd = TruncatedSVD(
            self.n_components,
            algorithm=self.algorithm,
            random_state=resolve_key(self.random_state) % 2**32,
        )
        reduced = strictly(lambda: svd.fit_transform(rows))
        left = _divide(reduced, svd.singular_values_)
        return Decomposition(left, svd.singular_values_, svd.components_)

    @property
    def _takes_sparse(self) -> str | bool:
        """The sparse format that the algorithm takes; LAPACK takes dense rows only."""
        return "csr" if self.algorithm in ("arpack", "randomized") else False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._takes_sparse)
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _divide(columns: Floats, values: Floats) -> Floats:
    """Return columns divided by values; zero columns if a value is zero up to rounding."""
    smallest = values.max(initial=0.0) * np.finfo(np.float64).eps
    return np.divide(columns, values, out=np.zeros_like(columns), where=values > smallest)


class LocallyLinearFeatures(_NewCoordinates):
    """Bottom eigenvectors of (I - W)^T (I - W), where W rebuilds each row from its neighbours.

    It differs from scikit-learn's `LocallyLinearEmbedding` in two choices. The weights are
    regularised only if they would not be unique: with more neighbours than dimensions, or with
    neighbours that depend on each other. And ``indexing="paper"`` keeps the constant eigenvector,
    of eigenvalue zero, as the first column.

    ``transform`` rebuilds rows from their nearest training rows. It always regularises the weights,
    because a training row is its own neighbour.

    Parameters
    ----------
    n_components : int, default=2
        t, the number of eigenvectors.
    n_neighbors : int, default=40
        K; the paper has 40.
    indexing : {"textbook", "paper"}, default="textbook"
        Eigenvectors 1 to t, or 0 to t - 1 as in the paper's Table 2.
    """

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 40, indexing: str = "textbook"
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.indexing = indexing

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed more rows than there are neighbours and components; y is ignored."""
        check_count("n_components", self.n_components)
        check_count("n_neighbors", self.n_neighbors)
        check_choice("indexing", self.indexing, INDEXINGS)
        rows = validate_data(self, X, dtype=np.float64)
        n_samples, n_features = rows.shape
        if max(self.n_neighbors, self.n_components) >= n_samples:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} and n_components={self.n_components} must be "
                f"below n_samples={n_samples}; use fewer of them or more rows"
            )
        if self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_features={n_features}; "
                f"use at most {n_features}"
            )
        self._embedding = self._embed(rows)
        self._embedding.set_params(reg=REGULARIZER)
        self.embedding_ = self._choose(self._embedding.embedding_, n_samples)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> Floats:
        """Embed the rows of X and return their coordinates."""
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates of new rows; for training rows, approximately ``embedding_``."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        return self._choose(strictly(lambda: self._embedding.transform(rows)), len(self.embedding_))

    def _embed(self, rows: Floats) -> LocallyLinearEmbedding:
        embedding = LocallyLinearEmbedding(
            n_neighbors=self.n_neighbors,
            n_components=self.n_components,
            reg=REGULARIZER if self.n_neighbors > rows.shape[1] else 0.0,
            eigen_solver="dense",
        )
        try:
            return strictly(lambda: embedding.fit(rows))
        except np.linalg.LinAlgError:  # neighbours that depend on each other, such as equal rows
            embedding.set_params(reg=REGULARIZER)
            return strictly(lambda: embedding.fit(rows))

    def _choose(self, vectors: Floats, n_fitted: int) -> Floats:
        """Return eigenvectors 1 to t, which scikit-learn gives, or 0 to t - 1."""
        if self.indexing == "textbook":
            return vectors
        constant = np.full((len(vectors), 1), 1.0 / math.sqrt(n_fitted))
        return np.hstack([constant, vectors[:, :-1]])

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


class _BestColumns(SelectorMixin, BaseEstimator):
    """Keep the columns with the largest ``scores_``, unscaled and in their order."""

    n_features_to_select: int
    scores_: Floats

    def _set_scores(self, scores: Floats) -> Self:
        self.scores_ = scores
        self._get_support_mask()  # refuses to keep more columns than there are
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        """Return which columns have the largest scores; of equal ones, the first."""
        check_is_fitted(self)
        if self.n_features_to_select > len(self.scores_):
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} exceeds "
                f"n_features={len(self.scores_)}; use at most {len(self.scores_)}"
            )
        mask = np.zeros(len(self.scores_), dtype=np.bool_)
        mask[np.argsort(-self.scores_, kind="stable")[: self.n_features_to_select]] = True
        return mask


class LaplacianScore(_BestColumns):
    """Keep the columns that vary little between neighbours, by the Laplacian score.

    ``scores_`` is one minus the score of He, Cai and Niyogi (2006), so that larger is better.

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
    """

    def __init__(
        self, n_features_to_select: int = 10, *, graph: str = "today", n_neighbors: int = 5
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.graph = graph
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Score the columns of more than ``n_neighbors`` rows; y is ignored."""
        check_count("n_features_to_select", self.n_features_to_select)
        check_count("n_neighbors", self.n_neighbors)
        check_choice("graph", self.graph, GRAPHS)
        rows = validate_data(self, X, dtype=np.float64)
        if self.n_neighbors >= len(rows):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is not below n_samples={len(rows)}; "
                "use fewer neighbours or more rows"
            )
        return self._set_scores(score_columns(rows, GRAPHS[self.graph](rows, self.n_neighbors)))


def draw_2007_graph(rows: Floats, n_neighbors: int) -> Graph:
    """Return the graph of May 2007: weight 1 for the largest cosines, with loops."""
    unit = normalize(rows)
    with one_blas_thread():
        weights = kneighbors_graph(unit, n_neighbors + 1, mode="connectivity", include_self=True)
    return _symmetrize(weights)


def draw_heat_graph(rows: Floats, n_neighbors: int) -> Graph:
    """Return today's default graph: heat kernel weights between nearest rows, without loops.

    A weight is exp(-distance^2 / (2 width^2)). The width is the mean distance of all pairs, or of
    the pairs of at most 3,000 evenly spaced rows if there are more.
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


def _symmetrize(weights: Any) -> Graph:
    square = scipy.sparse.csr_array(weights)
    return square.maximum(square.T).tocsr()


def score_columns(rows: Floats, graph: Graph) -> Floats:
    """Return one minus the Laplacian score of every column for a graph of symmetric weights.

    With W the graph, D = W 1 and x a column, it is
    (x^T W x - (D^T x)^2 / sum D) / (x^T diag(D) x - (D^T x)^2 / sum D).
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


class FisherScore(_BestColumns):
    """Keep the columns that tell known classes apart, by the Fisher score.

    It needs the classes of the rows, so that Table 2 does not hold it. The paper names it among the
    popular methods that come without a bound.

    Parameters
    ----------
    n_features_to_select : int, default=10
        t, the number of columns to keep.
    """

    def __init__(self, n_features_to_select: int = 10) -> None:
        self.n_features_to_select = n_features_to_select

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Score the columns of rows of at least two classes, of which y names that of every row."""
        check_count("n_features_to_select", self.n_features_to_select)
        rows, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        n_classes = len(np.unique(classes))
        if n_classes < 2:
            raise ValueError("y holds one class; give rows of at least two")
        if n_classes == len(rows):
            raise ValueError(
                f"y gives each of n_samples={len(rows)} rows a class of its own; "
                "use classes of several rows"
            )
        return self._set_scores(score_classes(rows, classes))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def score_classes(rows: Floats, classes: NDArray[np.generic]) -> Floats:
    """Return the Fisher score of every column: variance between classes over that within.

    With n_c rows of class c it is sum n_c (mean_c - mean)^2 / sum n_c variance_c. scikit-learn's
    `f_classif` is this times (n - C) / (C - 1) for C classes. Columns are centred first, because
    it subtracts squares and would lose digits. Constant columns score zero, and columns that vary
    between classes only score infinity.
    """
    n_classes = len(np.unique(classes))
    scores = np.zeros(rows.shape[1])
    varying = np.ptp(rows, axis=0) > 0
    if not varying.any():
        return scores
    centred = rows[:, varying] - rows[:, varying].mean(axis=0)
    with np.errstate(divide="ignore"):
        ratio = f_classif(centred, classes)[0]
    scores[varying] = ratio * ((n_classes - 1) / max(1, len(rows) - n_classes))
    return scores
