"""Sums over clusters on a grid for each cluster, for rows that no shared grid serves.

One value that is very far from all others makes the shared grid so coarse that the terms of other
rows vanish. Here the rows are walked over twice: the first walk finds the largest terms of every
cluster, from which the grid of the cluster follows, and the second takes the sums. Largest terms do
not depend on the order of rows, so neither do the sums.

The sums are taken again about the means that they gave, until their proven error is small. The mean
of a single row with an entry of 1e37 needs that: r + (x - r) may miss x by 1e21.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.row_arrays import walk_entries
from projected_kmeans.blocks.tasks import Block, Task, add, maximum, read
from projected_kmeans.passes.grid_sums import GridSums, dense_pieces
from projected_kmeans.passes.moment_grids import SMALLEST, cluster_grids
from projected_kmeans.passes.moments import Moments
from projected_kmeans.results import Floats, Labels

# Sums are taken at most this often. Three times suffice for rows that coincide: the first mean is
# rounded, the second is exact, and the third time all differences are 0.
ROUNDS = 4

# Squares below this number are scaled by a power of two, because products of smaller numbers lose
# digits to underflow.
SMALL_SQUARE = 2.0**-600

# Stands for the product of a weight and a difference that is below all numbers but not 0.
NOT_ZERO = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Reach:
    """The largest terms of every cluster.

    Attributes
    ----------
    counts : ndarray of float64 (k,)
        The number of rows with weight.
    heaviest : ndarray of float64 (k,)
        Their largest weight.
    columns : ndarray of float64 (k, columns)
        The largest w |x - r| in each column; 0 only if x = r for all rows with weight.
    squares : ndarray of float64 (k,)
        The largest w ||x - r||^2, or more.
    stored : ndarray of bool (k, columns)
        Where all rows with weight have a stored entry.
    """

    counts: Floats
    heaviest: Floats
    columns: Floats
    squares: Floats
    stored: NDArray[np.bool_]


@dataclass(frozen=True)
class CarefulSums:
    """Takes the sums over the clusters of some partitions.

    Attributes
    ----------
    source : BlockSource
        n rows.
    partitions : tuple of ndarray of int32 (n,)
        Every row is added once for each of them.
    weights : ndarray of float64 (n,) or None
        The weights of the rows; None counts every row once.
    n_threads : int
        The number of threads; 0 means as many as OpenMP allows.
    spherical : bool
        Whether centers have length one.
    """

    source: BlockSource
    partitions: tuple[Labels, ...]
    weights: Floats | None
    n_threads: int
    spherical: bool

    def about_means(self, references: Floats) -> Moments:
        """Return sums about points near the means, which are found from the given ones."""
        best = self.about(references)
        for _ in range(ROUNDS - 1):
            if best.accurate:
                break
            found = self.about(best.means)
            if not found.inertia_error < best.inertia_error:
                break
            best = found
        return best

    def about(self, references: Floats) -> Moments:
        """Return the sums about these reference points."""
        reach = self._measure(references)
        largest = float(reach.columns.max(initial=0.0))
        if largest > 0 and reach.squares.max() < SMALL_SQUARE:
            return self._sum_scaled(references, 2.0 ** min(-int(np.frexp(largest)[1]), 1000))
        return self._sum(references, reach)

    def _sum_scaled(self, references: Floats, scale: float) -> Moments:
        """Return the sums of rows whose weights are multiplied by a power of two on the way."""
        if self.weights is None:
            weights = self.source.new_row_array(np.dtype(np.float64), scale)
        else:
            weights = self.weights * scale
        scaled = replace(self, weights=weights)
        found = scaled._sum(references, scaled._measure(references))
        errors = found.errors
        assert errors is not None
        return replace(
            found,
            mass=found.mass / scale,
            offsets=found.offsets / scale,
            squares=found.squares / scale,
            errors=errors / scale + references.shape[1] * SMALLEST * (found.squares > 0),
        )

    def _measure(self, references: Floats) -> Reach:
        """Walk over the rows to find the largest terms."""
        (k, n_columns), sparse = references.shape, self._keeps_sparse
        columns, squares = np.zeros((k, n_columns)), np.zeros(k)
        stored = np.zeros((k, n_columns) if sparse else (0, 0))
        uses = (maximum(columns), maximum(squares), add(stored), read(self.weights))
        kernel = partial(_measure_sparse if sparse else _measure_dense, references)
        self.source.walk(Task(kernel, (*uses, *map(read, self.partitions))))
        counts, heaviest = self._count(k)
        everywhere = stored >= counts[:, None] if sparse else np.ones((k, n_columns), dtype=bool)
        if sparse:
            zeros = np.where(everywhere, 0.0, np.abs(references))
            columns = np.maximum(columns, zeros)
        if self.weights is None:
            squares = np.einsum("ij,ij->i", columns, columns)
        else:
            squares = squares * n_columns
        return Reach(counts, heaviest, columns, squares, everywhere)

    @property
    def _keeps_sparse(self) -> bool:
        """Whether sparse rows stay sparse. With weights, sums of zeros would cost digits."""
        return self.source.sparse and self.weights is None

    def _count(self, k: int) -> tuple[Floats, Floats]:
        """Return the number of rows with weight of each cluster, and their largest weight."""
        counts, heaviest = np.zeros(k), np.zeros(k)
        uses = (add(counts), maximum(heaviest), read(self.weights))
        for labels in self.partitions:
            walk_entries(labels, Task(_count, uses))
        return counts, heaviest

    def _sum(self, references: Floats, reach: Reach) -> Moments:
        """Walk over the rows to sum them on grids that hold the largest terms."""
        grid = cluster_grids(reach.counts, reach.heaviest, reach.columns, reach.squares)
        if self._keeps_sparse:
            grid.magic[:, :-2][reach.stored] *= -1
        sums = GridSums(
            self.source,
            references,
            self.weights,
            grid,
            reach.counts,
            self.n_threads,
            dense=self.source.sparse and not self._keeps_sparse,
        )
        self.source.walk(sums.adding(self.partitions))
        return sums.moments(self.spherical)


def _count(block: Block, counts: Floats, heaviest: Floats, weights: Floats | None) -> None:
    labels = block.rows
    mass = np.ones(len(labels)) if weights is None else weights
    counts += np.bincount(labels[mass > 0], minlength=len(counts))
    np.maximum.at(heaviest, labels, mass)


def _measure_dense(
    references: Floats,
    block: Block,
    columns: Floats,
    squares: Floats,
    stored: Floats,
    weights: Floats | None,
    *partitions: Labels,
) -> None:
    for some, rows in dense_pieces(block.rows):
        for labels in partitions:
            order = np.argsort(labels[some], kind="stable")
            own = labels[some][order]
            gaps = np.abs(rows[order].astype(np.float64) - references[own])
            starts = np.flatnonzero(np.diff(own, prepend=-1))
            clusters = own[starts]
            terms = gaps
            if weights is not None:
                weight = weights[some][order][:, None]
                terms = np.maximum(gaps * weight, np.minimum(gaps, NOT_ZERO * (weight > 0)))
                largest = np.maximum.reduceat((gaps * terms).max(axis=1), starts)
                squares[clusters] = np.maximum(squares[clusters], largest)
            found = np.maximum.reduceat(terms, starts, axis=0)
            columns[clusters] = np.maximum(columns[clusters], found)


def _measure_sparse(
    references: Floats,
    block: Block,
    columns: Floats,
    squares: Floats,
    stored: Floats,
    weights: Floats | None,
    *partitions: Labels,
) -> None:
    rows: Any = block.rows
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    for labels in partitions:
        places = labels[row_of] * np.int64(rows.shape[1]) + rows.indices
        gaps = np.abs(rows.data.astype(np.float64) - references.reshape(-1)[places])
        np.maximum.at(columns.reshape(-1), places, gaps)
        np.add.at(stored.reshape(-1), places, 1.0)
