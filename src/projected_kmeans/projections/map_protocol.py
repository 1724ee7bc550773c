"""What all maps share: they are fitted from the shape of the rows, and project block by block.

`MapTransformer` is the base class of the maps of this package, which makes a map a scikit-learn
transformer. `Transformer` says what a fit asks of a map that the caller made. No particular map is
known here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

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
from projected_kmeans.checks import check_count, check_threads
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.projections.target_dimension import (
    DEFAULT_RULE,
    check_eps,
    target_dimension,
)
from projected_kmeans.results import Floats

SparseMatrix: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"


@runtime_checkable
class Transformer(Protocol):
    """What a fit asks of a map that the caller made: two methods of a scikit-learn transformer."""

    def fit(self, X: Any) -> Any:
        """Learn from the rows of X and return the transformer itself."""

    def transform(self, X: Any) -> Any:
        """Return one row of numbers for each row of X."""


def fit_shape(projection: MapTransformer, n_samples: int, n_features: int) -> None:
    """Check the parameters of a map and fix d, t and the key. Most maps need nothing else."""
    check_eps(projection.eps)
    if projection.n_clusters is not None:
        check_count("n_clusters", projection.n_clusters)
    check_threads(projection.n_threads)
    projection.n_features_in_ = n_features
    projection.key_ = resolve_key(projection.random_state)
    projection.n_components_ = projection.choose_components(n_samples, n_features)


def fit_rows(
    projection: MapTransformer, X: ArrayLike, sample_weight: ArrayLike | None = None
) -> None:
    """Fit a map to the rows of X: to their shape, and to what it learns from them."""
    rows = check_rows(projection, X, reset=True, accept_sparse=True)
    weights = check_weights(sample_weight, rows)
    source = open_blocks(rows)
    check_finite(source)
    fit_shape(projection, *rows.shape)
    projection.learn(source, weights)


def sketch_rows(projection: MapTransformer, source: BlockSource) -> NDArray[Any]:
    """Return the sketch of all rows: float64 for float64 rows, float32 for smaller types."""
    shape = (source.shape[0], projection.n_components_)
    sketch = np.empty(shape, compute_type(source.dtype))
    fill_sketch(projection, source, sketch)
    return sketch


def fill_sketch(
    projection: MapTransformer,
    source: BlockSource,
    sketch: Any,
    on_block: OnBlock | None = None,
    first: int = 0,
) -> None:
    """Write the sketch of all rows from ``first`` on into an array, or new rows of their source.

    ``on_block`` is called after every block with the number of rows done.
    """
    project = projection.project_sparse if source.sparse else projection.project_block
    task = Task(partial(_project, project), (fill(sketch),))
    source.walk(task, first=first, on_block=on_block)


def _project(project: Callable[..., None], block: Block, out: NDArray[Any]) -> None:
    project(block.rows, out)


class MapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The scikit-learn transformer that every map is; a subclass projects blocks and sparse rows.

    Its parameters are described in `SignProjection`. A subclass with further parameters has an
    ``__init__`` of its own.
    """

    # The rule in `RULES` that says what t is if ``n_components`` is "auto" and k is known.
    dimension_rule: ClassVar[str] = DEFAULT_RULE
    # Whether the sketch may be finite although a row holds NaN or infinity in some column.
    drops_columns: ClassVar[bool] = False
    # The attributes that `learn` sets, numbers and arrays of numbers. A checkpoint stores them.
    learnt: ClassVar[tuple[str, ...]] = ()
    # d, t, and the key that fixes all randomness, which `fit_shape` sets.
    n_features_in_: int
    n_components_: int
    key_: int

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

    def fit(self, X: ArrayLike, y: object = None) -> Any:
        """Fit the map to rows like those of X. Only the shape of X matters.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Finite rows.
        y : ignored
            Present by convention.

        Returns
        -------
        transformer
            This transformer.
        """
        fit_rows(self, X)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the sketch of X, n x t.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Finite rows. Sparse rows are never made dense.

        Returns
        -------
        ndarray (n, t)
            float64 for float64 rows, float32 for smaller types.
        """
        check_is_fitted(self)
        check_threads(self.n_threads)
        source = open_blocks(check_rows(self, X, reset=False, accept_sparse=True))
        # Rows that are not finite have a sketch that is not, and the sketch is smaller.
        with np.errstate(invalid="ignore", over="ignore"):
            sketch = sketch_rows(self, source)
            suspicious = not np.isfinite(sketch.sum())
        if suspicious or self.drops_columns:
            check_finite(source)
            bad = ~np.isfinite(sketch).all(axis=1)
            if bad.any():  # although the rows are finite
                raise ValueError(
                    f"The sketch of row {int(bad.argmax())} of X overflows {sketch.dtype}; "
                    "divide X by a large constant"
                )
        return sketch

    def choose_components(self, n_samples: int, n_features: int) -> int:
        """Check the parameters and return t for this number of rows and features."""
        most = "n_features", n_features
        check_count("n_components", self.n_components, most=most, word="auto")
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        if self.n_clusters is not None:
            return target_dimension(
                self.n_clusters, eps=self.eps, rule=self.dimension_rule, n_features=n_features
            )
        return target_dimension(
            eps=self.eps,
            rule="johnson-lindenstrauss",
            n_samples=n_samples,
            n_features=n_features,
        )

    def learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Look at the rows. A map that depends on their shape alone has nothing to do."""

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        raise NotImplementedError

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LearnedTransformer(MapTransformer):
    """The transformer of a map that learns from the rows and their weights."""

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Learn the map from the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix (n, d)
            Finite rows.
        y : ignored
            Present by convention.
        sample_weight : array-like (n,), optional
            Weight of every row, not negative.

        Returns
        -------
        transformer
            This transformer.
        """
        fit_rows(self, X, sample_weight)
        return self
