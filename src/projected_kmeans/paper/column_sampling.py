"""Baseline: columns sampled by their weight in the leading singular vectors (Table 1, row 3).

Draws columns and rescales them; it does not look at clusters.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from projected_kmeans.dimensions import check_eps
from projected_kmeans.keys import RandomState, open_stream, resolve_key
from projected_kmeans.paper.streams import COLUMNS, SINGULAR_VECTORS
from projected_kmeans.paper.svd_features import decompose_exactly
from projected_kmeans.parameters import check_choice, check_count
from projected_kmeans.results import Floats

SINGULAR_VECTOR_KINDS = ("exact", "approximate")


def sampled_dimension(n_clusters: int, eps: float) -> int:
    """Return how many columns Table 1 asks for: k log2(k / eps) / eps^2, with constant one.

    Parameters
    ----------
    n_clusters : int
        k.
    eps : float
        The error in (0, 1).

    Examples
    --------
    >>> sampled_dimension(3, 0.3)
    111
    """
    check_count("n_clusters", n_clusters)
    check_eps(eps)
    return math.ceil(n_clusters * math.log2(n_clusters / eps) / eps**2)


class ColumnSampling(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Actual columns of the data, drawn by their leverage and rescaled: A S.

    With V_k the leading right singular vectors, column i is drawn with probability
    p_i = ||row i of V_k||^2 / k in each of r independent draws, and divided by sqrt(r p_i), so
    that E[A S S^T A^T] = A A^T where every column can be drawn. Optimal clusterings of A S are
    within 2 + eps of the optimum (Boutsidis, Mahoney, Drineas 2009).

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        r. "auto" is k log2(k / eps) / eps^2, which may exceed d: draws repeat columns.
    n_clusters : int, default=8
        k.
    eps : float, default=0.3
        The error in (0, 1), used by "auto" and by "approximate".
    singular_vectors : {"exact", "approximate"}, default="exact"
        "approximate" takes V_k from the row space that a Gaussian matrix of
        k + ceil(k / eps) + 1 columns finds: scikit-learn's `randomized_svd` without power
        iterations.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the draws.

    Attributes
    ----------
    columns_ : ndarray of int64 (r,)
        The columns drawn, in the order of the draws.
    scales_ : ndarray (r,)
        What each is multiplied by.
    probabilities_ : ndarray (d,)
        p.
    n_components_ : int
        r.
    key_ : int
        What fixes the draws.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import ColumnSampling
    >>> X = np.array([[5.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
    >>> sampling = ColumnSampling(4, n_clusters=2, random_state=0).fit(X)
    >>> sampling.probabilities_.round(2)
    array([0.48, 0.47, 0.05])
    >>> sampling.transform(X).shape
    (2, 4)
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_clusters: int = 8,
        eps: float = 0.3,
        singular_vectors: str = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.eps = eps
        self.singular_vectors = singular_vectors
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw the columns.

        Parameters
        ----------
        X : array-like (n, d)
            Rows.
        y : ignored
            Present by convention.

        Returns
        -------
        ColumnSampling
            Itself.
        """
        check_count("n_components", self.n_components, word="auto")
        check_choice("singular_vectors", self.singular_vectors, SINGULAR_VECTOR_KINDS)
        wanted = sampled_dimension(self.n_clusters, self.eps)
        rows = validate_data(self, X, dtype=np.float64)
        if self.n_clusters > min(rows.shape):
            raise ValueError(
                f"n_clusters={self.n_clusters} exceeds the rank that n_samples={rows.shape[0]} "
                f"and n_features={rows.shape[1]} allow; use at most {min(rows.shape)}"
            )
        self.n_components_ = wanted if isinstance(self.n_components, str) else self.n_components
        self.key_ = resolve_key(self.random_state)
        self.probabilities_ = self._weigh_columns(rows)
        stream = open_stream(self.key_, COLUMNS)
        self.columns_ = stream.choice(
            rows.shape[1], self.n_components_, replace=True, p=self.probabilities_
        )
        chances = self.probabilities_[self.columns_]
        self.scales_ = 1.0 / np.sqrt(self.n_components_ * chances)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the drawn columns, rescaled.

        Parameters
        ----------
        X : array-like (n, d)
            Rows.

        Returns
        -------
        ndarray of float64 (n, r)
            A S.
        """
        check_is_fitted(self)
        rows: Floats = validate_data(self, X, reset=False, dtype=np.float64)
        sampled: Floats = rows[:, self.columns_] * self.scales_
        return sampled

    def _weigh_columns(self, rows: Floats) -> Floats:
        if self.singular_vectors == "exact":
            right = decompose_exactly(rows, self.n_clusters).right
        else:
            seed = int(open_stream(self.key_, SINGULAR_VECTORS).integers(2**32))
            right = randomized_svd(
                rows,
                self.n_clusters,
                n_oversamples=math.ceil(self.n_clusters / self.eps) + 1,
                n_iter=0,
                power_iteration_normalizer="none",
                transpose=False,
                random_state=seed,
            )[2]
        leverage = np.einsum("ij,ij->j", right, right)
        chances: Floats = leverage / leverage.sum()
        return chances

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)
