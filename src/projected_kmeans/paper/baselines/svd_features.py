"""Baseline: coordinates along singular vectors (Table 1, row 1; Table 2, "SVD").

The caller chooses the number of coordinates; Table 1 takes k.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import Tags
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted, validate_data

from projected_kmeans.blas_threads import multiply, strictly
from projected_kmeans.checks import check_choice, check_count
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.results import Floats

ALGORITHMS = ("exact", "arpack", "randomized")


class Decomposition(NamedTuple):
    """Leading singular vectors and values: rows are about ``(left * values) @ right``."""

    left: Floats
    values: Floats
    right: Floats


class SVDFeatures(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
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

    Attributes
    ----------
    components_ : ndarray (t, d)
        Right singular vectors, as rows.
    singular_values_ : ndarray (t,)
        In descending order.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import SVDFeatures
    >>> X = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> SVDFeatures(2).fit_transform(X) + 0.0
    array([[3., 0.],
           [0., 2.],
           [0., 0.]])
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
        """Find the leading singular vectors of X.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Rows; they are not centred.
        y : ignored
            Present by convention.

        Returns
        -------
        SVDFeatures
            The fitted estimator.
        """
        self._decompose(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> Floats:
        """Find the leading singular vectors of X and return U_t Sigma_t, or U_t.

        Parameters
        ----------
        X : array-like (n, d)
            Rows.
        y : ignored
            Present by convention.

        Returns
        -------
        ndarray of float64 (n, t)
            Computed from the left singular vectors, because X V_t Sigma_t^-1 rounds differently.
        """
        found = self._decompose(X)
        return found.left * found.values if self.scaled else found.left

    def transform(self, X: ArrayLike) -> Floats:
        """Return X V_t if ``scaled``, else X V_t divided by the singular values.

        Parameters
        ----------
        X : array-like (n, d)
            New rows.

        Returns
        -------
        ndarray of float64 (n, t)
            Columns whose singular value is zero are zero.
        """
        check_is_fitted(self)
        rows: Any = validate_data(
            self, X, reset=False, dtype=np.float64, accept_sparse=self._takes_sparse
        )
        turned: Any = self.components_.T
        along: Floats = rows @ turned if issparse(rows) else multiply(rows, turned)
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
            found = decompose_exactly(rows, self.n_components)
        else:
            found = self._decompose_truncated(rows)
        self.components_, self.singular_values_ = found.right, found.values
        return found

    @property
    def _takes_sparse(self) -> str | bool:
        """Return the sparse format that the algorithm takes; LAPACK takes dense rows only."""
        return "csr" if self.algorithm in ("arpack", "randomized") else False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._takes_sparse)
        return tags

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
    def _n_features_out(self) -> int:
        return len(self.components_)


def decompose_exactly(rows: Floats, n_components: int) -> Decomposition:
    """Return leading singular vectors by LAPACK, with signs that do not depend on its version.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        The matrix.
    n_components : int
        Number of singular vectors, at most min(n, d).

    Examples
    --------
    >>> decompose_exactly(np.diag([1.0, 5.0]), 1).values
    array([5.])
    """
    found: Any = strictly(lambda: scipy.linalg.svd(rows, full_matrices=False))
    left, right = svd_flip(found[0], found[2], u_based_decision=False)
    return Decomposition(
        np.ascontiguousarray(left[:, :n_components]),
        found[1][:n_components],
        np.ascontiguousarray(right[:n_components]),
    )


def _divide(columns: Floats, values: Floats) -> Floats:
    """Return columns divided by values; zero columns if a value is zero up to rounding."""
    smallest = values.max(initial=0.0) * np.finfo(np.float64).eps
    return np.divide(columns, values, out=np.zeros_like(columns), where=values > smallest)
