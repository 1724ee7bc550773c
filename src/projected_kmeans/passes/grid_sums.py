"""Sums over the rows of each cluster on given grids: exact, so that they merge in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.tasks import Block, Task, add, read
from projected_kmeans.passes.dot_products import ROUNDING, SomeColumns
from projected_kmeans.passes.moment_grids import MomentGrid
from projected_kmeans.passes.moments import Moments
from projected_kmeans.results import Floats, Labels

# Sparse rows are made dense in pieces of this many numbers.
PIECE = 1 << 18

# This many sums take so much memory that what was freed before, and what malloc holds for later, is
# given back first: 50 to 90 MB with 16,384 clusters of 384 columns.
MANY_SUMS = 2**22


@dataclass(frozen=True)
class ColumnPart:
    """The columns that sparse rows have, if rows and references are 0 in all others.

    Attributes
    ----------
    columns : SomeColumns
        The columns.
    lost : ndarray of float64 (3, 1)
        What each row can lose on the grid of all columns; see `MomentGrid.lose`.
    """

    columns: SomeColumns
    lost: Floats


class GridSums:
    """Sums over the rows of every cluster on a grid.

    Parameters
    ----------
    source : BlockSource
        n rows.
    references : ndarray of float64 (k, columns)
        A reference point for each cluster.
    weights : ndarray of float64 (n,) or None
        The weights of the rows; None counts every row once.
    grid : MomentGrid
        The spacings.
    counts : ndarray of float64 (k,) or None
        The number of rows that each cluster has at most; None if it is the mass, because rows
        have no weights, and one grid serves all clusters.
    n_threads : int
        The number of threads; 0 means as many as OpenMP allows.
    dense : bool, default=False
        Whether sparse rows are made dense, a piece at a time. This is slow but has the bits of
        dense rows, also with weights.
    part : ColumnPart, optional
        Which columns rows, references and grid have; by default all.

    Attributes
    ----------
    offsets : ndarray of float64 (2, k, columns)
        The coarse and the fine sums of w (x - r).
    totals : ndarray of float64 (3, k, 2)
        The sums of w in two parts, and of w ||x - r||^2 in three.
    """

    def __init__(
        self,
        source: BlockSource,
        references: Floats,
        weights: Floats | None,
        grid: MomentGrid,
        counts: Floats | None,
        n_threads: int,
        *,
        dense: bool = False,
        part: ColumnPart | None = None,
    ) -> None:
        _give_back_memory(references.size)
        self.offsets = np.zeros((2, *references.shape))
        self.totals = np.zeros((3, len(references), 2))
        self._references, self._weights, self._grid = references, weights, grid
        self._sparse, self._counts = source.sparse and not dense, counts
        self._add = _add_pieces if dense else _add_rows
        self._n_threads, self._part = n_threads, part

    def has_grid_of(self, other: GridSums) -> bool:
        """Return whether terms are rounded to the same spacings."""
        return all(map(np.array_equal, self._grid, other._grid))

    def adding(self, partitions: Sequence[Labels], before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block once for each of several partitions."""
        uses = [read(before), read(self._weights), *map(read, partitions)]
        kernel = partial(self._add, self._references, self._grid, self._n_threads)
        return Task(kernel, (add(self.offsets), add(self.totals), *uses))

    def moments(self, spherical: bool, *, last: bool = False) -> Moments:
        """Return the sums of the rows added so far, with what the grid can have taken away.

        If they are the ``last``, no rows can be added afterwards, which saves a copy of the sums.
        """
        mass = self.totals[0, :, 0] + self.totals[1, :, 0]
        parts, errors = self.totals[:, :, 1], None
        high, low = self.offsets
        _give_back_memory(high.size)
        offsets = np.add(high, low, out=high) if last else high + low
        if self._counts is not None:
            errors = self._lost * self._counts
        if not self._sparse:
            squares = self._grid.add_up_squares(parts, *self._carries)
        elif self._weights is None:
            parts = parts.copy()
            for cluster, size in enumerate(mass):
                self._add_zeros(cluster, size, offsets[cluster], parts[:, cluster])
            squares = self._grid.add_up_squares(parts, *self._carries)
        else:
            squares = self._grid.add_up_squares(parts, *self._carries)
            assert errors is not None
            self._add_weighted_zeros(mass, offsets, squares, errors)
        lost = None if errors is not None else self._lost_of_rows
        columns = None if self._part is None else self._part.columns
        return Moments(self._references, mass, offsets, squares, spherical, errors, lost, columns)

    @cached_property
    def _carries(self) -> tuple[Floats, Floats]:
        return self._grid.carry_spacings()

    @cached_property
    def _lost(self) -> Floats:
        """What each row can lose (3, 1 or k)."""
        if self._part is not None:
            return self._part.lost
        return self._grid.lose(weighted=self._weights is not None)

    @cached_property
    def _lost_of_rows(self) -> tuple[float, float]:
        """What each row without weight can lose of its offsets and squares on a shared grid."""
        return float(self._lost[1, 0]), float(self._lost[2, 0])

    def _add_zeros(self, cluster: int, mass: float, offsets: Floats, parts: Floats) -> None:
        """Add what the zeros of sparse rows without weights contribute to the sums of a cluster.

        The kernel adds, for each stored entry, the difference between its term and the term of a
        zero. What is missing is the term of a zero, -reference in every column, once for each row
        of the cluster. That is a whole number times a multiple of the spacing, hence exact, and
        the sums have the bits of the same rows given as dense.

        Parameters
        ----------
        cluster : int
            The cluster.
        mass : float
            The weight of its rows.
        offsets : ndarray of float64 (columns,)
            The sum of x - r, without the zeros; they are added.
        parts : ndarray of float64 (3,)
            The parts of the sum of ||x - r||^2; the zeros are added.
        """
        columns, zeros = self._zeros(cluster)
        coarse, fine = self.offsets[:, cluster, columns]
        terms = self._grid.split(zeros, cluster, columns)
        offsets[columns] = (coarse + mass * terms[0]) + (fine + mass * terms[1])
        parts[:] = self._grid.add_squares_exactly(parts, int(mass), zeros * zeros, cluster)

    def _add_weighted_zeros(
        self, mass: Floats, offsets: Floats, squares: Floats, errors: Floats
    ) -> None:
        """Add the zeros of sparse rows with weights to the sums, which are rounded there.

        The kernel rounded each weighted term of a zero by itself, which the mass times the term
        does not repeat. So the sums differ from those of dense rows by rounding, which is added
        to the errors: a few roundings of each term, and some 30 of NumPy's pairwise sum.
        """
        for cluster, size in enumerate(mass):
            columns, zeros = self._zeros(cluster)
            square = float(size * np.sum(zeros * zeros))
            offsets[cluster, columns] += size * zeros
            errors[1, cluster] += 8 * ROUNDING * np.sqrt(size * square)
            errors[2, cluster] += 64 * ROUNDING * (square + abs(squares[cluster]))
            squares[cluster] = max(squares[cluster] + square, 0.0)

    def _zeros(self, cluster: int) -> tuple[NDArray[np.int64], Floats]:
        """Return what a zero adds to the offsets of a cluster, and in which columns.

        Left out are columns without zeros, and those in which the reference is 0: most of them if
        it is a sparse row.
        """
        reference = self._references[cluster]
        columns = np.flatnonzero(reference)
        columns = columns[self._grid.of_cluster(cluster)[columns] > 0]
        return columns, -reference[columns]


def _give_back_memory(n_sums: int) -> None:
    if n_sums >= MANY_SUMS:
        _native.release_memory()


def dense_pieces(rows: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows of a block as dense arrays of limited size, with their places in the block."""
    step = max(1, PIECE // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        some = slice(start, start + step)
        part: Any = rows[some]
        yield some, part if isinstance(part, np.ndarray) else part.toarray()


def _add_pieces(
    references: Floats,
    grid: MomentGrid,
    n_threads: int,
    block: Block,
    offsets: Floats,
    totals: Floats,
    before: Labels | None,
    weights: Floats | None,
    *partitions: Labels,
) -> None:
    for some, rows in dense_pieces(block.rows):
        piece = Block(block.start + some.start, rows)
        old = None if before is None else before[some]
        weight = None if weights is None else weights[some]
        labels = [one[some] for one in partitions]
        _add_rows(references, grid, n_threads, piece, offsets, totals, old, weight, *labels)


def _add_rows(
    references: Floats,
    grid: MomentGrid,
    n_threads: int,
    block: Block,
    offsets: Floats,
    totals: Floats,
    before: Labels | None,
    weights: Floats | None,
    *partitions: Labels,
) -> None:
    for labels in partitions:
        _native.cluster_moments(
            block.rows, labels, before, weights, references, *grid, offsets, totals, n_threads
        )
