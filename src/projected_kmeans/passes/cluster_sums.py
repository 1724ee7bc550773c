"""Exact sums over the rows of each cluster, and the means and the inertia that follow from them.

The sums have the same bits in any order of rows, blocks and threads, because they are exact.
float64 adds two numbers without rounding if both are multiples of the same power of two and the
result is below 2^53 times that power. So every term is rounded to a multiple of a coarse spacing, a
power of two so large that no sum over all rows reaches 2^53 times it. What rounding left of the
term goes into a second sum, of multiples of a fine spacing. The two sums are added only at the end.
`MomentGrid` holds the spacings.
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
    """Sums over the rows x of each cluster, taken relative to a reference point r of the cluster.

    Attributes
    ----------
    references : ndarray of float64 (k, columns)
        The reference points r.
    mass : ndarray of float64 (k,)
        The sum of the weights w of the rows.
    offsets : ndarray of float64 (k, columns)
        The sum of w (x - r).
    squares : ndarray of float64 (k,)
        The sum of w ||x - r||^2.
    spherical : bool
        Whether centers have length one: means divided by their lengths (metric "cosine").
    """

    references: Floats
    mass: Floats
    offsets: Floats
    squares: Floats
    spherical: bool = False

    @cached_property
    def means(self) -> Floats:
        """The center of every cluster: its mean, divided by its length if spherical.

        A cluster without weight has its reference point as center.
        """
        if self.spherical:
            sums = self.references * self.mass[:, None] + self.offsets
            lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
            return np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), self.references)
        filled = np.where(self.mass > 0, self.mass, 1.0)
        return self.references + self.offsets / filled[:, None]

    @cached_property
    def cluster_inertia(self) -> Floats:
        """The sum of w ||x - center||^2 of each cluster."""
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
        """F, the sum of w ||x - center||^2; accurate if the references lie near the centers."""
        return math.fsum(self.cluster_inertia)

    def describe(self, labels: Labels) -> Clustering:
        """Return the partition with these labels, its centers and its inertia."""
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
    """Exact sums over the rows of every cluster, kept up to date while labels change.

    Parameters
    ----------
    source : BlockSource
        n rows.
    references : ndarray of float64 (k, columns)
        A reference point for each cluster. Sums are of x - reference, so that they lose no digits
        if the reference lies near the mean of the cluster.
    weights : ndarray of float64 (n,) or None
        The weights of the rows; None counts every row once.
    ranges : ColumnRanges
        The column ranges of the source, from which the spacings of the exact sums follow.
    n_threads : int, default=0
        The number of threads; 0 means as many as OpenMP allows.
    spherical : bool, default=False
        Whether centers have length one.
    times : int, default=1
        How many partitions of the rows are added (see `adding_repeated`). Spacings are chosen for
        the sum of all of them.
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
            # A negative number marks a column without zeros; see `MomentGrid`.
            self._grid.magic[:-2][(ranges.minimum > 0) | (ranges.maximum < 0)] *= -1
        self._offsets = np.zeros((2, len(references), n_columns))
        self._totals = np.zeros((2, len(references), 2))
        self._n_threads, self._spherical = n_threads, spherical

    def update(self, labels: Labels, before: Labels | None = None) -> Moments:
        """Walk over the rows and bring the sums up to date with labels.

        Parameters
        ----------
        labels : ndarray of int32 (n,)
            The cluster of every row.
        before : ndarray of int32 (n,), optional
            The labels that the sums were taken for. Then only rows whose label changed are moved
            from one cluster to another, which gives the same bits as adding all rows anew. None
            if nothing was added yet.
        """
        self._source.walk(self.adding(labels, before))
        return self.moments()

    def adding(self, labels: Labels, before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block, or moves rows whose label changed."""
        return self.adding_repeated((labels,), before)

    def adding_repeated(self, partitions: Sequence[Labels], before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block once for each of several partitions."""
        uses = [read(before), read(self._weights), *map(read, partitions)]
        kernel = partial(_add_rows, self._references, self._grid, self._n_threads)
        return Task(kernel, (add(self._offsets), add(self._totals), *uses))

    @property
    def parts(self) -> tuple[Floats, Floats]:
        """The coarse and fine sums: offsets (2, k, columns), and weights and squares (2, k, 2).

        They can be stored and given to `resume` later.
        """
        return self._offsets, self._totals

    def resume(self, offsets: Floats, totals: Floats) -> None:
        """Continue from the `parts` of sums that had the same references."""
        self._offsets, self._totals = offsets, totals

    def moments(self) -> Moments:
        """Return the sums of the rows added so far."""
        mass, squares = self._totals.sum(axis=0).T.copy()
        if self._source.sparse:
            offsets = np.empty_like(self._references)
            for cluster in range(len(mass)):
                squares[cluster] = self._add_zeros(cluster, float(mass[cluster]), offsets[cluster])
        else:
            offsets = self._offsets.sum(axis=0)
        return Moments(self._references, mass, offsets, squares, self._spherical)

    def _add_zeros(self, cluster: int, mass: float, offsets: Floats) -> float:
        """Add what the zeros of sparse rows contribute to the sums of a cluster.

        The kernel adds, for each stored entry, the difference between its term and the term of a
        zero. What is missing is the term of a zero, -reference in every column, once for each row
        of the cluster. Without weights that is a whole number times a multiple of the spacing,
        hence exact, and the sums have the bits of the same rows given as dense.

        Parameters
        ----------
        cluster : int
            The cluster.
        mass : float
            The weight of its rows.
        offsets : ndarray of float64 (columns,)
            Overwritten by the sum of w (x - r).

        Returns
        -------
        float
            The sum of w ||x - r||^2.
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
    """The spacings on which sums over rows are exact, in the form that kernels take them.

    Attributes
    ----------
    magic : ndarray of float64 (columns + 2,)
        For each column, then for weights, then for squares: 1.5 * 2^52 times the coarse spacing.
        Adding this number to a term and subtracting it again rounds the term to a multiple of the
        spacing, because float64 numbers of that size are one spacing apart. For sparse rows, a
        negative number marks a column in which every row has a stored entry; it rounds alike.
    fine_ratio : float
        The fine spacing divided by the coarse one, for columns and weights.
    squares_ratio : float
        The same for squares, of which each row contributes one for each column.
    """

    magic: Floats
    fine_ratio: float
    squares_ratio: float


def _split(terms: Floats, magic: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Return terms rounded to the coarse spacing, and the rest rounded to the fine spacing.

    Kernels split terms by the same operations, hence to the same bits.
    """
    coarse = (terms + magic) - magic
    return coarse, ((terms - coarse) + magic * ratio) - magic * ratio


def _moment_grid(
    ranges: ColumnRanges, references: Floats, total_weight: float, n_rows: int
) -> MomentGrid:
    """Return spacings on which no sum over these rows rounds.

    Coarse: let 2^e be at least the largest possible sum of a column. With a spacing of 2^(e - 50)
    all partial sums are multiples of the spacing and below 2^53 times it, so float64 holds them
    exactly.

    Fine: what rounding leaves of a term is at most half a coarse spacing. With up to 2^m terms, a
    fine spacing of 2^(m - 51) times the coarse one keeps these sums exact, too. The sum of a
    column has one term for each row; the sum of squares has one for each row and column.

    The largest possible square of a row's distance to a reference is bounded in two ways, and the
    smaller bound counts: by the column ranges, and by |x - r|^2 <= 2 |x|^2 + 2 |r|^2.
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
