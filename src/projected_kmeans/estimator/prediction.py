"""Rows given to a fitted estimator: opened within its limit of memory, checked, labelled.

Asks a model for its centers and settings; it fits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnScan, scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.inputs import (
    Columns,
    check_features,
    is_dask,
    open_input,
    open_weights,
)
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.estimator.label_series import label_like
from projected_kmeans.fit.pipeline import open_problem
from projected_kmeans.fit.storage import open_storage
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.labelling import LabelledBlock, label_block, label_blocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.memory_plan import plan_labels
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.sources.protocol import RowSource


def fit_predict(self: Any, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
    """Cluster the rows of X and return ``labels_``, as a Series where X is a DataFrame."""
    return label_like(self.fit(X, y, sample_weight).labels_, X)


def predict(self: Any, X: ArrayLike | RowSource) -> Any:
    """Return the index of the nearest center for every row.

    Parameters
    ----------
    X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
        Rows.

    Returns
    -------
    ndarray of int32 (n,)
        Ties go to the lowest index. A Series where X is a pandas or polars DataFrame, with the
        index of X; a Dask array, not computed yet, where X is Dask's.
    """
    return label_like(find_labels(self, X), X)


def transform(self: Any, X: ArrayLike | RowSource) -> NDArray[Any]:
    """Return the distance of every row to every center.

    Parameters
    ----------
    X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
        Rows.

    Returns
    -------
    ndarray (n, k)
        Euclidean distances. A Dask array, not computed yet, where X is Dask's.
    """
    distances: NDArray[Any] = find_distances(self, X)
    return distances


def score(
    self: Any, X: ArrayLike | RowSource, y: object = None, sample_weight: ArrayLike | None = None
) -> float:
    """Return minus the sum of squared distances of rows to their nearest centers.

    Parameters
    ----------
    X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
        Rows.
    y : ignored
        Present by convention.
    sample_weight : array-like (n,), optional
        Weight of every row.

    Returns
    -------
    float
        The higher, the better.
    """
    with open_checked(self, X, sample_weight) as (problem, centers):
        labels = np.zeros(problem.source.shape[0], dtype=np.int32)
        sums = problem.open_sums(centers)
        problem.assign(centers, labels, keep_ties=False, then=[sums.adding(labels)])
    return -sums.moments().inertia_about_references


def label_input(
    model: Any, X: Any, callback: Callable[[FitState], object] | None = None
) -> Iterator[LabelledBlock]:
    """Yield the labels of rows by the nearest centers, block by block, from the first on.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted.
    X : array-like, sparse matrix or row source (n, d)
        Rows.
    callback : callable, optional
        Called with a `FitState` of the step "predict" after every block; its answer is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> [(start, len(labels)) for start, labels in label_input(model, X)]
    [(0, 4)]
    """
    monitor, spherical = Monitor(callback, 0), model.metric == "cosine"
    with open_source(model, X) as source:
        blocks = label_blocks(source, centers_of(model), model.n_threads or 0, spherical=spherical)
        with monitor.step("predict", source.shape[0], unit_bytes=source.stored_row_bytes):
            for block in blocks:
                monitor.report(block.start + len(block.labels))
                yield block


def find_labels(model: Any, X: Any) -> Any:
    """Return the nearest center of every row: a Dask array, not computed yet, where X is Dask's."""
    check_is_fitted(model)
    if is_dask(X):
        return _map_dask(model, X, label_block, None, np.dtype(np.int32))
    none = np.zeros(0, dtype=np.int32)
    return np.concatenate([none, *(block.labels for block in label_input(model, X))])


def find_distances(model: Any, X: Any) -> Any:
    """Return the distances of every row to all centers; a Dask array where X is Dask's."""
    check_is_fitted(model)
    if is_dask(X):
        centers = model.cluster_centers_
        return _map_dask(model, X, _measure_block, len(centers), centers.dtype)
    with open_checked(model, X) as (problem, centers):
        return _measure(problem, centers)


def _measure(problem: Problem, centers: Floats) -> NDArray[Any]:
    dtype = compute_type(problem.source.dtype)
    frame = Frame.around(centers, dtype, problem.ranges)
    squared = measure_rows(problem.source, centers, frame, problem.n_threads)
    return np.ascontiguousarray(np.sqrt(squared).T / dtype.type(frame.scale))


def _measure_block(block: Block, centers: Floats, n_threads: int, spherical: bool) -> NDArray[Any]:
    source = open_blocks(block.rows)
    scan = ColumnScan((1, centers.shape[1]), n_threads)
    scan.task.run(block)
    problem = open_problem(source, scan.finish(), None, n_threads, spherical=spherical)
    return _measure(problem, centers)


def _map_dask(
    model: Any,
    X: Any,
    function: Callable[..., NDArray[Any]],
    n_columns: int | None,
    dtype: np.dtype[Any],
) -> Any:
    """Return what a function of a block and the model's settings makes of Dask's rows, lazily."""
    from projected_kmeans.blocks.dask.collections import as_matrix, map_rows, names_of

    check_features(model, Columns(as_matrix(X).shape[1], names_of(X)))
    settings = {"n_threads": model.n_threads or 0, "spherical": model.metric == "cosine"}
    return map_rows(X, partial(function, centers=centers_of(model), **settings), n_columns, dtype)


@contextmanager
def open_checked(
    model: Any, X: Any, sample_weight: ArrayLike | None = None
) -> Iterator[tuple[Problem, Floats]]:
    """Open rows, look at all of them, and yield them as a problem, with the model's centers."""
    with open_source(model, X) as source:
        weights = open_weights(sample_weight, source)
        n_threads, spherical = model.n_threads or 0, model.metric == "cosine"
        ranges = scan_columns(source, n_threads)
        problem = open_problem(source, ranges, weights, n_threads, spherical=spherical)
        yield problem, centers_of(model)


def centers_of(model: Any) -> Floats:
    """Return the centers of a fitted model as passes take them."""
    centers: Floats = model.cluster_centers_.astype(np.float64, copy=False)
    return centers


@contextmanager
def open_source(model: Any, X: Any) -> Iterator[BlockSource]:
    """Open rows for a fitted model, within its limit of memory; they are not looked at yet."""
    check_is_fitted(model)
    rows = open_input(model, X, reset=False)
    plan = plan_labels(model.memory_limit, *rows.shape, len(model.cluster_centers_))
    with open_storage(plan) as storage:
        yield storage.open_rows(rows)
