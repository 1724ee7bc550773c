"""SCORE: labels of new rows and distances to their centers, block by block, in one walk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnScan
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.holes import drop_holes
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.blocks.unit_length import UnitRows, to_unit_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.pruned_search import PrunedCenters, is_moderate, is_worthwhile
from projected_kmeans.results import Floats, Labels


class LabelledBlock(NamedTuple):
    """The labels of the rows of a block."""

    start: int  # the index of the first row
    labels: Labels
    distances: Floats | None = None  # of each row to its center, if that was asked for


def label_blocks(
    source: BlockSource,
    centers: Floats,
    n_threads: int = 0,
    *,
    spherical: bool = False,
    measured: bool = False,
    skips_holes: bool = False,
    pruned: bool = True,
) -> Iterator[LabelledBlock]:
    """Yield the labels of each block; raise at a block with an entry that is not finite.

    The label of a row depends on that row and the centers alone. Of equally near centers the one
    with the lowest index wins. Rows are as the user gave them; if ``spherical``, each is divided by
    its length first. If ``skips_holes``, rows with NaN get the label -1 and the distance NaN,
    instead of an error. If ``pruned``, bounds may rule out most centers; that needs memory of its
    own and changes no label.
    """
    pruning = None
    if pruned and not source.sparse and is_worthwhile(source.shape[0], *centers.shape):
        pruning = PrunedCenters(centers, compute_type(source.dtype), n_threads)
    for block in source:
        yield _work(block, centers, n_threads, spherical, skips_holes, measured, pruning)


def label_block(
    block: Block, centers: Floats, n_threads: int, spherical: bool, skips_holes: bool = False
) -> Labels:
    """Return the labels of the rows of one block; raise if an entry is not finite."""
    return _work(block, centers, n_threads, spherical, skips_holes, False).labels


def measure_block(
    block: Block, centers: Floats, n_threads: int, spherical: bool, skips_holes: bool = False
) -> LabelledBlock:
    """Return the labels of one block and the distances of its rows to their centers, in float64."""
    return _work(block, centers, n_threads, spherical, skips_holes, True)


def _work(
    block: Block,
    centers: Floats,
    n_threads: int,
    spherical: bool,
    skips_holes: bool,
    measured: bool,
    pruning: PrunedCenters | None = None,
) -> LabelledBlock:
    """Return the labels of all rows, and their distances if asked for; see `label_blocks`."""
    complete, holes = drop_holes(block) if skips_holes else (block, None)
    n_rows = complete.rows.shape[0]
    labels, distances = np.zeros(n_rows, np.int32), np.empty(0) if measured else None
    if n_rows:
        problem = _open(complete, centers, n_threads, spherical)
        if pruning is not None and is_moderate(problem.ranges):
            frame = Frame.around(centers, compute_type(problem.source.dtype), problem.ranges)
            pruning.label(problem.source.select(), frame, labels)
        else:
            problem.label(centers, labels)
        if measured:
            distances = np.sqrt(problem.distances(centers, labels))
    if holes is None:
        return LabelledBlock(block.start, labels, distances)
    spread = None if distances is None else holes.spread(distances, np.nan)
    return LabelledBlock(block.start, holes.spread(labels, -1), spread)


def _open(block: Block, centers: Floats, n_threads: int, spherical: bool) -> Problem:
    """Return the rows of a block as they are compared with centers."""
    # The scan is told of one row only, so that it does not refuse data of which only sums over
    # all rows would overflow: no sums are taken here.
    scan = ColumnScan((1, centers.shape[1]), n_threads)
    scan.task.run(block)
    ranges, rows = scan.finish(), block.rows
    if spherical:
        ranges, rows = UnitRows.bound(ranges), to_unit_rows(rows)
    return Problem(open_blocks(rows), ranges, None, n_threads)
