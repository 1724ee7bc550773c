"""REDUCE: random maps to few dimensions that do not look at the data (the paper's steps 1 to 3).

A map is a value: its key, its number of features and of components; no matrix is ever stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from projected_kmeans import _native
from projected_kmeans.blocks import ArrayBlocks, compute_type, scan_columns
from projected_kmeans.dimensions import check_eps, target_dimension
from projected_kmeans.keys import RandomState, draw_words, resolve_key
from projected_kmeans.parameters import check_components, check_count, check_rows

# Bytes of the random matrix that exist at a time where a map needs it in panels.
PANEL_BYTES = 16 * 2**20


@runtime_checkable
class RandomMap(Protocol):
    """What this package's maps have in common, beyond scikit-learn's transformers."""

    n_components: int | str
    eps: float
    n_clusters: int | None
    random_state: RandomState
    n_threads: int | None
    n_features_in_: int
    n_components_: int
    key_: int

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the block's sketch into ``out``."""


class SignProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Multiply by a random sign matrix, the paper's R: entries +1/sqrt(t) and -1/sqrt(t).

    The sign in row i and column j is a pure function of (key, i, j), so R is never stored, every
    machine, thread and block sees the same R, and the first t columns of a wider R are the same
    signs. Rows of float32, float16 and small integers are computed in float32, float64 rows in
    float64, in an order of additions that is fixed for each row.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        t. "auto" asks `target_dimension`: with ``n_clusters`` the rule of Makarychev, Makarychev
        and Razenshteyn (2019), without it the Johnson-Lindenstrauss bound for the number of rows;
        never more than the number of features.
    eps : float, default=0.3
        Error parameter in (0, 1), used by "auto".
    n_clusters : int, optional
        k, used by "auto".
    random_state : int, RandomState instance or None, default=None
        An integer is the key itself.
    n_threads : int, optional
        Threads of the product; by default what OpenMP allows. The result does not depend on it.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        What fixes R.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    See Also
    --------
    GaussianProjection : Normal entries in place of signs.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import SignProjection
    >>> X = np.arange(12.0).reshape(2, 6)
    >>> SignProjection(4, random_state=7).fit_transform(X)
    array([[ 5.5, -0.5, -1.5,  2.5],
           [11.5,  5.5, -1.5,  2.5]])
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.3,
        n_clusters: int | None = None,
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.eps = eps
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fix the map for rows like those of X, of which only the shape matters.

        Parameters
        ----------
        X : array-like (n, d)
            Rows.
        y : ignored
            Present by convention.

        Returns
        -------
        SignProjection
            Itself.
        """
        _fit_rows(self, X)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return X R, n x t.

        Parameters
        ----------
        X : array-like (n, d)
            Rows, finite.

        Returns
        -------
        ndarray (n, t)
            float64 for float64 rows, float32 for smaller types.
        """
        return _transform_rows(self, X)

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the block's sketch into ``out``; of the block only its shape and type matter."""
        scale = 1.0 / math.sqrt(self.n_components_)
        _native.sign_product(block, self.key_, scale, out, self.n_threads or 0)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        return _map_tags(super().__sklearn_tags__())


class GaussianProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Multiply by a random matrix of independent normal entries with variance 1/t.

    The entry in row i and column j is a pure function of (key, i, j); panels of the matrix are
    regenerated when they are needed and multiplied by BLAS, whose rounding may depend on the
    block and the number of threads.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        t, as in `SignProjection`.
    eps : float, default=0.3
        Error parameter in (0, 1), used by "auto".
    n_clusters : int, optional
        k, used by "auto".
    random_state : int, RandomState instance or None, default=None
        An integer is the key itself.
    n_threads : int, optional
        Threads that BLAS may use; by default as many as it likes.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        What fixes the matrix.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    See Also
    --------
    SignProjection : Signs in place of normal entries; faster.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import GaussianProjection
    >>> GaussianProjection(2, random_state=7).fit_transform(np.eye(3)).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.3,
        n_clusters: int | None = None,
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.eps = eps
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fix the map for rows like those of X, of which only the shape matters.

        Parameters
        ----------
        X : array-like (n, d)
            Rows.
        y : ignored
            Present by convention.

        Returns
        -------
        GaussianProjection
            Itself.
        """
        _fit_rows(self, X)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return X times the matrix, n x t.

        Parameters
        ----------
        X : array-like (n, d)
            Rows, finite.

        Returns
        -------
        ndarray (n, t)
            float64 for float64 rows, float32 for smaller types.
        """
        return _transform_rows(self, X)

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the block's sketch into ``out``."""
        out[...] = 0
        width = max(1, PANEL_BYTES // (8 * self.n_components_))
        for first in range(0, block.shape[1], width):
            part = block[:, first : first + width].astype(out.dtype, copy=False)
            shape = (part.shape[1], self.n_components_)
            panel = draw_normals(self.key_, shape, row=first) / math.sqrt(self.n_components_)
            with threadpool_limits(limits=self.n_threads, user_api="blas"):
                out += part @ panel.astype(out.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        return _map_tags(super().__sklearn_tags__())


def draw_normals(
    key: int, shape: tuple[int, int], *, row: int = 0, column: int = 0
) -> NDArray[np.float64]:
    """Return a rectangle of standard normal numbers, each a pure function of its coordinates.

    The upper 53 bits of a word make a uniform number strictly between 0 and 1, and the inverse of
    the normal distribution function makes it normal.
    """
    words = draw_words(key, shape, row=row, column=column)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    normals: NDArray[np.float64] = scipy.special.ndtri(uniform)
    return normals


PROJECTIONS: Mapping[str, Callable[..., RandomMap]] = MappingProxyType(
    {"sign": SignProjection, "gaussian": GaussianProjection}
)


def sketch_rows(
    projection: RandomMap,
    source: ArrayBlocks,
    on_block: Callable[[int], object] | None = None,
) -> NDArray[Any]:
    """Return the sketch of all rows, in the precision that they are computed in."""
    sketch = np.empty((source.shape[0], projection.n_components_), compute_type(source.dtype))
    for index, block in enumerate(source):
        projection.project_block(block.rows, sketch[block.span])
        if on_block is not None:
            on_block(index + 1)
    return sketch


def _fit_rows(projection: RandomMap, X: ArrayLike) -> None:
    rows = check_rows(projection, X, reset=True)
    scan_columns(ArrayBlocks(rows))
    fit_shape(projection, *rows.shape)


def fit_shape(projection: RandomMap, n_samples: int, n_features: int) -> None:
    """Fix a map for that many rows of that many features: all that fitting takes from data."""
    check_eps(projection.eps)
    check_components(projection.n_components, n_features)
    if projection.n_clusters is not None:
        check_count("n_clusters", projection.n_clusters)
    projection.n_features_in_ = n_features
    projection.key_ = resolve_key(projection.random_state)
    if not isinstance(projection.n_components, str):
        projection.n_components_ = int(projection.n_components)
    elif projection.n_clusters is not None:
        projection.n_components_ = target_dimension(
            projection.n_clusters, eps=projection.eps, n_features=n_features
        )
    else:
        projection.n_components_ = target_dimension(
            eps=projection.eps,
            rule="johnson-lindenstrauss",
            n_samples=n_samples,
            n_features=n_features,
        )


def _transform_rows(projection: RandomMap, X: ArrayLike) -> NDArray[Any]:
    check_is_fitted(projection)
    source = ArrayBlocks(check_rows(projection, X, reset=False))
    scan_columns(source)
    return sketch_rows(projection, source)


def _map_tags(tags: Tags) -> Tags:
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags
