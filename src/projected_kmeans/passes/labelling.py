"""SCORE: rows to the nearest of fixed centers, block by block, in one walk.

Finds labels; it knows neither models nor files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnScan
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.blocks.unit_length import UnitRows, to_unit_rows
from projected_kmeans.passes.assignment import assign_rows
from projected_kmeans.results import Floats, Labels


class LabelledBlock(NamedTuple):
    """The index of the first row of a block, and the labels of its rows."""

    start: int
    labels: Labels


def label_blocks(
    source: BlockSource, centers: Floats, n_threads: int = 0, *, spherical: bool = False
) -> Iterator[LabelledBlock]:
    """Yield the labels of each block; raise before a block with an entry that is not finite.

    A row's label depends on that row alone, ties go to the lowest center.

    Parameters
    ----------
    source : BlockSource
        Rows as they were given.
    centers : ndarray of float64 (k, d)
        Where rows may go.
    n_threads : int, default=0
        0 takes what OpenMP allows.
    spherical : bool, default=False
        Whether rows are brought to length one before.
    """
    for block in source:
        yield LabelledBlock(block.start, label_block(block, centers, n_threads, spherical))


def label_block(block: Block, centers: Floats, n_threads: int, spherical: bool) -> Labels:
    """Return the labels of the rows of one block; raise where an entry is not finite."""
    scan = ColumnScan((1, centers.shape[1]), n_threads)  # no sums are taken over rows here
    scan.task.run(block)
    ranges, rows = scan.finish(), block.rows
    if spherical:
        ranges, rows = UnitRows.bound(ranges), to_unit_rows(rows)
    labels = np.zeros(rows.shape[0], dtype=np.int32)
    assign_rows(
        open_blocks(rows), centers, labels, keep_ties=False, ranges=ranges, n_threads=n_threads
    )
    return labels
