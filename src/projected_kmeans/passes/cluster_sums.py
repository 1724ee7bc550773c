"""Sums over the rows of each cluster, the same bits in any order of rows, blocks and threads.

Knows what a mean and an inertia are; it does not know how labels come about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.tasks import Block, Task, add, read
from projected_kmeans.results import Clustering, Floats, Labels


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each cluster, about reference points.

    Attributes
    ----------
    references : ndarray of float64 (k, columns)
        One point r a cluster.
    mass : ndarray of float64 (k,)
        Sum of weights w.
    offsets : ndarray of float64 (k, columns)
        Sum of w (x - r).
    squares : ndarray of float64 (k,)
        Sum of w ||x - r||^2.
    spherical : bool
        Whether centers have length one: the directions of the means.
    """

    references: Floats
    mass: Floats
    offsets: Floats
    squares: Floats
    spherical: bool = False

    @cached_property
    def means(self) -> Floats:
        """The mean of every cluster, or its direction; the reference of one without weight."""
        if self.spherical:
            sums = self.references * self.mass[:, None] + self.offsets
            lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
            return np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), self.references)
        filled = np.where(self.mass > 0, self.mass, 1.0)
        return self.references + self.offsets / filled[:, None]

    @cached_property
    def cluster_inertia(self) -> Floats:
        """The sum of w ||x - mean||^2 of each cluster."""
        if self.spherical:
            gaps = self.references - self.means
            cross = 2 * np.einsum("ij,ij->i", self.offsets, gaps)
            beyond = cross + self.mass * np.einsum("ij,ij->i", gaps, gaps)
            return np.asarray(np.maximum(self.squares + beyond, 0.0))
        filled = np.where(self.mass > 0, self.mass, 1.0)
        shift = np.einsum("ij,ij->i", self.offsets, self.offsets) / filled
        return np.asarray(np.maximum(self.squares - shift, 0.0))

    @cached_property
    def inertia(self) -> float:
        """F: the sum of w ||x - mean||^2, nothing lost where references lie near the means."""
        return math.fsum(self.cluster_inertia)

    def describe(self, labels: Labels) -> Clustering:
        """Return the partition that was summed, with its means and its inertia."""
        return Clustering(labels, self.means, self.mass, self.inertia, self.sum_of_squares)

    @property
    def inertia_about_references(self) -> float:
        """The sum of w ||x - r||^2."""
        return math.fsum(self.squares)

    @property
    def sum_of_squares(self) -> float:
        """The sum of w ||x||^2."""
        cross = np.einsum("ij,ij->i", self.references, self.offsets)
        norms = np.einsum("ij,ij->i", self.references, self.references)
        return math.fsum(self.squares + 2 * cross + self.mass * norms)


class ClusterSums:
    """Sums over the rows of every cluster about reference points, exact whatever their order.

    Parameters
    ----------
    source : BlockSource
        n rows.
    references : ndarray of float64 (k, columns)
        A point for each cluster, best near its mean.
    weights : ndarray of float64 (n,) or None
        None counts every row once.
    ranges : ColumnRanges
        Of the source: they fix the grids on which sums are exact (design: order-free sums).
    n_threads : int, default=0
        0 takes what OpenMP allows.
    spherical : bool, default=False
        Whether centers have length one.
    times : int, default=1
        How often every row is added.
    """

    def __init__(
        self,
        source: BlockSource,
        references: Floats,
        weights: Floats | None,
        ranges: ColumnRanges,
        n_threads: int = 0,
        *,
        spherical: bool = False,
        times: int = 1,
    ) -> None:
        n_rows, n_columns = times * source.shape[0], source.shape[1]
        total = float(n_rows) if weights is None else times * math.fsum(weights)
        self._source, self._references, self._weights = source, references, weights
        self._grid = _moment_grid(ranges, references, total, n_rows)
        if source.sparse:
            self._grid.magic[:-2][(ranges.minimum > 0) | (ranges.maximum < 0)] *= -1
        self._offsets = np.zeros((2, len(references), n_columns))
        self._totals = np.zeros((2, len(references), 2))
        self._n_threads, self._spherical = n_threads, spherical

    def update(self, labels: Labels, before: Labels | None = None) -> Moments:
        """Add the rows under their labels, or only move those whose label changed.

        Parameters
        ----------
        labels : ndarray of int32 (n,)
            The cluster of every row.
        before : ndarray of int32 (n,), optional
            The labels that the sums are of; None where they are empty. The result is the same to
            the bit.
        """
        self._source.walk(self.adding(labels, before))
        return self.moments()

    def adding(self, labels: Labels, before: Labels | None = None) -> Task:
        """Return what adds the rows of a block, or moves those whose label changed."""
        return self.adding_repeated((labels,), before)

    def adding_repeated(self, partitions: Sequence[Labels], before: Labels | None = None) -> Task:
        """Return what adds the rows of a block under the labels of one partition after another."""
        uses = [read(before), read(self._weights), *map(read, partitions)]
        kernel = partial(_add_rows, self._references, self._grid, self._n_threads)
        return Task(kernel, (add(self._offsets), add(self._totals), *uses))

    @property
    def parts(self) -> tuple[Floats, Floats]:
        """The sums as they grow, on both grids: with them in `resume` others go on from here."""
        return self._offsets, self._totals

    def resume(self, offsets: Floats, totals: Floats) -> None:
        """Go on from the parts of sums about the same references."""
        self._offsets, self._totals = offsets, totals

    def moments(self) -> Moments:
        """Return the sums of all that was added."""
        mass, squares = self._totals.sum(axis=0).T.copy()
        if self._source.sparse:
            offsets = np.empty_like(self._references)
            for cluster in range(len(mass)):
                squares[cluster] = self._add_zeros(cluster, float(mass[cluster]), offsets[cluster])
        else:
            offsets = self._offsets.sum(axis=0)
        return Moments(self._references, mass, offsets, squares, self._spherical)

    def _add_zeros(self, cluster: int, mass: float, offsets: Floats) -> float:
        """Complete the sums of sparse rows by what a row of zeros brings, as often as they weigh.

        Write the offsets and return the squares. Without weights all terms are multiples of the
        grid, and the sums have the bits of the same rows given dense.
        """
        coarse, fine = self._offsets[:, cluster]
        zeros = np.where(self._grid.magic[:-2] > 0, -self._references[cluster], 0.0)
        if self._weights is not None:
            np.add(coarse + fine, mass * zeros, out=offsets)
            return float(self._totals[:, cluster, 1].sum() + mass * np.sum(zeros * zeros))
        magic = self._grid.magic
        terms = _split(zeros, magic[:-2], self._grid.fine_ratio)
        np.add(coarse + mass * terms[0], fine + mass * terms[1], out=offsets)
        terms = _split(zeros * zeros, magic[-1], self._grid.squares_ratio)
        coarse, fine = self._totals[:, cluster, 1]
        return float((coarse + mass * terms[0].sum()) + (fine + mass * terms[1].sum()))


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


class MomentGrid(NamedTuple):
    """The grids on which sums over rows are exact, as the kernels take them."""

    magic: Floats
    fine_ratio: float
    squares_ratio: float


def _split(terms: Floats, magic: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Return terms as multiples of the coarse spacing and of the fine, as kernels split them."""
    coarse = (terms + magic) - magic
    return coarse, ((terms - coarse) + magic * ratio) - magic * ratio


def _moment_grid(
    ranges: ColumnRanges, references: Floats, total_weight: float, n_rows: int
) -> MomentGrid:
    """Return the grids on which no sum over these rows can lose a bit.

    With 2^e at least the largest possible sum of a column, the coarse spacing is 2^(e - 50): all
    partial sums are multiples of it below 2^53 times it. What rounding leaves is at most half a
    spacing a term, so with 2^m terms the fine spacing is 2^(m - 51) of the coarse. A column's sum
    has a term for every row, the sum of squares one for every row and column. A row is no farther
    from a reference than ranges allow, nor than both are from zero: |x - r|^2 <= 2 |x|^2 + 2 |r|^2.
    """
    low = np.minimum(ranges.minimum, references.min(axis=0))
    high = np.maximum(ranges.maximum, references.max(axis=0))
    bound = high - low
    reach = float(np.max(np.einsum("ij,ij->i", references, references)))
    square = min(math.fsum(bound * bound), 2 * (ranges.squared_norm + reach))
    largest = np.concatenate([bound, [1.0, square]]) * total_weight
    exponents = np.frexp(largest)[1]
    ratios = [2.0 ** (math.frexp(n)[1] - 51) for n in (n_rows, n_rows * len(bound))]
    return MomentGrid(np.ldexp(6.0, exponents), *ratios)
