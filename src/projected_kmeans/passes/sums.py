"""Exact sums over the rows of each cluster, accurate for whatever rows there are.

`ClusterSums` are taken in the cheapest of three ways:

- `GridSums` adds all rows on a grid that serves all clusters. Whether the grid is fine enough is
  known after the sums.
- `ClusterwiseSums` adds wide sparse rows in memory on the same grid, a few clusters at a time.
- `CarefulSums` adds the rows again on a grid for each cluster, where a few values are so far from
  all others that the terms of other rows vanish on the shared grid.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.tasks import Block, Task, add, maximum, read
from projected_kmeans.passes.moments import (
    ROUNDING,
    SMALLEST,
    TOLERANCE,
    Columns,
    MomentGrid,
    Moments,
    choose_spacings,
    dot_rows,
    split,
)
from projected_kmeans.results import Floats, Labels

# Sums of fewer numbers than this are kept from one step to the next, which takes up to 64 MB.
MAX_KEPT = 2**22

# From this many numbers in k centers on, 32 MB, sparse rows are summed a few clusters at a time.
MIN_WIDE_SIZE = 2**22

# Numbers in the sums of a group of clusters: 16 MB of float64.
GROUP_SIZE = 2**21

# What is kept of each cluster if clusters are summed a few at a time, beside the means.
KEPT_NUMBERS = (
    "mass",
    "squares",
    "spread",
    "cluster_inertia",
    "cluster_error",
    "squares_of_means",
    "moved_means",
    "errors",
)

# This many sums take so much memory that what was freed before, and what malloc holds for later, is
# given back first: 50 to 90 MB with 16,384 clusters of 384 columns.
MANY_SUMS = 2**22

# Sparse rows are made dense in pieces of this many numbers.
PIECE = 1 << 18

# Careful sums are taken at most this often. Three times suffice for rows that coincide: the first
# mean is rounded, the second is exact, and the third time all differences are 0.
ROUNDS = 4

# Squares below this number are scaled by a power of two, because products of smaller numbers lose
# digits to underflow.
SMALL_SQUARE = 2.0**-600

# Stands for the product of a weight and a difference that is below all numbers but not 0.
NOT_ZERO = float(np.finfo(np.float64).tiny)

# The reference points of all clusters: an array (k, columns), or rows that are fetched.
References: TypeAlias = "Floats | RowReferences"


@dataclass(frozen=True)
class SummedRows:
    """The rows, and how they are summed."""

    source: BlockSource
    ranges: ColumnRanges
    weights: Floats | None = None  # None counts every row once
    n_threads: int = 0  # 0 means as many as OpenMP allows
    # Whether rows and centers have length one (metric "cosine"). A center is then the mean of its
    # rows divided by the length of that mean.
    spherical: bool = False

    def open_sums(self, references: References) -> ClusterSums:
        """Return sums over clusters without rows so far, of the kind that suits the rows.

        They can be kept up to date over many passes.
        """
        n_numbers = len(references) * self.source.shape[1]
        if self.source.resident and self.source.sparse and n_numbers >= MIN_WIDE_SIZE:
            return ClusterwiseSums(self, references)
        # The array itself, because Lloyd's method asks whether moments are about it.
        points = references if isinstance(references, np.ndarray) else references[:]
        n_rows = float(self.source.shape[0])
        counts = None if self.weights is None else np.full(len(points), n_rows)
        sums = GridSums(self, points, open_grid(self, points), counts)
        sums.references = references
        return sums


class ClusterSums(ABC):
    """Exact sums over the rows of every cluster, kept up to date while labels change.

    Sums are of x - r, where r is the reference point of the cluster. They lose no digits if r lies
    near the mean. The grid of the sums follows from the column ranges, the weights and r.
    """

    def __init__(self, rows: SummedRows, references: References) -> None:
        self.references, self._rows = references, rows
        self._labels: Labels = np.empty(0, np.int32)  # added last, for sums that are taken again
        # Whether to keep the sums from one step to the next.
        self.is_small = len(references) * rows.source.shape[1] < MAX_KEPT

    @abstractmethod
    def adding(self, labels: Labels, before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block, or moves rows whose label changed.

        Rows are moved if the labels ``before`` are given, for which the sums were taken. That gives
        the same bits as adding all rows anew. The labels must stay as they are until `moments` was
        called.
        """

    @abstractmethod
    def take(self, *, last: bool = False) -> Moments:
        """Return the sums of the rows added so far, with what the grid can have taken away.

        They may not be accurate. If they are the ``last``, no rows can be added afterwards.
        """

    def update(self, labels: Labels, before: Labels | None = None) -> Moments:
        """Walk over the rows and bring the sums up to date with labels; see `adding`."""
        self._rows.source.walk(self.adding(labels, before))
        return self.moments()

    def moments(self) -> Moments:
        """Return the sums of the rows added so far.

        They are about other references, near the means, if the rows had to be summed again.
        """
        moments = self.take()
        if moments.accurate:
            return moments
        return CarefulSums(self._rows, self._labels).about_means(self.references[:])

    def about_references(self) -> Moments:
        """Return the sums of the rows added so far, for the sum of w ||x - r||^2.

        They are about the given references in any case. Their inertia about means may have lost
        digits. No rows can be added afterwards.
        """
        moments = self.take(last=True)
        if moments.error_about_references <= TOLERANCE * moments.inertia_about_references:
            return moments
        return CarefulSums(self._rows, self._labels).about(self.references[:])


@dataclass(frozen=True)
class RowReferences:
    """Rows of a source as reference points, made dense only where they are needed."""

    source: BlockSource
    indices: NDArray[np.int64]  # (k,)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, clusters: slice) -> Floats:
        """Return the points of these clusters as a dense array."""
        return self.source.take(self.indices[clusters])

    def select(self, clusters: slice) -> Any:
        """Return the points of these clusters as CSR rows of float64."""
        return self.source.select(self.indices[clusters]).astype(np.float64)


def open_grid(rows: SummedRows, references: References) -> MomentGrid:
    """Return spacings that serve all clusters with these reference points.

    No row is added twice to the sums of a cluster. The largest possible square of a row's distance
    to a reference is bounded in two ways, and the smaller bound counts: by the column ranges, and
    by |x - r|^2 <= 2 |x|^2 + 2 |r|^2.
    """
    ranges, weights, n_rows = rows.ranges, rows.weights, rows.source.shape[0]
    if isinstance(references, np.ndarray):
        low = np.minimum(ranges.minimum, np.minimum.reduce(references))
        high = np.maximum(ranges.maximum, np.maximum.reduce(references))
        whole = Columns(None, references.shape[1])
        squared_norm = float(dot_rows(references, references, whole).max())
    else:  # rows lie in their column ranges
        low, high = ranges.minimum, ranges.maximum
        points, squared_norm = references.select(slice(None)), 0.0
        indices = points.indices.astype(np.int64)
        for start, stop in itertools.pairwise(points.indptr):
            values = points.data[None, start:stop]
            own = Columns(indices[start:stop], points.shape[1])
            squared_norm = max(squared_norm, float(dot_rows(values, values, own)[0]))
    bound = high - low
    square = 2 * (ranges.squared_norm + squared_norm)
    square = min(math.fsum((bound * bound).tolist()), square)
    heaviest = 1.0 if weights is None else float(weights.max(initial=0.0))
    total = float(n_rows) if weights is None else math.fsum(weights)
    largest = np.empty((1, len(bound) + 2))
    largest[0, :-2] = bound * total
    largest[0, -2:] = total, square * heaviest
    grid = choose_spacings(largest, n_rows)
    if rows.source.sparse:  # mark columns without zeros, in which all entries are stored
        grid.magic[0, :-2][(ranges.minimum > 0) | (ranges.maximum < 0)] *= -1
    return grid


class GridSums(ClusterSums):
    """Sums over the rows of every cluster on given grids: exact, so that they merge in any order.

    ``counts`` (k,) are the numbers of rows that clusters have at most; None if these are the mass,
    because rows have no weights and clusters share a grid. ``dense`` makes sparse rows dense, a
    piece at a time, which is slow but has the bits of dense rows, also with weights. If rows,
    references and grid hold some of the ``columns``, because others are 0, ``lost`` is what each
    row can lose on the grid of all columns, see `MomentGrid.lose`.
    """

    def __init__(
        self,
        rows: SummedRows,
        references: Floats,
        grid: MomentGrid,
        counts: Floats | None,
        *,
        dense: bool = False,
        columns: Columns | None = None,
        lost: Floats | None = None,
    ) -> None:
        super().__init__(rows, references)
        if references.size >= MANY_SUMS:
            _native.release_memory()
        self.offsets = np.zeros((2, *references.shape))  # coarse and fine sums of w (x - r)
        # The sums of w in two parts, and of w ||x - r||^2 in three.
        self.totals = np.zeros((3, len(references), 2))
        self._points, self._counts, self._grid = references, counts, grid
        self._dense, self._keeps_sparse = dense, rows.source.sparse and not dense
        self._columns = columns or Columns(None, references.shape[1])
        self._lost = grid.lose(weighted=rows.weights is not None) if lost is None else lost

    def adding(self, labels: Labels, before: Labels | None = None) -> Task:
        """Return the task that adds the rows of a block, or moves rows whose label changed."""
        self._labels = labels
        uses = (read(before), read(self._rows.weights), read(labels))
        kernel = partial(_add_rows, self._points, self._grid, self._rows.n_threads, self._dense)
        return Task(kernel, (add(self.offsets), add(self.totals), *uses))

    def take(self, *, last: bool = False) -> Moments:
        """Return the sums; if they are the ``last``, a copy of them is saved."""
        mass = self.totals[0, :, 0] + self.totals[1, :, 0]
        parts, (high, low), lost = self.totals[:, :, 1], self.offsets, None
        if high.size >= MANY_SUMS:
            _native.release_memory()
        offsets = high if last else np.empty_like(high)
        errors = self._lost * (mass if self._counts is None else self._counts)
        if self._counts is None:
            lost = float(self._lost[1, 0]), float(self._lost[2, 0])
        if self._keeps_sparse and self._rows.weights is None:
            parts = parts.copy()
            for cluster, size in enumerate(mass):
                self._add_zeros(cluster, size, offsets[cluster], parts[:, cluster])
        else:
            np.add(high, low, out=offsets)
        squares = self._grid.add_up_squares(parts)
        if self._keeps_sparse and self._rows.weights is not None:
            self._add_weighted_zeros(mass, offsets, squares, errors)
        spherical, sums = self._rows.spherical, (mass, offsets, squares, errors)
        return Moments(self._points, *sums, self._columns, spherical, lost)

    def _add_zeros(self, cluster: int, mass: float, offsets: Floats, parts: Floats) -> None:
        """Write the offsets of a cluster of sparse rows without weights, and add to its squares.

        The kernel adds, for each stored entry, the difference between its term and the term of a
        zero. What is missing is the term of a zero, -reference in every column, once for each row
        of the cluster. That is a whole number times a multiple of the spacing, hence exact, and
        the sums have the bits of the same rows given as dense.
        """
        columns, zeros, magic = self._find_zeros(cluster)
        high, low = self.offsets[:, cluster]
        coarse, fine = split(zeros, magic, self._grid.ratios[0])
        sums = (high[columns] + mass * coarse) + (low[columns] + mass * fine)
        np.add(high, low, out=offsets)  # the offsets may be the array of high itself
        offsets[columns] = sums
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
            columns, zeros, _ = self._find_zeros(cluster)
            square = float(size * np.sum(zeros * zeros))
            offsets[cluster, columns] += size * zeros
            errors[1, cluster] += 8 * ROUNDING * np.sqrt(size * square)
            errors[2, cluster] += 64 * ROUNDING * (square + abs(squares[cluster]))
            squares[cluster] = max(squares[cluster] + square, 0.0)

    def _find_zeros(self, cluster: int) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return in which columns a zero adds to the offsets of a cluster, what, and on which grid.

        Left out are columns without zeros, and those in which the reference is 0: most of them if
        it is a sparse row.
        """
        reference, magic = self._points[cluster], self._grid.magic
        magic = magic[cluster % len(magic)]  # a single row serves all clusters
        columns = np.flatnonzero(reference)
        columns = columns[magic[columns] > 0]
        return columns, -reference[columns], magic[columns]


def _add_rows(
    references: Floats,
    grid: MomentGrid,
    n_threads: int,
    dense: bool,
    block: Block,
    offsets: Floats,
    totals: Floats,
    before: Labels | None,
    weights: Floats | None,
    labels: Labels,
) -> None:
    for place, rows in _dense_pieces(block.rows) if dense else [(slice(None), block.rows)]:
        old = None if before is None else before[place]
        weight = None if weights is None else weights[place]
        _native.cluster_moments(
            rows, labels[place], old, weight, references, *grid, offsets, totals, n_threads
        )


def _dense_pieces(rows: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows of a block as dense arrays of limited size, with their places in the block."""
    step = max(1, PIECE // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        place = slice(start, start + step)
        piece: Any = rows[place]
        yield place, piece if isinstance(piece, np.ndarray) else piece.toarray()


class ClusterwiseSums(ClusterSums):
    """Sums over the rows of every cluster, a few clusters at a time, for wide sparse rows.

    The sums of k clusters in d columns, on two grids and with their reference points, take 24 k d
    bytes: 720 MB for 30 clusters of rows with a million columns, which have 200 entries each. Here
    the rows of a few clusters are summed at a time, in the columns in which they or their reference
    points have entries. In all other columns sums and means are 0. The sums are exact, so they have
    the bits of `GridSums`.
    """

    def adding(self, labels: Labels, before: Labels | None = None) -> Task:
        """Return a task that does nothing: rows are summed when all of them have their labels."""
        self._labels = labels
        return Task(_do_nothing)

    def take(self, *, last: bool = False) -> Moments:
        """Return the sums over the rows of every cluster, a few clusters at a time."""
        k, n_columns = len(self.references), self._rows.source.shape[1]
        order = np.argsort(self._labels, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(self._labels, minlength=k))])
        grid = open_grid(self._rows, self.references)
        lost = grid.lose(weighted=self._rows.weights is not None)
        means, parts = np.zeros((k, n_columns)), list[dict[str, Any]]()
        lost_by_rows: tuple[float, float] | None = None
        for group in self._groups(ends):
            rows = np.sort(order[ends[group.start] : ends[group.stop]])
            part = self._sum_group(rows, group, grid, lost)
            for cluster, mean in enumerate(part.means, group.start):
                means[cluster, part.columns.indices] = mean
            parts.append({name: getattr(part, name) for name in KEPT_NUMBERS})
            lost_by_rows = part.lost
        known = {name: np.concatenate([p[name] for p in parts], axis=-1) for name in KEPT_NUMBERS}
        moments = Moments(
            self.references,
            known.pop("mass"),
            np.empty((0, 0)),
            known.pop("squares"),
            known.pop("errors"),
            Columns(None, n_columns),
            self._rows.spherical,
            lost_by_rows,
        )
        vars(moments).update(known, means=means)  # they would follow from the offsets
        return moments

    def _groups(self, ends: NDArray[np.int64]) -> Iterator[slice]:
        """Yield groups of clusters whose sums, in the columns of their rows, are small enough."""
        source, first = self._rows.source, 0
        per_row = (source.nnz or 0) / max(1, source.shape[0])
        for stop in range(1, len(ends)):
            n_entries = per_row * (ends[min(stop + 1, len(ends) - 1)] - ends[first])
            width = min(source.shape[1], 1 + n_entries)
            if stop == len(ends) - 1 or (stop + 1 - first) * width > GROUP_SIZE:
                yield slice(first, stop)
                first = stop

    def _sum_group(
        self, indices: NDArray[np.int64], group: slice, grid: MomentGrid, lost: Floats
    ) -> Moments:
        """Return the sums of a few clusters over their rows, in the columns that these have."""
        (n_rows, n_columns), weights, counts = self._rows.source.shape, self._rows.weights, None
        if weights is not None:
            weights, counts = weights[indices], np.full(group.stop - group.start, float(n_rows))
        selected, points = self._rows.source.select(indices), self._select_points(group)
        has_entries = np.zeros(n_columns, bool)
        has_entries[selected.indices], has_entries[points.indices] = True, True
        kept = np.flatnonzero(has_entries)
        source = open_blocks(_keep_columns(selected, kept))
        sums = GridSums(
            replace(self._rows, source=source, weights=weights),
            _keep_columns(points, kept).toarray(),
            grid._replace(magic=np.c_[grid.magic[:, kept], grid.magic[:, -2:]]),
            counts,
            columns=Columns(kept, n_columns),
            lost=lost,
        )
        source.walk(sums.adding(self._labels[indices] - np.int32(group.start)))
        return sums.take()

    def _select_points(self, group: slice) -> Any:
        """Return reference points as CSR rows of float64."""
        if not isinstance(self.references, np.ndarray):
            return self.references.select(group)
        points = self.references[group]
        columns = [np.flatnonzero(point) for point in points]
        values = np.concatenate([point[own] for point, own in zip(points, columns, strict=True)])
        starts = np.cumsum([0, *map(len, columns)])
        return scipy.sparse.csr_array((values, np.concatenate(columns), starts), points.shape)


def _keep_columns(rows: Any, columns: NDArray[np.int64]) -> Any:
    """Return CSR rows without the other columns, in which they have no entries."""
    places = np.empty(rows.shape[1], rows.indices.dtype)
    places[columns] = np.arange(len(columns), dtype=places.dtype)
    # The arrays are set one by one, because the constructor of SciPy may convert the indices.
    kept = scipy.sparse.csr_array((rows.shape[0], len(columns)), dtype=rows.dtype)
    kept.data, kept.indices, kept.indptr = rows.data, places[rows.indices], rows.indptr
    return kept


def _do_nothing(block: Block) -> None:
    pass


class Reach(NamedTuple):
    """The largest terms of every cluster."""

    counts: Floats  # (k,): the number of rows with weight
    heaviest: Floats  # (k,): their largest weight
    columns: Floats  # (k, columns): the largest w |x - r|; 0 only if x = r for rows with weight
    squares: Floats  # (k,): the largest w ||x - r||^2, or more
    stored: NDArray[np.bool_] | None  # (k, columns): where all rows store an entry; None if dense


@dataclass(frozen=True)
class CarefulSums:
    """Sums over clusters on a grid for each cluster, for rows that no shared grid serves.

    The rows are walked over twice: the first walk finds the largest terms of every cluster, from
    which the grid of the cluster follows, and the second takes the sums. Largest terms do not
    depend on the order of rows, so neither do the sums.
    """

    rows: SummedRows
    labels: Labels

    def about_means(self, references: Floats) -> Moments:
        """Return sums about the means that sums gave, again until their proven error is small.

        The mean of a single row with an entry of 1e37 needs that: r + (x - r) may miss x by 1e21.
        """
        best = self.about(references)
        for _ in range(ROUNDS - 1):
            if best.accurate:
                break
            nearer = self.about(best.means)
            if not nearer.inertia_error < best.inertia_error:
                break
            best = nearer
        return best

    def about(self, references: Floats) -> Moments:
        """Return the sums about these reference points.

        If squares are tiny, weights are multiplied by a power of two on the way.
        """
        reach, rows, scale = self._measure(references), self.rows, None
        largest = float(reach.columns.max(initial=0.0))
        if largest > 0 and reach.squares.max() < SMALL_SQUARE:
            scale = 2.0 ** min(-int(np.frexp(largest)[1]), 1000)
            if rows.weights is None:
                weights = rows.source.new_row_array(np.dtype(np.float64), scale)
            else:
                weights = rows.weights * scale
            rows = replace(rows, weights=weights)
            reach = replace(self, rows=rows)._measure(references)
        counts = reach.counts
        terms = counts[:, None] * reach.columns, counts * reach.heaviest
        most = np.c_[(*terms, reach.squares * (1 + 2.0**-20))]
        grid = choose_spacings(most, int(counts.max(initial=1.0)))
        if reach.stored is not None:
            grid.magic[:, :-2][reach.stored] *= -1
        dense = rows.source.sparse and rows.weights is not None
        sums = GridSums(rows, references, grid, counts, dense=dense)
        rows.source.walk(sums.adding(self.labels))
        moments = sums.take()
        if scale is None:
            return moments
        least = references.shape[1] * SMALLEST * (moments.squares > 0)
        return replace(
            moments,
            mass=moments.mass / scale,
            offsets=moments.offsets / scale,
            squares=moments.squares / scale,
            errors=moments.errors / scale + least,
        )

    def _measure(self, references: Floats) -> Reach:
        """Walk over the rows to find the largest terms."""
        k, n_columns = references.shape
        # With weights sparse rows are made dense, because sums of zeros would cost digits.
        keeps_sparse = self.rows.source.sparse and self.rows.weights is None
        counts, heaviest, squares = np.zeros(k), np.zeros(k), np.zeros(k)
        columns, stored = np.zeros((k, n_columns)), None
        entries = np.zeros((k, n_columns) if keeps_sparse else (0, 0))
        totals = (add(counts), maximum(heaviest), maximum(columns), maximum(squares), add(entries))
        kernel = partial(_measure_rows, references, keeps_sparse)
        uses = (*totals, read(self.rows.weights), read(self.labels))
        self.rows.source.walk(Task(kernel, uses))
        if keeps_sparse:
            stored = entries >= counts[:, None]
            columns = np.maximum(columns, np.where(stored, 0.0, np.abs(references)))
        if self.rows.weights is None:
            squares = np.einsum("ij,ij->i", columns, columns)
        else:
            squares = squares * n_columns
        return Reach(counts, heaviest, columns, squares, stored)


def _measure_rows(
    references: Floats,
    keeps_sparse: bool,
    block: Block,
    counts: Floats,
    heaviest: Floats,
    columns: Floats,
    squares: Floats,
    entries: Floats,
    weights: Floats | None,
    labels: Labels,
) -> None:
    mass = np.ones(block.rows.shape[0]) if weights is None else weights
    counts += np.bincount(labels[mass > 0], minlength=len(counts))
    np.maximum.at(heaviest, labels, mass)
    if keeps_sparse:
        row_of = np.repeat(np.arange(block.rows.shape[0]), np.diff(block.rows.indptr))
        places = labels[row_of] * np.int64(block.rows.shape[1]) + block.rows.indices
        gaps = np.abs(block.rows.data.astype(np.float64) - references.reshape(-1)[places])
        np.maximum.at(columns.reshape(-1), places, gaps)
        np.add.at(entries.reshape(-1), places, 1.0)
        return
    for place, rows in _dense_pieces(block.rows):
        order = np.argsort(labels[place], kind="stable")
        own = labels[place][order]
        gaps = np.abs(rows[order].astype(np.float64) - references[own])
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        clusters, terms = own[starts], gaps
        if weights is not None:
            weight = weights[place][order][:, None]
            terms = np.maximum(gaps * weight, np.minimum(gaps, NOT_ZERO * (weight > 0)))
            largest = np.maximum.reduceat((gaps * terms).max(axis=1), starts)
            squares[clusters] = np.maximum(squares[clusters], largest)
        largest = np.maximum.reduceat(terms, starts, axis=0)
        columns[clusters] = np.maximum(columns[clusters], largest)
