"""Baseline: locally linear embedding with the choices of Roweis' code (Table 2, "LLE").

Chooses the regulariser and the eigenvectors; the embedding itself is scikit-learn's.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.utils.validation import check_is_fitted, validate_data

from projected_kmeans.blas_threads import strictly
from projected_kmeans.checks import check_choice, check_count
from projected_kmeans.results import Floats

INDEXINGS = ("textbook", "paper")
# Roweis' code uses this regulariser if there are more neighbours than dimensions, else none.
REGULARIZER = 1e-3


class LocallyLinearFeatures(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Bottom eigenvectors of (I - W)^T (I - W), where W rebuilds each row from its neighbours.

    It differs from scikit-learn's `LocallyLinearEmbedding` in two choices. The weights are
    regularised only if they would not be unique: with more neighbours than dimensions, or with
    neighbours that depend on each other. And ``indexing="paper"`` keeps the constant eigenvector,
    of eigenvalue zero, as the first column.

    Parameters
    ----------
    n_components : int, default=2
        t, the number of eigenvectors.
    n_neighbors : int, default=40
        K; the paper has 40.
    indexing : {"textbook", "paper"}, default="textbook"
        Eigenvectors 1 to t, or 0 to t - 1 as in the paper's Table 2.

    Attributes
    ----------
    embedding_ : ndarray (n, t)
        Coordinates of the training rows.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Notes
    -----
    ``transform`` rebuilds rows from their nearest training rows. It always regularises the weights,
    because a training row is its own neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import LocallyLinearFeatures
    >>> X = np.linspace(0, 1, 30)[:, None] * np.ones(5) + np.eye(30, 5) / 100
    >>> sketch = LocallyLinearFeatures(3, n_neighbors=6, indexing="paper").fit_transform(X)
    >>> sketch.shape, bool(np.ptp(sketch[:, 0]) == 0)
    ((30, 3), True)
    """

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 40, indexing: str = "textbook"
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.indexing = indexing

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed the rows of X.

        Parameters
        ----------
        X : array-like (n, d)
            More rows than ``n_neighbors`` and ``n_components``.
        y : ignored
            Present by convention.

        Returns
        -------
        LocallyLinearFeatures
            The fitted estimator.
        """
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
        """Embed the rows of X and return their coordinates.

        Parameters
        ----------
        X : array-like (n, d)
            Training rows.
        y : ignored
            Present by convention.

        Returns
        -------
        ndarray of float64 (n, t)
            ``embedding_``.
        """
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> Floats:
        """Return the coordinates of rows, rebuilt from their nearest training rows.

        Parameters
        ----------
        X : array-like (n, d)
            New rows.

        Returns
        -------
        ndarray of float64 (n, t)
            For training rows, approximately ``embedding_``.
        """
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
