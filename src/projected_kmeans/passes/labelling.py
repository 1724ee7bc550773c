"""SCORE: labels of new rows and distances to their centers, block by block, in one walk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges, ColumnScan
from projected_kmeans.blocks.holes import drop_holes
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.blocks.unit_length import UnitRows, to_unit_rows
from projected_kmeans.passes.assignment import assign_rows, own_distances
from projected_kmeans.results import Floats, Labels


class LabelledBlock(NamedTuple):
    """The labels of the rows of a block.

    Attributes
    ----------
    start : int
        The index of the first row.
    labels : ndarray of int32
        A label for each row of the block.
    distances : ndarray of float64 or None
        The distance of each row to its center, if that was asked for.
    """

    start: int
    labels: Labels
    distances: Floats | None = None


def label_blocks(
    source: BlockSource,
    centers: Floats,
    n_threads: int = 0,
    *,
    spherical: bool = False,
    measured: bool = False,
    skips_holes: bool = False,
) -> Iterator[LabelledBlock]:
    """Yield the labels of each block; raise at a block with an entry that is not finite.

    The label of a row depends on that row and the centers alone. Of equally near centers the one
    with the lowest index wins.

    Parameters
    ----------
    source : BlockSource
        The rows as the user gave them.
    centers : ndarray of float64 (k, d)
        The centers.
    n_threads : int, default=0
        The number of threads; 0 means as many as OpenMP allows.
    spherical : bool, default=False
        Whether to divide each row by its length first.
    measured : bool, default=False
        Whether to measure the distance of each row to its center.
    skips_holes : bool, default=False
        Whether rows with NaN get the label -1 and the distance NaN, instead of an error.
    """
    for block in source:
        if measured:
            yield measure_block(block, centers, n_threads, spherical, skips_holes)
        else:
            labels = label_block(block, centers, n_threads, spherical, skips_holes)
            yield LabelledBlock(block.start, labels)


def label_block(
    block: Block, centers: Floats, n_threads: int, spherical: bool, skips_holes: bool = False
) -> Labels:
    """Return the labels of the rows of one block; raise if an entry is not finite."""
    if skips_holes:
        complete, holes = drop_holes(block)
        labels = np.empty(0, dtype=np.int32)
        if complete.rows.shape[0]:
            labels = label_block(complete, centers, n_threads, spherical)
        return holes.spread(labels, -1)
    return _label(block, centers, n_threads, spherical)[0]


def measure_block(
    block: Block, centers: Floats, n_threads: int, spherical: bool, skips_holes: bool = False
) -> LabelledBlock:
    """Return the labels of one block and the distances of its rows to their centers, in float64."""
    if skips_holes:
        complete, holes = drop_holes(block)
        found = LabelledBlock(block.start, np.empty(0, dtype=np.int32), np.empty(0))
        if complete.rows.shape[0]:
            found = measure_block(complete, centers, n_threads, spherical)
        assert found.distances is not None
        distances = holes.spread(found.distances, np.nan)
        return LabelledBlock(block.start, holes.spread(found.labels, -1), distances)
    labels, rows, ranges = _label(block, centers, n_threads, spherical)
    squared = own_distances(open_blocks(rows), centers, labels, ranges, n_threads)
    return LabelledBlock(block.start, labels, np.sqrt(squared))


def _label(
    block: Block, centers: Floats, n_threads: int, spherical: bool
) -> tuple[Labels, Any, ColumnRanges]:
    """Return the labels of a block, its rows as they are compared with centers, and ranges."""
    # The scan is told of one row only, so that it does not refuse data of which only sums over
    # all rows would overflow: no sums are taken here.
    scan = ColumnScan((1, centers.shape[1]), n_threads)
    scan.task.run(block)
    ranges, rows = scan.finish(), block.rows
    if spherical:
        ranges, rows = UnitRows.bound(ranges), to_unit_rows(rows)
    labels = np.zeros(rows.shape[0], dtype=np.int32)
    assign_rows(
        open_blocks(rows), centers, labels, keep_ties=False, ranges=ranges, n_threads=n_threads
    )
    return labels, rows, ranges
