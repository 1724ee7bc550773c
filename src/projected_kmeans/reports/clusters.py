"""The clusters of a report: their facts, and the rows that represent them.

`passes.cluster_summaries` has measured them; centers are compared with each other, and labels with
true labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.estimator.cluster_descriptions import OutstandingColumns, find_columns
from projected_kmeans.estimator.prediction import Checked
from projected_kmeans.passes.cluster_summaries import ClusterSummaries
from projected_kmeans.reports.pictures import ImageShape, encode_png
from projected_kmeans.reports.values import ClusterFacts, ClusterMembers, ColumnFacts, Member
from projected_kmeans.results import Floats, Labels

# The number of typical rows, and of outlying rows, that are shown for each cluster.
N_MEMBERS = 4

# Members are shown of this many clusters, the largest.
MAX_SHOWN_CLUSTERS = 48

# The number of columns that are shown if rows are not pictures.
N_COLUMNS = 6

# For more clusters the nearest other cluster of each is not looked for.
MAX_COMPARED_CLUSTERS = 2000


class ReportRows(NamedTuple):
    """The rows of a fit, what was measured of them, and how they are shown."""

    checked: Checked
    measured: ClusterSummaries
    max_rows: int  # the most rows that may be in memory at once
    names: Sequence[str] | None  # of the columns
    image_shape: ImageShape | None  # of rows that are pictures
    columnwise: bool  # whether pictures are stored column by column

    def draw(self, values: Any) -> str | None:
        """Return a row or a center as a PNG in base64; None if rows are not pictures."""
        if self.image_shape is None:
            return None
        flat = _flatten_row(values)
        if self.columnwise and len(self.image_shape) == 2:
            flat = np.ravel(flat.reshape(self.image_shape[::-1]).T)
        return encode_png(flat, self.image_shape)

    def find_columns(self, cluster: int) -> OutstandingColumns | None:
        """Return the columns in which a cluster stands out; None if rows are pictures."""
        if self.image_shape is not None:
            return None
        sparse = self.checked.problem.source.sparse
        return find_columns(self.measured, cluster, self.names, N_COLUMNS, sparse=sparse)


class TrueLabel(NamedTuple):
    """The most frequent true label of a cluster, and the share of its rows that have it."""

    name: str
    share: float


class Separation(NamedTuple):
    """How clear each cluster is; entry c belongs to cluster c, and None is not known."""

    silhouettes: Sequence[float | None]  # means of its sampled rows
    nearest: Sequence[int | None]  # the cluster whose center is nearest to its center
    majorities: Sequence[TrueLabel | None]


def choose_clusters(rows: ReportRows) -> list[int]:
    """Return the labels of the clusters whose members are shown, largest cluster first."""
    sizes = rows.measured.rows
    limit = max(1, min(MAX_SHOWN_CLUSTERS, rows.max_rows // (2 * N_MEMBERS)))
    order = np.argsort(-sizes, kind="stable")[:limit]
    return [int(label) for label in order if sizes[label]]


def describe_clusters(
    rows: ReportRows, chosen: Sequence[int], names: Sequence[str] | None, separation: Separation
) -> tuple[ClusterFacts, ...]:
    """Return the facts of all clusters; the chosen ones have their centers as pictures."""
    measured, pictured = rows.measured, set(chosen)
    share, spread = measured.share, measured.spread

    def describe(label: int) -> ClusterFacts:
        true, columns = separation.majorities[label], rows.find_columns(label)
        nearest, farthest = measured.nearest[label], measured.farthest[label]
        there = bool(measured.rows[label])
        return ClusterFacts(
            cluster=label,
            rows=int(measured.rows[label]),
            share=float(share[label]),
            inertia=float(measured.inertia[label]),
            spread=float(spread[label]),
            farthest=-float(farthest["key"][0]) if there else 0.0,
            name=None if names is None else str(names[label]),
            picture=rows.draw(measured.means[label]) if label in pictured else None,
            summary=None if columns is None else columns.cluster_name or None,
            representative=int(nearest["row"][0]) if there else None,
            silhouette=separation.silhouettes[label],
            nearest=separation.nearest[label],
            majority=None if true is None else true.name,
            purity=None if true is None else true.share,
        )

    return tuple(map(describe, range(len(measured.rows))))


def describe_members(rows: ReportRows, chosen: Sequence[int]) -> tuple[ClusterMembers, ...]:
    """Return typical and outlying rows of the chosen clusters, in the order of these."""
    measured, source = rows.measured, rows.checked.problem.source
    listed = np.concatenate([measured.nearest[chosen], measured.farthest[chosen]], axis=1)["row"]
    indices = np.unique(listed[listed >= 0])
    # All in one read, because files are read forwards.
    content = source.select(rows.checked.holes.renumber(indices))
    places = {int(index): place for place, index in enumerate(indices)}

    def show(row: int, distance: float, columns: Sequence[int]) -> Member:
        place = places[row]
        values = _flatten_row(content[[place]] if source.sparse else content[place])
        shown = tuple(float(values[column]) for column in columns)
        return Member(row, distance, rows.draw(values), shown)

    def describe(label: int) -> ClusterMembers:
        columns = rows.find_columns(label)
        shown = [] if columns is None else columns.indices
        near = {row: key for key, row in measured.nearest[label].tolist() if row >= 0}
        far = {row: -key for key, row in measured.farthest[label].tolist() if row >= 0}
        return ClusterMembers(
            label,
            tuple(show(row, near[row], shown) for row in near),
            tuple(show(row, far[row], shown) for row in far if row not in near),
            ()
            if columns is None
            else tuple(map(ColumnFacts, columns.names, columns.values, columns.means)),
        )

    return tuple(map(describe, chosen))


def find_nearest_clusters(centers: Floats, sizes: NDArray[np.int64]) -> list[int | None]:
    """Return the cluster whose center is nearest to that of each cluster; empty ones do not count.

    Examples
    --------
    >>> find_nearest_clusters(np.array([[0.0], [1.0], [5.0], [5.0]]), np.array([2, 2, 2, 0]))
    [1, 0, 1, None]
    """
    there = np.flatnonzero(sizes)
    nearest: list[int | None] = [None] * len(centers)
    if not 2 <= len(there) <= MAX_COMPARED_CLUSTERS:
        return nearest
    with one_blas_thread():
        distances = euclidean_distances(centers[there])
    np.fill_diagonal(distances, np.inf)
    for place, other in zip(there.tolist(), distances.argmin(axis=1).tolist(), strict=True):
        nearest[place] = int(there[other])
    return nearest


def find_majorities(labels: Labels, truth: Any, n_clusters: int) -> list[TrueLabel | None]:
    """Return the most frequent true label of each cluster; None for empty clusters.

    Rows with a negative label do not count.

    Examples
    --------
    >>> find_majorities(np.array([0, 0, 0, 1]), ["cat", "cat", "dog", "dog"], 3)[:2]
    [TrueLabel(name='cat', share=0.6666666666666666), TrueLabel(name='dog', share=1.0)]
    """
    names, codes = np.unique(np.asarray(truth).ravel(), return_inverse=True)
    inside = labels >= 0
    pairs, counts = np.unique(
        labels[inside].astype(np.int64) * len(names) + codes[inside], return_counts=True
    )
    totals: Counter[int] = Counter()
    best: dict[int, tuple[int, int]] = {}
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        label, code = divmod(pair, len(names))
        totals[label] += count
        if count > best.get(label, (0, 0))[0]:
            best[label] = (count, code)
    return [
        TrueLabel(str(names[best[label][1]]), best[label][0] / totals[label])
        if label in best
        else None
        for label in range(n_clusters)
    ]


def _flatten_row(row: Any) -> NDArray[Any]:
    """Return a dense or sparse row as an array of one dimension."""
    is_sparse: bool = scipy.sparse.issparse(row)
    return np.ravel(row.toarray() if is_sparse else row)
