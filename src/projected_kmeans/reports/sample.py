"""What a report measures on a random sample of the rows: a map, a dimension curve, silhouettes.

The sample is drawn by the key of the fit from the rows that are in a cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.estimator.prediction import Checked
from projected_kmeans.keys import REPORT_ROWS, open_stream
from projected_kmeans.passes.problem import assign_rows, own_distances
from projected_kmeans.projections.spectral import SpectralProjection
from projected_kmeans.reports.values import DimensionCurve, RowMap
from projected_kmeans.results import Floats, Labels
from projected_kmeans.search.settings import parse_memory

# The most rows on the map: enough to see the clusters, few enough for a small page that zooms
# smoothly.
MAX_MAP_ROWS = 3000

# Significant digits of coordinates, which are only drawn.
DRAWN_DIGITS = 5

# Sampled rows may take this many bytes in double precision, or an eighth of the memory limit if
# that is less; but at least 50 rows are sampled.
MAX_SAMPLE_BYTES = 2**28
MEMORY_LIMIT_DIVISOR = 8
MIN_SAMPLED_ROWS = 50

# Silhouettes need the distances between all rows of the sample: 2,000 rows take about a second.
MAX_SILHOUETTE_ROWS = 2000

# A silhouette needs rows to be compared with: clusters with fewer sampled rows have none.
MIN_CLUSTER_ROWS = 2

# Decimals of silhouettes, which are estimates from a sample.
SILHOUETTE_DECIMALS = 4


class SampledRows(NamedTuple):
    """Some rows that are in a cluster."""

    indices: NDArray[np.int64]  # (m,): among all rows, ascending
    labels: Labels  # (m,)
    rows: Any  # (m, d): in the original columns, dense or CSR
    sketch: Any  # (m, t): in the sketch; the rows themselves if there is no sketch
    centers: Any  # (k, t): the centers in the sketch
    means: Any  # (k, t): the means of the clusters there, which with "cosine" are not the centers


class Silhouettes(NamedTuple):
    """The mean silhouette of sampled rows, their number, and the mean of each cluster.

    The mean of a cluster is None if the sample has too few of its rows.
    """

    mean: float
    rows: int
    clusters: tuple[float | None, ...]


def count_sampled_rows(source: BlockSource, memory_limit: int | str | None) -> int:
    """Return how many rows a report may hold in memory.

    Examples
    --------
    >>> count_sampled_rows(open_blocks(np.zeros((9, 1000))), "8MB")
    125
    """
    limit = parse_memory(memory_limit)
    room = MAX_SAMPLE_BYTES
    if limit is not None:
        room = min(room, limit // MEMORY_LIMIT_DIVISOR)
    n_rows, n_columns = source.shape
    row_bytes = 8.0 * n_columns if source.nnz is None else 12.0 * source.nnz / n_rows + 8
    return max(MIN_SAMPLED_ROWS, int(room // row_bytes))


def sample_rows(
    checked: Checked, projection: Any, centers: NDArray[Any], means: Floats, n_rows: int, key: int
) -> SampledRows:
    """Draw rows uniformly without replacement, all if there are fewer; sketch them as the fit did.

    Without a projection there is no sketch.
    """
    source, labels = checked.problem.source, checked.labels
    assert labels is not None
    total = source.shape[0]
    drawn = open_stream(key, REPORT_ROWS).choice(total, min(n_rows, total), replace=False)
    drawn = np.sort(drawn)
    indices, rows = checked.holes.find(drawn), source.select(drawn)
    if projection is None:
        return SampledRows(indices, labels[drawn], rows, rows, centers, means)
    sketched = (np.asarray(projection.transform(points)) for points in (rows, centers, means))
    return SampledRows(indices, labels[drawn], rows, *sketched)


def map_rows(sample: SampledRows, key: int) -> RowMap:
    """Return sampled rows and all means along the two directions of largest variance."""
    width = min(2, sample.sketch.shape[1])
    directions = SpectralProjection(width, random_state=key).fit(sample.sketch)
    x, y = _columns(directions.transform(sample.sketch))
    center_x, center_y = _columns(directions.transform(sample.means))
    return RowMap(
        rows=tuple(sample.indices.tolist()),
        clusters=tuple(sample.labels.tolist()),
        x=x,
        y=y,
        center_x=center_x,
        center_y=center_y,
        kept=float(1 - directions.lost_variance_),
    )


def trace_dimensions(
    sample: SampledRows, centers: Floats, n_threads: int = 0
) -> DimensionCurve | None:
    """Return what fewer dimensions of the sketch would have cost; None if the inertia is 0.

    The first t dimensions of the sketch choose the nearest center of each sampled row. Its squared
    distance to that center is then measured in the original space.
    """
    t = sample.sketch.shape[1]
    reached = _sum_distances(sample.rows, centers, sample.labels, n_threads)
    if not reached > 0:
        return None
    dimensions = sorted({2**power for power in range(t.bit_length()) if 2**power < t} | {t})
    ratios = []
    for width in dimensions:
        part = np.ascontiguousarray(sample.sketch[:, :width])
        points = np.ascontiguousarray(sample.centers[:, :width], dtype=np.float64)
        chosen = np.zeros(len(sample.labels), np.int32)
        assign_rows(open_blocks(part), points, chosen, keep_ties=False, n_threads=n_threads)
        ratios.append(_sum_distances(sample.rows, centers, chosen, n_threads) / reached)
    return DimensionCurve(tuple(dimensions), tuple(ratios), len(sample.labels))


def measure_silhouettes(sample: SampledRows, n_clusters: int) -> Silhouettes | None:
    """Return the silhouettes of sampled rows in the original columns, by scikit-learn.

    Of too many rows some at even distances are taken. None if fewer than two clusters are in the
    sample, or every row is a cluster of its own.
    """
    drawn = len(sample.indices)
    every = np.linspace(0, drawn, min(drawn, MAX_SILHOUETTE_ROWS), endpoint=False).astype(int)
    own = sample.labels[every]
    counts = np.bincount(own, minlength=n_clusters)
    if not 2 <= np.count_nonzero(counts) < len(own):
        return None
    rows = sample.rows[every].astype(np.float64)
    with one_blas_thread():  # so that the result does not depend on the number of threads
        silhouettes = silhouette_samples(rows, own)
    sums = np.bincount(own, silhouettes, minlength=n_clusters)
    means = tuple(
        round(float(total / count), SILHOUETTE_DECIMALS) if count >= MIN_CLUSTER_ROWS else None
        for total, count in zip(sums, counts, strict=True)
    )
    return Silhouettes(round(float(silhouettes.mean()), SILHOUETTE_DECIMALS), len(own), means)


def _sum_distances(rows: Any, centers: Floats, labels: Labels, n_threads: int) -> float:
    """Return the sum of squared distances of rows to the centers of their labels."""
    source = open_blocks(rows)
    distances = own_distances(source, centers, labels, n_threads=n_threads)
    if not np.isfinite(distances).all():  # a row so far from all centers that it overflowed
        ranges = scan_columns(source, n_threads)
        distances = own_distances(source, centers, labels, ranges, n_threads)
    return float(distances.sum())


def _columns(points: NDArray[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return two columns of points; if there is only one, the second is all zeros."""
    flat = points.astype(np.float64)
    columns = (flat[:, 0], flat[:, 1] if flat.shape[1] > 1 else np.zeros(len(flat)))
    x, y = (tuple(float(f"{value:.{DRAWN_DIGITS}g}") for value in column) for column in columns)
    return x, y
