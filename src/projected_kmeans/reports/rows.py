"""What a report takes from the rows: distances in one walk, a map and a curve from a sample.

Measures; it does not choose how members look, and it draws nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import REPORT_ROWS, open_stream
from projected_kmeans.passes.assignment import assign_rows, own_distances
from projected_kmeans.projections.spectral import SpectralProjection
from projected_kmeans.reports.values import DimensionCurve, RowMap
from projected_kmeans.results import Floats, Labels

# Rows of the map: enough to see what lies where, few enough for a small file that moves smoothly.
MAP_ROWS = 3000

# Typical and outlying rows that are kept of each cluster.
FEW = 4

# Digits of what is only drawn.
DRAWN_DIGITS = 5


class ClusterWalk(NamedTuple):
    """What one walk over the rows tells of the clusters, a row of each array a cluster.

    Attributes
    ----------
    rows, inertia, mass : ndarray (k,)
        Rows, (weighted) squared distances to the center, and weight.
    nearest, farthest : ndarray of int64 (k, few)
        Indices of the rows nearest to the center, and of those farthest from it; -1 for none.
    near, far : ndarray of float64 (k, few)
        Their squared distances.
    """

    rows: NDArray[np.int64]
    inertia: Floats
    mass: Floats
    nearest: NDArray[np.int64]
    near: Floats
    farthest: NDArray[np.int64]
    far: Floats


class SampledRows(NamedTuple):
    """Some rows in the original space and in the sketch, with the centers there."""

    indices: NDArray[np.int64]
    rows: Any
    sketch: Any
    centers: Any


def walk_clusters(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    weights: Floats | None = None,
    n_threads: int = 0,
) -> ClusterWalk:
    """Measure all rows from their centers, block by block.

    Parameters
    ----------
    source : BlockSource
        n rows.
    centers : ndarray of float64 (k, d)
        One a cluster.
    labels : ndarray of int32 (n,)
        The cluster of every row.
    weights : ndarray of float64 (n,), optional
        None counts every row once.
    n_threads : int, default=0
        0 takes what OpenMP allows.
    """
    k = len(centers)
    counts, inertia, mass = np.zeros(k, np.int64), np.zeros(k), np.zeros(k)
    nearest, farthest = _nobody(k), _nobody(k)
    for block in source:
        own = labels[block.span]
        distances = _distances(block.rows, centers, own, n_threads)
        counts += np.bincount(own, minlength=k)
        share = None if weights is None else weights[block.span]
        mass += np.bincount(own, share, minlength=k)
        inertia += np.bincount(own, distances if share is None else share * distances, minlength=k)
        nearest = _merge(nearest, _first_of_each(own, distances, k, block.start))
        farthest = _merge(farthest, _first_of_each(own, -distances, k, block.start))
    return ClusterWalk(
        counts, inertia, mass, nearest.rows, nearest.keys, farthest.rows, -farthest.keys
    )


def draw_rows(model: Any, source: BlockSource, n_rows: int) -> SampledRows:
    """Draw rows uniformly by the key of a fitted model, and sketch them as its fit did."""
    total = source.shape[0]
    drawn = open_stream(model.key_, REPORT_ROWS).choice(total, min(n_rows, total), replace=False)
    indices = np.sort(drawn)
    rows, centers = source.select(indices), model.cluster_centers_
    if model.projection_ is None:
        return SampledRows(indices, rows, rows, centers)
    sketch = np.asarray(model.projection_.transform(rows))
    return SampledRows(indices, rows, sketch, np.asarray(model.projection_.transform(centers)))


def map_rows(sample: SampledRows, labels: Labels, key: int) -> RowMap:
    """Return where sampled rows and all centers lie along the two directions of most variance."""
    width = min(2, sample.sketch.shape[1])
    directions = SpectralProjection(width, random_state=key).fit(sample.sketch)
    x, y = _columns(directions.transform(sample.sketch))
    center_x, center_y = _columns(directions.transform(sample.centers))
    return RowMap(
        rows=tuple(sample.indices.tolist()),
        clusters=tuple(labels[sample.indices].tolist()),
        x=x,
        y=y,
        center_x=center_x,
        center_y=center_y,
        kept=float(1 - directions.lost_variance_),
    )


def trace_dimensions(
    sample: SampledRows, centers: Floats, labels: Labels, n_threads: int = 0
) -> DimensionCurve | None:
    """Return what fewer dimensions of the sketch would have cost; None where nothing is to lose.

    Each sampled row goes to the center that the first dimensions of the sketch find nearest, and
    its squared distance to that center is measured in the original space.
    """
    t = sample.sketch.shape[1]
    own = labels[sample.indices]
    reached = float(_distances(sample.rows, centers, own, n_threads).sum())
    if not reached > 0:
        return None
    dimensions = sorted({2**power for power in range(t.bit_length()) if 2**power < t} | {t})
    ratios = []
    for width in dimensions:
        part = np.ascontiguousarray(sample.sketch[:, :width])
        some = np.ascontiguousarray(sample.centers[:, :width], dtype=np.float64)
        found = np.zeros(len(own), np.int32)
        assign_rows(open_blocks(part), some, found, keep_ties=False, n_threads=n_threads)
        cost = float(_distances(sample.rows, centers, found, n_threads).sum())
        ratios.append(cost / reached)
    return DimensionCurve(tuple(dimensions), tuple(ratios), len(own))


def _distances(rows: Any, centers: Floats, labels: Labels, n_threads: int) -> Floats:
    """Return squared distances of rows to the centers of their labels."""
    source = open_blocks(rows)
    distances = own_distances(source, centers, labels, n_threads=n_threads)
    if not np.isfinite(distances).all():  # a row much farther away than any center
        ranges = scan_columns(source, n_threads)
        distances = own_distances(source, centers, labels, ranges, n_threads)
    return distances


class _Few(NamedTuple):
    """A few rows of each cluster by ascending key: their keys and indices."""

    keys: Floats
    rows: NDArray[np.int64]


def _nobody(n_clusters: int) -> _Few:
    shape = (n_clusters, FEW)
    return _Few(np.full(shape, np.inf), np.full(shape, -1, np.int64))


def _first_of_each(labels: Labels, keys: Floats, n_clusters: int, start: int) -> _Few:
    """Return the rows of least key of each cluster in a block whose first row is ``start``."""
    order = np.lexsort((keys, labels))
    begins = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    places = begins[:-1, None] + np.arange(FEW)
    there = places < begins[1:, None]
    picked = order[np.minimum(places, len(order) - 1)]
    return _Few(
        np.where(there, keys[picked], np.inf), np.where(there, picked.astype(np.int64) + start, -1)
    )


def _merge(one: _Few, other: _Few) -> _Few:
    keys = np.concatenate([one.keys, other.keys], axis=1)
    rows = np.concatenate([one.rows, other.rows], axis=1)
    order = np.argsort(keys, axis=1, kind="stable")[:, :FEW]
    return _Few(np.take_along_axis(keys, order, 1), np.take_along_axis(rows, order, 1))


def _columns(points: NDArray[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return two columns of points, the second of zeros where there is only one."""
    flat = points.astype(np.float64)
    columns = (flat[:, 0], flat[:, 1] if flat.shape[1] > 1 else np.zeros(len(flat)))
    x, y = (tuple(float(f"{value:.{DRAWN_DIGITS}g}") for value in one) for one in columns)
    return x, y
