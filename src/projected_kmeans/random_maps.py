"""REDUCE: what all random maps share: fitting from a shape, and walking over dense or sparse rows.

Knows no particular map; `projections.py` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks import ArrayBlocks, compute_type, scan_columns, scan_sparse
from projected_kmeans.dimensions import check_eps, target_dimension
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.parameters import check_components, check_count, check_rows

SparseMatrix: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"


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
        """Write the sketch of a block of dense rows into ``out``."""

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""


def fit_shape(projection: RandomMap, n_samples: int, n_features: int) -> None:
    """Fix a map for that many rows of that many features: all that fitting takes from data."""
    check_eps(projection.eps)
    check_components(projection.n_components, n_features)
    if projection.n_clusters is not None:
        check_count("n_clusters", projection.n_clusters)
    if projection.n_threads is not None:
        check_count("n_threads", projection.n_threads)
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


class MapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The scikit-learn face of a map, which itself has only to project blocks and sparse rows."""

    def fit(self: RandomMap, X: ArrayLike, y: object = None) -> Any:
        """Fix the map for rows like those of X, of which only the shape matters.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Rows, finite.
        y : ignored
            Present by convention.

        Returns
        -------
        transformer
            Itself.
        """
        rows = check_rows(self, X, reset=True, accept_sparse=True)
        _scan(rows)
        fit_shape(self, *rows.shape)
        return self

    def transform(self: RandomMap, X: ArrayLike) -> NDArray[Any]:
        """Return the sketch of X, n x t.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Rows, finite. Sparse rows are never made dense.

        Returns
        -------
        ndarray (n, t)
            float64 for float64 rows, float32 for smaller types.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, accept_sparse=True)
        _scan(rows)
        if isinstance(rows, np.ndarray):
            return sketch_rows(self, ArrayBlocks(rows))
        sketch = np.empty((rows.shape[0], self.n_components_), dtype=rows.dtype)
        self.project_sparse(rows, sketch)
        return sketch

    @property
    def _n_features_out(self: RandomMap) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scan(rows: Any) -> None:
    if scipy.sparse.issparse(rows):
        scan_sparse(rows)
    else:
        scan_columns(ArrayBlocks(rows))
