"""What a report measures on the rows: distances of all rows, a map and a curve from a sample.

Distances take one walk over the rows. It draws nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import REPORT_ROWS, open_stream
from projected_kmeans.passes.problem import assign_rows, own_distances
from projected_kmeans.passes.ranked_rows import no_rows, rank_rows
from projected_kmeans.projections.spectral import SpectralProjection
from projected_kmeans.reports.curves import DimensionCurve
from projected_kmeans.reports.values import RowMap
from projected_kmeans.results import Floats, Labels

# The most rows on the map: enough to see the clusters, few enough for a small page that zooms
# smoothly.
MAX_MAP_ROWS = 3000

# The number of typical rows, and of outlying rows, that are kept for each cluster.
N_MEMBERS = 4

# Significant digits of coordinates, which are only drawn.
DRAWN_DIGITS = 5


class ClusterWalk(NamedTuple):
    """What one walk over the rows measures. Row i of each array belongs to cluster i.

    Attributes
    ----------
    rows : ndarray of int64 (k,)
        The number of rows.
    inertia : ndarray (k,)
        The (weighted) sum of squared distances to the center.
    mass : ndarray (k,)
        The sum of the weights.
    nearest, farthest : ndarray of int64 (k, N_MEMBERS)
        Indices of the rows nearest to the center and farthest from it; -1 if there are fewer rows.
    near, far : ndarray of float64 (k, N_MEMBERS)
        The squared distances of these rows.
    """

    rows: NDArray[np.int64]
    inertia: Floats
    mass: Floats
    nearest: NDArray[np.int64]
    near: Floats
    farthest: NDArray[np.int64]
    far: Floats


class SampledRows(NamedTuple):
    """Some rows.

    Attributes
    ----------
    indices : ndarray of int64 (m,)
        Their indices, ascending.
    rows : ndarray or CSR (m, d)
        The rows in the original columns.
    sketch : ndarray or CSR (m, t)
        The same rows in the sketch; the rows themselves if there is no sketch.
    centers : ndarray (k, t)
        The centers in the sketch.
    means : ndarray (k, t)
        The means of the clusters in the sketch. They differ from the centers if these are
        directions.
    """

    indices: NDArray[np.int64]
    rows: Any
    sketch: Any
    centers: Any
    means: Any


def walk_clusters(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    weights: Floats | None = None,
    n_threads: int = 0,
) -> ClusterWalk:
    """Measure the distance of every row to the center of its cluster, block by block.

    Parameters
    ----------
    source : BlockSource
        n rows.
    centers : ndarray of float64 (k, d)
        The centers, in the order of the labels.
    labels : ndarray of int32 (n,)
        The cluster of every row.
    weights : ndarray of float64 (n,), optional
        None counts every row once.
    n_threads : int, default=0
        0 uses as many threads as OpenMP allows.
    """
    k = len(centers)
    counts, inertia, mass = np.zeros(k, np.int64), np.zeros(k), np.zeros(k)
    nearest, farthest = no_rows(k, N_MEMBERS), no_rows(k, N_MEMBERS)
    for block in source:
        own = labels[block.span]
        inside = own >= 0  # other rows were set aside, and may have holes
        rows = block.rows if inside.all() else block.rows[inside]
        distances = np.zeros(len(own))
        distances[inside] = _distances(rows, centers, own[inside], n_threads)
        counts += np.bincount(own[inside], minlength=k)
        share = np.ones(len(own)) if weights is None else weights[block.span]
        mass += np.bincount(own[inside], share[inside], minlength=k)
        inertia += np.bincount(own[inside], (share * distances)[inside], minlength=k)
        rank_rows(nearest, own, distances, block.start)
        rank_rows(farthest, own, -distances, block.start)
    return ClusterWalk(
        counts,
        inertia,
        mass,
        nearest["row"],
        nearest["key"],
        farthest["row"],
        -farthest["key"],
    )


def sample_rows(
    source: BlockSource,
    centers: NDArray[Any],
    projection: Any,
    n_rows: int,
    key: int,
    labels: Labels | None = None,
    means: Floats | None = None,
) -> SampledRows:
    """Draw rows uniformly without replacement, and sketch them as the fit did.

    Parameters
    ----------
    source : BlockSource
        All rows.
    centers : ndarray (k, d)
        The centers of the clusters.
    projection : transformer or None
        The map of the fit; None if there was no sketch.
    n_rows : int
        The number of rows to draw; all rows if there are fewer.
    key : int
        Fixes the draws.
    labels : ndarray of int32 (n,), optional
        Rows with a negative label were set aside and are not drawn.
    means : ndarray (k, d), optional
        The means of the clusters, if the centers are not their means.
    """
    means = centers if means is None else means
    total = source.shape[0]
    inside = np.arange(total) if labels is None else np.flatnonzero(labels >= 0)
    stream = open_stream(key, REPORT_ROWS)
    drawn = inside[stream.choice(len(inside), min(n_rows, len(inside)), replace=False)]
    indices = np.sort(drawn)
    rows = source.select(indices)
    if projection is None:
        return SampledRows(indices, rows, rows, centers, means)
    sketched = (np.asarray(projection.transform(some)) for some in (rows, centers, means))
    return SampledRows(indices, rows, *sketched)


def find_means(walk: ClusterWalk, centers: Floats, *, spherical: bool) -> Floats:
    """Return the means of the clusters' rows.

    A center that is a direction has length one. The mean of the unit rows of its cluster has the
    same direction, and its length is their mean cosine to it: 1 - inertia / (2 mass).
    """
    if not spherical:
        return centers
    mass = np.where(walk.mass > 0, walk.mass, 1.0)
    return np.asarray(centers * (1 - walk.inertia / (2 * mass))[:, np.newaxis])


def map_rows(sample: SampledRows, labels: Labels, key: int) -> RowMap:
    """Return sampled rows and all means along the two directions of largest variance."""
    width = min(2, sample.sketch.shape[1])
    directions = SpectralProjection(width, random_state=key).fit(sample.sketch)
    x, y = _columns(directions.transform(sample.sketch))
    center_x, center_y = _columns(directions.transform(sample.means))
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
    """Return what fewer dimensions of the sketch would have cost; None if the inertia is 0.

    The first t dimensions of the sketch choose the nearest center of each sampled row. Its squared
    distance to that center is then measured in the original space.
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
    if not np.isfinite(distances).all():  # a row so far from all centers that it overflowed
        ranges = scan_columns(source, n_threads)
        distances = own_distances(source, centers, labels, ranges, n_threads)
    return distances


def _columns(points: NDArray[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return two columns of points; if there is only one, the second is all zeros."""
    flat = points.astype(np.float64)
    columns = (flat[:, 0], flat[:, 1] if flat.shape[1] > 1 else np.zeros(len(flat)))
    x, y = (tuple(float(f"{value:.{DRAWN_DIGITS}g}") for value in one) for one in columns)
    return x, y
