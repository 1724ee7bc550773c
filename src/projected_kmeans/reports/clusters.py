"""The clusters of a report: their facts, and the rows that stand for them.

Chooses clusters and shows members; distances come measured, and pages are drawn elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.planning.memory_limit import parse_memory
from projected_kmeans.reports.members import deviations_of, find_columns, values_of
from projected_kmeans.reports.rows import FEW, ClusterWalk, SampledRows
from projected_kmeans.reports.values import ClusterFacts, ClusterMembers, ColumnFacts, Member
from projected_kmeans.results import Floats

# Clusters of which members are shown, the largest.
MOST_SHOWN = 48

# Bytes that sampled rows may take in double precision; of a limit of memory, its eighth part.
SAMPLE_BYTES = 2**28
LIMIT_SHARE = 8
LEAST_ROWS = 50


class Rows(NamedTuple):
    """The rows of a fit as its report needs them."""

    source: BlockSource
    sample: SampledRows
    most_rows: int
    walk: ClusterWalk
    names: Sequence[str] | None
    image_shape: tuple[int, ...] | None


def count_sampled(source: BlockSource, memory_limit: int | str | None) -> int:
    """Return how many rows may be looked at one by one, in little memory.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.blocks.block_source import open_blocks
    >>> count_sampled(open_blocks(np.zeros((9, 1000))), "8MB")
    125
    """
    limit = parse_memory(memory_limit)
    room = SAMPLE_BYTES if limit is None else min(SAMPLE_BYTES, limit // LIMIT_SHARE)
    nonzeros = getattr(source, "nnz", None)
    n_rows, n_columns = source.shape
    row_bytes = 8.0 * n_columns if nonzeros is None else 12.0 * nonzeros / n_rows + 8
    return max(LEAST_ROWS, int(room // row_bytes))


def choose_clusters(rows: Rows) -> list[int]:
    """Return the largest clusters that have rows, as many as can be shown."""
    walk = rows.walk
    most = max(1, min(MOST_SHOWN, rows.most_rows // (2 * FEW)))
    order = np.argsort(-walk.rows, kind="stable")[:most]
    return [int(label) for label in order if walk.rows[label]]


def describe_clusters(
    rows: Rows, centers: Floats, chosen: Sequence[int], names: Sequence[str] | None
) -> tuple[ClusterFacts, ...]:
    """Return the facts of all clusters; those that are chosen have their centers as pictures."""
    walk, pictured = rows.walk, set(chosen)
    spread = np.sqrt(walk.inertia / np.where(walk.mass > 0, walk.mass, 1.0))
    farthest = np.sqrt(np.where(np.isfinite(walk.far[:, 0]), walk.far[:, 0], 0.0))
    return tuple(
        ClusterFacts(
            cluster=label,
            rows=int(walk.rows[label]),
            inertia=float(walk.inertia[label]),
            spread=float(spread[label]),
            farthest=float(farthest[label]),
            name=None if names is None else str(names[label]),
            picture=_picture(center, rows.image_shape) if label in pictured else None,
        )
        for label, center in enumerate(centers)
    )


def describe_members(
    rows: Rows, centers: Floats, chosen: Sequence[int]
) -> tuple[ClusterMembers, ...]:
    """Return typical and outlying rows of the clusters that are chosen, in their order."""
    walk = rows.walk
    mean = np.average(centers, axis=0, weights=walk.rows)
    deviation = deviations_of(rows.sample.rows)
    picked = np.concatenate([walk.nearest[chosen], walk.farthest[chosen]], axis=None)
    indices = np.unique(picked[picked >= 0])
    content = rows.source.select(indices)  # all at once: a file is read forwards only
    places = {int(index): place for place, index in enumerate(indices)}

    def show(row: int, square: float, columns: Sequence[int]) -> Member:
        place = places[row]
        look = content[[place]] if rows.source.sparse else content[place]
        values = values_of(look, columns)
        return Member(row, math.sqrt(max(square, 0.0)), _picture(look, rows.image_shape), values)

    found = []
    for label in chosen:
        columns: list[int] = []
        facts: tuple[ColumnFacts, ...] = ()
        if rows.image_shape is None:
            columns, facts = find_columns(centers[label], mean, deviation, rows.names)
        near = dict(zip(walk.nearest[label].tolist(), walk.near[label].tolist(), strict=True))
        far = dict(zip(walk.farthest[label].tolist(), walk.far[label].tolist(), strict=True))
        typical = tuple(show(row, near[row], columns) for row in near if row >= 0)
        outlying = tuple(
            show(row, far[row], columns) for row in far if row >= 0 and row not in near
        )
        found.append(ClusterMembers(label, typical, outlying, facts))
    return tuple(found)


def _picture(values: Any, shape: tuple[int, ...] | None) -> str | None:
    if shape is None:
        return None
    from projected_kmeans.reports.pictures import encode_png  # so that other reports need no Pillow

    dense = values.toarray() if hasattr(values, "toarray") else values
    return encode_png(np.ravel(dense), shape)
