"""SEED: first centers of very many clusters: coarse cells, and a race for centers between them.

Greedy k-means++ over all rows would cost n k. Here each row meets only the centers of its own cell.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.row_arrays import find_largest, take_entries
from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.listed_search import CenterLists
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels
from projected_kmeans.solvers.kmeans_plus_plus import Indices, draw_rows, mass_of
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.seeding import seed_plus_plus

# Cells are found on this many rows each, by this many passes of Lloyd's method.
ROWS_PER_CELL, CELL_PASSES = 128, 8


class CellSeeds(NamedTuple):
    """First centers, and the cells in which they were found.

    Attributes
    ----------
    centers : ndarray of float64 (k, columns)
        Rows of the problem. Centers of the same cell follow each other.
    cells : ndarray of int32 (k,)
        The cell of every center.
    rows : ndarray of int32 (n,)
        The cell of every row.
    """

    centers: Floats
    cells: Labels
    rows: Labels

    def list_cells(self) -> CenterLists:
        """Return the centers of every cell; a cell without centers gets those of a near one."""
        n_cells = int(max(find_largest(self.rows), self.cells.max())) + 1
        members = [np.flatnonzero(self.cells == cell) for cell in range(n_cells)]
        filled = np.flatnonzero([len(one) for one in members])
        near = filled[np.minimum(np.searchsorted(filled, np.arange(n_cells)), len(filled) - 1)]
        return CenterLists.join([members[cell] for cell in near])


def count_cells(n_clusters: int) -> int:
    """Return the number of coarse cells: one for 32 clusters, but at most 2 sqrt(k).

    There are at least 16, if there are as many clusters. In few cells rows meet many centers; in
    many cells the first pass leaves more rows with a center that is not their nearest.

    Examples
    --------
    >>> [count_cells(k) for k in (10, 100, 1000, 8192)]
    [10, 16, 31, 181]
    """
    return min(n_clusters, max(16, min(n_clusters // 32, math.isqrt(4 * n_clusters))))


def seed_by_cells(
    problem: Problem, n_clusters: int, n_held: int, key: int, restart: int = 0
) -> CellSeeds:
    """Choose rows as centers by a race between cells.

    Parameters
    ----------
    problem : Problem
        Dense rows and their weights.
    n_clusters : int
        How many rows to choose.
    n_held : int
        Rows that take part in the race, which are in memory at once; all if that is not less than
        their number. 0 for no race: all rows are one cell, seeded by greedy k-means++.
    key, restart : int
        What fixes the draws.
    """
    stream = open_stream(key, SEEDING, restart)
    n_rows = problem.source.shape[0]
    if n_held == 0:
        first = problem.source.take(seed_plus_plus(problem, n_clusters, stream))
        one_cell = problem.source.new_row_array(np.dtype(np.int32), 0)
        return CellSeeds(first, np.zeros(n_clusters, np.int32), one_cell)
    held = np.arange(n_rows) if n_held >= n_rows else _draw(problem, n_held, stream)
    row_cells = _assign_cells(problem, n_clusters, held, stream)
    everything = len(held) == n_rows
    rows = problem.source.select() if everything else problem.source.select(held)
    weights = problem.weights if everything or problem.weights is None else problem.weights[held]
    sub = replace(problem, source=ArrayBlocks(rows), weights=weights)
    chosen, cells = _race(sub, take_entries(row_cells, held), n_clusters, stream)
    return CellSeeds(problem.source.take(held[chosen]), cells, row_cells)


def _draw(problem: Problem, n_drawn: int, stream: np.random.Generator) -> Indices:
    """Draw some rows with weight, in ascending order; all of those if they are fewer."""
    if problem.weights is None:
        return _draw_places(problem.source.shape[0], n_drawn, stream)
    some = np.flatnonzero(problem.weights)
    return np.asarray(some[_draw_places(len(some), n_drawn, stream)])


def _assign_cells(
    problem: Problem, n_clusters: int, held: Indices, stream: np.random.Generator
) -> Labels:
    """Return the cell of every row: its nearest of a few centers found on a sample."""
    n_cells = count_cells(n_clusters)
    part = held[_draw_places(len(held), ROWS_PER_CELL * n_cells, stream)]
    weights = None if problem.weights is None else problem.weights[part]
    source = ArrayBlocks(problem.source.select(part))
    sample = replace(problem, source=source, weights=weights)
    first = sample.source.take(seed_plus_plus(sample, n_cells, stream))
    found = run_lloyd(sample, first, max_iter=CELL_PASSES)
    cells: Labels = problem.source.new_row_array(np.dtype(np.int32), 0)
    problem.label(found.centers, cells)
    return cells


def _draw_places(n: int, n_drawn: int, stream: np.random.Generator) -> NDArray[np.int64]:
    if n_drawn >= n:
        return np.arange(n)
    return np.sort(stream.choice(n, n_drawn, replace=False, shuffle=False))


def _race(
    problem: Problem, row_cells: Labels, n_clusters: int, stream: np.random.Generator
) -> tuple[Indices, Labels]:
    """Return the rows that win the race, and their cells, ascending by cell."""
    dtype = compute_type(problem.source.dtype)
    rows = np.ascontiguousarray(problem.source.select(), dtype=dtype)
    n_cells = int(row_cells.max()) + 1
    # NumPy sorts integers of 16 bits by counting, which is much faster than by comparing.
    order = np.argsort(row_cells.astype(np.uint16), kind="stable")
    sizes = np.bincount(row_cells, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    seeds = stream.integers(0, 2**64, n_cells, dtype=np.uint64)
    counts, chosen = np.empty(n_cells, np.int64), np.empty(len(order), np.int64)
    times = np.empty(len(order))
    scale = Frame.around(np.zeros((1, rows.shape[1])), dtype, problem.ranges).scale / 2
    _native.race_centers(
        rows,
        problem.weights,
        scale,
        starts,
        order,
        seeds,
        n_clusters,
        counts,
        chosen,
        times,
        problem.n_threads,
    )
    cell_of_place = np.repeat(np.arange(n_cells), sizes)
    placed = np.flatnonzero(np.arange(len(order)) - starts[cell_of_place] < counts[cell_of_place])
    earliest = np.sort(placed[np.argsort(times[placed], kind="stable")[:n_clusters]])
    winners = chosen[earliest]
    if len(winners) < n_clusters:  # there are fewer distinct rows than clusters
        more = draw_rows(mass_of(problem), n_clusters - len(winners), stream)
        winners = np.concatenate([winners, more])
        winners = winners[np.argsort(row_cells[winners], kind="stable")]
    return winners, row_cells[winners]
