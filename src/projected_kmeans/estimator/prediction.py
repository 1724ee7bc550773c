"""Rows given to a fitted model: opened within its limit of memory, checked, labelled, measured.

Takes the model as a frozen `FittedModel`; it fits nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnScan, scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.holes import Holes, drop_holes, leave_out
from projected_kmeans.blocks.inputs import (
    check_features,
    check_weights,
    is_dask,
    open_input,
    skip_holes,
    take_known_columns,
)
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.labelling import (
    LabelledBlock,
    label_block,
    label_blocks,
    measure_block,
)
from projected_kmeans.passes.problem import Problem, measure_rows
from projected_kmeans.results import FitState, Floats, Labels
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.memory_plan import size_label_blocks
from projected_kmeans.search.reduction import open_problem
from projected_kmeans.sources.protocol import is_row_source

# Labels are a Series of this name if the rows came as a table.
SERIES_NAME = "label"


def label_input(
    model: FittedModel,
    X: Any,
    callback: Callable[[FitState], object] | None = None,
    *,
    measured: bool = False,
) -> Iterator[LabelledBlock]:
    """Yield the labels of rows by the nearest centers, block by block, from the first on.

    ``callback`` gets a `FitState` of the step "predict" after every block; what it returns is
    ignored. If ``measured``, the distance of each row to its center is measured, too.
    """
    with open_source(model, X) as source:
        blocks = label_blocks(
            source,
            model.float64_centers,
            model.n_threads,
            spherical=model.spherical,
            measured=measured,
            skips_holes=model.skips_holes,
            pruned=model.settings.memory_limit is None,
        )
        if callback is None:
            yield from blocks
            return
        monitor = Monitor(callback, 0)
        with monitor.step("predict", source.shape[0], unit_bytes=source.stored_row_bytes):
            for block in blocks:
                monitor.report(block.start + len(block.labels))
                yield block


def find_labels(model: FittedModel, X: Any) -> Any:
    """Return the nearest center of every row: a Dask array, not computed yet, if X is Dask's."""
    if is_dask(X):
        return _map_dask(model, X, label_block, None, np.dtype(np.int32))
    none = np.zeros(0, dtype=np.int32)
    return np.concatenate([none, *(block.labels for block in label_input(model, X))])


def measure_nearest(model: FittedModel, X: Any) -> Any:
    """Return the distance of every row to its nearest center: a Dask array if X is Dask's."""
    if is_dask(X):
        return _map_dask(model, X, _measure_own, None, np.dtype(np.float64))
    blocks = label_input(model, X, measured=True)
    return np.concatenate([block.distances for block in blocks if block.distances is not None])


def find_distances(model: FittedModel, X: Any) -> Any:
    """Return the distances of every row to all centers: a Dask array if X is Dask's."""
    if is_dask(X):
        return _map_dask(model, X, _measure_block, len(model.centers), model.centers.dtype)
    with open_checked(model, X) as checked:
        return checked.holes.spread(_measure(checked.problem, model.float64_centers), np.nan)


def sum_distances(
    model: FittedModel, X: Any, sample_weight: ArrayLike | None = None
) -> tuple[float, float]:
    """Return the sum of squared distances of rows to their nearest centers, and of weights."""
    with open_checked(model, X, sample_weight) as checked:
        problem, centers = checked.problem, model.float64_centers
        weights, n_rows = problem.weights, problem.source.shape[0]
        labels, sums = np.zeros(n_rows, dtype=np.int32), problem.open_sums(centers)
        problem.assign(centers, labels, keep_ties=False, then=[sums.adding(labels)])
        total = float(n_rows) if weights is None else math.fsum(weights)
        return sums.about_references().inertia_about_references, total


@contextmanager
def open_source(model: FittedModel, X: Any) -> Iterator[BlockSource]:
    """Open rows for a fitted model, within its limit of memory.

    The number and names of columns are compared with those of the fit. Entries are not read yet.
    """
    rows = open_input(model.estimator, X, reset=False)
    with read_within(model.settings.memory_limit, rows, len(model.centers)) as source:
        yield source


@contextmanager
def read_within(
    limit: int | str | None, rows: BlockSource, n_clusters: int
) -> Iterator[BlockSource]:
    """Yield rows in blocks that a limit of memory allows; in the end, check and close their files.

    Raises if a mapped file was shortened meanwhile.
    """
    if limit is not None:
        rows = rows.resized(size_label_blocks(limit, *rows.shape, n_clusters), None)
    try:
        yield rows
        rows.check_files()
    finally:
        rows.close()


class Checked(NamedTuple):
    """Rows as a problem, all entries finite, and which rows were left out for it."""

    problem: Problem
    holes: Holes  # rows with holes, and rows that are in no cluster
    labels: Labels | None = None  # of the rows of the problem, if they are known


@contextmanager
def open_checked(
    model: FittedModel, X: Any, sample_weight: ArrayLike | None = None
) -> Iterator[Checked]:
    """Open rows as a problem; see `check_source`."""
    with open_source(model, X) as source:
        yield check_source(model, source, sample_weight)


def check_source(
    model: FittedModel,
    source: BlockSource,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Checked:
    """Return opened rows as a problem, after a scan that raises if an entry is not finite.

    Rows with holes are left out if the model skips them. If labels are known, so are the rows that
    are in no cluster.
    """
    opened = skip_holes(source, sample_weight, model.settings.on_missing)
    rows, weights, holes = opened.rows, opened.weights, opened.holes
    if labels is not None:
        inside = labels >= 0
        kept = inside[holes.complete]
        if not kept.any():
            raise ValueError("no row of X is in a cluster; give labels from 0 on")
        holes = holes.add(~inside)
        labels, rows = labels[holes.complete], leave_out(source, holes)
        weights = None if weights is None else check_weights(weights[kept], rows)
    ranges = scan_columns(rows, model.n_threads)
    problem = open_problem(rows, ranges, weights, model.n_threads, spherical=model.spherical)
    return Checked(problem, holes, labels)


def _measure(problem: Problem, centers: Floats) -> NDArray[Any]:
    dtype = compute_type(problem.source.dtype)
    frame = Frame.around(centers, dtype, problem.ranges)
    squared = measure_rows(problem.source, centers, frame, problem.n_threads)
    return np.ascontiguousarray(np.sqrt(squared).T / dtype.type(frame.scale))


def _measure_block(
    block: Block, centers: Floats, n_threads: int, spherical: bool, skips_holes: bool
) -> NDArray[Any]:
    if skips_holes:
        complete, holes = drop_holes(block)
        distances = np.empty((0, len(centers)), compute_type(block.rows.dtype))
        if complete.rows.shape[0]:
            distances = _measure_block(complete, centers, n_threads, spherical, False)
        return holes.spread(distances, np.nan)
    source = open_blocks(block.rows)
    scan = ColumnScan((1, centers.shape[1]), n_threads)
    scan.task.run(block)
    problem = open_problem(source, scan.finish(), None, n_threads, spherical=spherical)
    return _measure(problem, centers)


def _measure_own(
    block: Block, centers: Floats, n_threads: int, spherical: bool, skips_holes: bool
) -> NDArray[Any]:
    distances = measure_block(block, centers, n_threads, spherical, skips_holes).distances
    assert distances is not None
    return distances


def _map_dask(
    model: FittedModel,
    X: Any,
    function: Callable[..., NDArray[Any]],
    n_columns: int | None,
    dtype: np.dtype[Any],
) -> Any:
    """Return what a function of a block and the model makes of Dask's rows, not computed yet."""
    from projected_kmeans.blocks.dask.collections import as_matrix, map_rows

    X = take_known_columns(model.estimator, X)
    check_features(model.estimator, as_matrix(X).shape[1])
    bound = partial(
        function,
        centers=model.float64_centers,
        n_threads=model.n_threads,
        spherical=model.spherical,
        skips_holes=model.skips_holes,
    )
    return map_rows(X, bound, n_columns, dtype)


def label_like(labels: Labels, X: Any) -> Any:
    """Return labels as a Series, with the index of X, if X is a DataFrame, else unchanged.

    Neither pandas nor polars is imported: if the caller gave a table, its package already is.
    """
    if _is_frame(X, "pandas"):
        return sys.modules["pandas"].Series(labels, index=X.index, name=SERIES_NAME)
    if _is_frame(X, "polars"):
        return sys.modules["polars"].Series(SERIES_NAME, labels)
    return labels


def index_of(X: Any) -> Any:
    """Return the index of a pandas DataFrame, the ids of a row source, or None."""
    if is_row_source(X):
        return X.row_ids
    return X.index if _is_frame(X, "pandas") else None


def is_polars(X: Any) -> bool:
    """Return whether X is a DataFrame of polars."""
    return _is_frame(X, "polars")


def _is_frame(X: Any, package: str) -> bool:
    kind = getattr(sys.modules.get(package), "DataFrame", None)
    return kind is not None and isinstance(X, kind)
