"""Baseline: the folklore Johnson-Lindenstrauss projection (Table 1, row 2).

Chooses log(n) / eps^2 dimensions; the projection itself is a `SignProjection`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks.inputs import check_rows
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.projections.target_dimension import target_dimension


class FolkloreProjection(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """A random sign matrix with enough columns to keep all distances within 1 + eps.

    The number of columns depends on the number of rows, not on the number of clusters. The paper
    gives it as Omega(log(n) / eps^2); here the constant is one. ``SignProjection("auto")`` and
    scikit-learn's `johnson_lindenstrauss_min_dim` take the constant of Dasgupta and Gupta (2003).

    Parameters
    ----------
    eps : float, default=0.3
        The error in (0, 1).
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the signs.
    n_threads : int, optional
        Threads of the product; by default what OpenMP allows.

    Attributes
    ----------
    projection_ : SignProjection
        The fitted map.
    n_components_ : int
        ceil(log2(n) / eps^2), at most d.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import FolkloreProjection
    >>> FolkloreProjection(eps=0.5, random_state=0).fit_transform(np.ones((8, 100))).shape
    (8, 12)
    """

    def __init__(
        self, *, eps: float = 0.3, random_state: RandomState = None, n_threads: int | None = None
    ) -> None:
        self.eps = eps
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw the map for the shape of X.

        Parameters
        ----------
        X : array-like (n, d)
            Rows, of which only the shape matters.
        y : ignored
            Present by convention.

        Returns
        -------
        FolkloreProjection
            The fitted estimator.
        """
        rows = check_rows(self, X, reset=True)
        n_samples, n_features = rows.shape
        self.n_components_ = target_dimension(
            eps=self.eps, rule="folklore", n_samples=n_samples, n_features=n_features
        )
        self.projection_ = SignProjection(
            self.n_components_,
            random_state=resolve_key(self.random_state),
            n_threads=self.n_threads,
        ).fit(rows)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.floating[Any]]:
        """Return X R, n x t.

        Parameters
        ----------
        X : array-like (n, d)
            Finite rows.

        Returns
        -------
        ndarray (n, t)
            float64 for float64 rows, float32 for smaller types.
        """
        check_is_fitted(self)
        return np.asarray(self.projection_.transform(check_rows(self, X, reset=False)))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
