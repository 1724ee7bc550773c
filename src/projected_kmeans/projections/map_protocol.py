"""REDUCE: what all random maps share: fitting from a shape, and walking over dense or sparse rows.

Knows no particular map; `projections.py` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import check_finite
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.inputs import check_rows, check_weights
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block, OnBlock, Task, fill
from projected_kmeans.checks import check_components, check_count
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.projections.target_dimension import check_eps, target_dimension
from projected_kmeans.results import Floats

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

    def choose_components(self, n_samples: int, n_features: int) -> int:
        """Check ``n_components`` and return t for that many rows and features."""

    def learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Look at the rows, where the map depends on more than their shape."""

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""


@runtime_checkable
class Transformer(Protocol):
    """What a fit asks of a map that the caller made: the two methods of scikit-learn's."""

    def fit(self, X: Any) -> Any:
        """Learn from the rows of X and return the transformer itself."""

    def transform(self, X: Any) -> Any:
        """Return one row of numbers for each row of X."""


def fit_shape(projection: RandomMap, n_samples: int, n_features: int) -> None:
    """Fix a map for that many rows of that many features: all that most maps take from data."""
    check_eps(projection.eps)
    if projection.n_clusters is not None:
        check_count("n_clusters", projection.n_clusters)
    if projection.n_threads is not None:
        check_count("n_threads", projection.n_threads)
    projection.n_features_in_ = n_features
    projection.key_ = resolve_key(projection.random_state)
    projection.n_components_ = projection.choose_components(n_samples, n_features)


def fit_rows(projection: RandomMap, X: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
    """Fix a map for the rows of X: their shape, and what it learns of them."""
    rows = check_rows(projection, X, reset=True, accept_sparse=True)
    weights = check_weights(sample_weight, rows)
    source = open_blocks(rows)
    check_finite(source)
    fit_shape(projection, *rows.shape)
    projection.learn(source, weights)


def sketch_rows(projection: RandomMap, source: BlockSource) -> NDArray[Any]:
    """Return the sketch of all rows, in the precision that they are computed in."""
    shape = (source.shape[0], projection.n_components_)
    sketch = np.empty(shape, compute_type(source.dtype))
    fill_sketch(projection, source, sketch)
    return sketch


def fill_sketch(
    projection: RandomMap,
    source: BlockSource,
    sketch: Any,
    on_block: OnBlock | None = None,
    first: int = 0,
) -> None:
    """Write the sketch of all rows into an array, or into a place that their source made.

    An array that has some rows already is filled from row ``first`` on.
    """
    project = projection.project_sparse if source.sparse else projection.project_block
    task = Task(partial(_project, project), (fill(sketch),))
    source.walk(task, first=first, on_block=on_block)


def _project(project: Callable[..., None], block: Block, out: NDArray[Any]) -> None:
    project(block.rows, out)


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
        fit_rows(self, X)
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
        source = open_blocks(check_rows(self, X, reset=False, accept_sparse=True))
        check_finite(source)
        return sketch_rows(self, source)

    def choose_components(self: RandomMap, n_samples: int, n_features: int) -> int:
        """Check ``n_components`` and return t for that many rows and features."""
        check_components(self.n_components, n_features)
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        if self.n_clusters is not None:
            return target_dimension(self.n_clusters, eps=self.eps, n_features=n_features)
        return target_dimension(
            eps=self.eps,
            rule="johnson-lindenstrauss",
            n_samples=n_samples,
            n_features=n_features,
        )

    def learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Look at the rows: nothing to do where only their shape matters."""

    @property
    def _n_features_out(self: RandomMap) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LearnedTransformer(MapTransformer):
    """The face of a map that looks at the rows, and at their weights, when it is fitted."""

    def fit(
        self: RandomMap, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Learn the map from the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Rows, finite.
        y : ignored
            Present by convention.
        sample_weight : array-like (n,), optional
            Weight of every row, not negative.

        Returns
        -------
        transformer
            Itself.
        """
        fit_rows(self, X, sample_weight)
        return self
