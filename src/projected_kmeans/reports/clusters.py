"""The clusters of a report: their sizes and spreads, and the rows that represent them.

Chooses clusters and describes their members; `rows` has measured the distances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.passes.cluster_columns import ClusterColumns
from projected_kmeans.passes.ranked_rows import no_rows
from projected_kmeans.reports.members import (
    ImageShape,
    deviations_of,
    find_columns,
    flatten_row,
    values_of,
)
from projected_kmeans.reports.pictures import encode_png
from projected_kmeans.reports.rows import N_MEMBERS, ClusterWalk, SampledRows
from projected_kmeans.reports.separation import Separation
from projected_kmeans.reports.values import ClusterFacts, ClusterMembers, ColumnFacts, Member
from projected_kmeans.results import Floats
from projected_kmeans.search.settings import parse_memory

# Members are shown of this many clusters, the largest.
MAX_SHOWN_CLUSTERS = 48

# Sampled rows may take this many bytes in double precision, or an eighth of the memory limit if
# that is less; but at least 50 rows are sampled.
MAX_SAMPLE_BYTES = 2**28
MEMORY_LIMIT_DIVISOR = 8
MIN_SAMPLED_ROWS = 50


class ReportRows(NamedTuple):
    """The rows of a fit, as its report needs them.

    Attributes
    ----------
    source : BlockSource
        All rows, of unit length if the metric is "cosine".
    sample : SampledRows
        A random sample.
    max_rows : int
        The most rows that may be in memory at once.
    walk : ClusterWalk
        What was measured in the walk over all rows.
    names : sequence of str or None
        The names of the columns.
    image_shape : tuple of int or None
        The shape of rows that are pictures.
    means : ndarray (k, d)
        The means of the clusters.
    columnwise : bool
        Whether pictures are stored column by column.
    """

    source: BlockSource
    sample: SampledRows
    max_rows: int
    walk: ClusterWalk
    names: Sequence[str] | None
    image_shape: ImageShape | None
    means: Floats
    columnwise: bool = False

    def draw(self, values: Any) -> str | None:
        """Return a row or a center as a PNG in base64; None if rows are not pictures."""
        if self.image_shape is None:
            return None
        flat = flatten_row(values)
        if self.columnwise and len(self.image_shape) == 2:
            flat = np.ravel(flat.reshape(self.image_shape[::-1]).T)
        return encode_png(flat, self.image_shape)

    @property
    def spread(self) -> Floats:
        """The root of the (weighted) mean squared distance of each cluster to its center."""
        mass = np.where(self.walk.mass > 0, self.walk.mass, 1.0)
        return np.asarray(np.sqrt(self.walk.inertia / mass))

    def measure_columns(self) -> ClusterColumns:
        """Return the means of clusters and columns; deviations are those of the sample."""
        walk = self.walk
        mean = np.average(self.means, axis=0, weights=walk.mass)
        deviation = deviations_of(self.sample.rows)
        none = no_rows(len(self.means), 0)
        return ClusterColumns(walk.rows, walk.mass, self.spread, self.means, mean, deviation, none)


def count_sampled_rows(source: BlockSource, memory_limit: int | str | None) -> int:
    """Return how many rows a report may hold in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.blocks.memory_blocks import open_blocks
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


def choose_clusters(rows: ReportRows) -> list[int]:
    """Return the labels of the clusters whose members are shown, largest cluster first."""
    sizes = rows.walk.rows
    limit = max(1, min(MAX_SHOWN_CLUSTERS, rows.max_rows // (2 * N_MEMBERS)))
    order = np.argsort(-sizes, kind="stable")[:limit]
    return [int(label) for label in order if sizes[label]]


def describe_clusters(
    rows: ReportRows, chosen: Sequence[int], names: Sequence[str] | None, separation: Separation
) -> tuple[ClusterFacts, ...]:
    """Return the facts of all clusters; the chosen ones have their centers as pictures."""
    walk, spread, pictured = rows.walk, rows.spread, set(chosen)
    farthest = np.sqrt(np.where(np.isfinite(walk.far[:, 0]), walk.far[:, 0], 0.0))
    measured = rows.measure_columns() if rows.image_shape is None else None
    sparse = rows.source.sparse

    def describe(label: int) -> ClusterFacts:
        true, typical = separation.majorities[label], int(walk.nearest[label, 0])
        summary = None
        if measured is not None and walk.rows[label]:
            summary = find_columns(measured, label, rows.names, sparse=sparse)[2]
        return ClusterFacts(
            cluster=label,
            rows=int(walk.rows[label]),
            inertia=float(walk.inertia[label]),
            spread=float(spread[label]),
            farthest=float(farthest[label]),
            name=None if names is None else str(names[label]),
            picture=rows.draw(rows.means[label]) if label in pictured else None,
            summary=summary,
            representative=typical if typical >= 0 else None,
            silhouette=separation.silhouettes[label],
            nearest=separation.nearest[label],
            majority=None if true is None else true.name,
            purity=None if true is None else true.share,
        )

    return tuple(map(describe, range(len(rows.means))))


def describe_members(rows: ReportRows, chosen: Sequence[int]) -> tuple[ClusterMembers, ...]:
    """Return typical and outlying rows of the chosen clusters, in the order of these."""
    walk = rows.walk
    measured = rows.measure_columns() if rows.image_shape is None else None
    picked = np.concatenate([walk.nearest[chosen], walk.farthest[chosen]], axis=None)
    indices = np.unique(picked[picked >= 0])
    content = rows.source.select(indices)  # all in one read, because files are read forwards
    places = {int(index): place for place, index in enumerate(indices)}

    def show(row: int, square: float, columns: Sequence[int]) -> Member:
        place = places[row]
        look = content[[place]] if rows.source.sparse else content[place]
        values = values_of(look, columns)
        return Member(row, math.sqrt(max(square, 0.0)), rows.draw(look), values)

    found = []
    for label in chosen:
        columns: list[int] = []
        facts: tuple[ColumnFacts, ...] = ()
        if measured is not None:
            sparse = rows.source.sparse
            columns, facts, _ = find_columns(measured, label, rows.names, sparse=sparse)
        near = dict(zip(walk.nearest[label].tolist(), walk.near[label].tolist(), strict=True))
        far = dict(zip(walk.farthest[label].tolist(), walk.far[label].tolist(), strict=True))
        typical = tuple(show(row, near[row], columns) for row in near if row >= 0)
        outlying = tuple(
            show(row, far[row], columns) for row in far if row >= 0 and row not in near
        )
        found.append(ClusterMembers(label, typical, outlying, facts))
    return tuple(found)
