"""The spacings on which sums over clusters are exact, and what follows from the sums.

float64 adds two numbers without rounding if both are multiples of the same power of two and the
result is below 2^53 times that power. So every term is rounded to a multiple of a coarse spacing, a
power of two so large that no sum reaches 2^53 times it. What rounding left of the term is rounded
to a multiple of a fine spacing and goes into a second sum. The spacings say how far the sums, and
the means and the inertia that follow from them, can be from their exact values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.results import Clustering, Floats, Labels

# 1.5 * 2^52. Adding this number times a spacing to a term, and subtracting it again, rounds the
# term to a multiple of the spacing, because float64 numbers of that size are one spacing apart.
MAGIC = 1.5 * 2.0**52

# The smallest positive number of float64, and the smallest with all its digits.
SMALLEST = 2.0**-1074
SMALLEST_NORMAL = 2.0**-1022


class MomentGrid(NamedTuple):
    """The spacings in the form that kernels take them."""

    # (1 or k, columns + 2): for each column, then for weights, then for squares, `MAGIC` times the
    # coarse spacing; 0 where all terms are 0. A single row serves all clusters. For sparse rows, a
    # value that is not positive marks a column in which every row of the cluster has a stored
    # entry; it rounds alike.
    magic: Floats
    # (4,): the fine spacing divided by the coarse one, for columns and weights. Then for squares:
    # the fine, the middle and the top spacing, each divided by the coarse one.
    ratios: Floats

    def lose(self, *, weighted: bool) -> Floats:
        """Return what each row can lose (3, 1 or k): mass, the length of its offsets, squares."""
        ratio, square_ratio = self.ratios[:2]
        halves = np.abs(self.magic) / (2 * MAGIC)  # half a coarse spacing
        columns, n_columns = halves[:, :-2], halves.shape[1] - 2
        lost = np.zeros((3, len(halves)))
        if weighted:
            lost[0] = halves[:, -2] * ratio + SMALLEST
        lost[1] = np.sqrt(np.einsum("ij,ij->i", columns, columns)) * (ratio * (1 + 2.0**-20))
        lost[1] += math.sqrt(n_columns) * SMALLEST
        lost[2] = n_columns * (halves[:, -1] * square_ratio + SMALLEST * (halves[:, -1] != 0))
        return lost

    def add_up_squares(self, parts: Floats) -> Floats:
        """Return the values of sums of squares (3, k) that kernels left in three parts.

        Kernels may divide the same sum differently. So what the lower parts have too much is
        carried to the parts above first: then the lower parts are at least 0 and below the
        spacing of the next part, which only one division satisfies.
        """
        top, middle, fine = parts
        spacing = self.magic[:, -1] / MAGIC
        # Below the smallest number, float64 has nothing that could be carried.
        middle_spacing, top_spacing = (np.maximum(spacing * r, SMALLEST) for r in self.ratios[2:])
        carried = np.floor(fine / middle_spacing) * middle_spacing
        middle, fine = middle + carried, fine - carried
        carried = np.floor(middle / top_spacing) * top_spacing
        return np.asarray((top + carried) + ((middle - carried) + fine))

    def add_squares_exactly(self, parts: Floats, times: int, terms: Floats, cluster: int) -> Floats:
        """Return the three parts (3,) of a sum to which squares are added so many times."""
        magic = self.magic[cluster % len(self.magic), -1:]
        unit = float(magic[0]) / MAGIC
        fine, middle, top = (max(unit * ratio, SMALLEST) for ratio in self.ratios[1:])
        added = [part.sum() for part in split(terms, magic, self.ratios[1])]
        total = sum(int(part / fine) for part in parts)
        total += times * sum(int(part / fine) for part in added)
        upper, rest = divmod(total, int(top / fine))
        between, lower = divmod(rest, int(middle / fine))
        return np.array([upper * top, between * middle, lower * fine])


def choose_spacings(largest: Floats, n_rows: int) -> MomentGrid:
    """Return spacings on which no sum rounds, for all clusters alike (1, ...) or for each (k, ...).

    ``largest`` are the largest possible sums of weighted distances from the reference in each
    column, that of weights, and the largest weighted squared distance of a single row.

    Columns and weights. Coarse: let 2^e exceed the largest possible sum. With a spacing of
    2^(e - 50) all partial sums are multiples of the spacing and below 2^53 times it. Fine: what
    rounding leaves of a term is at most half a coarse spacing. With up to 2^r rows, a fine spacing
    of 2^(r - 51) times the coarse one keeps these sums exact, too.

    Squares. Let 2^e exceed the sum of squares of one row, and let the row have up to 2^t terms, two
    for each column because sparse rows add differences. A coarse spacing of 2^(e - 50) and a fine
    one of 2^(t - 51) times that, hold the sums over one row. Sums over rows have three parts. The
    top part holds 2^(r + 1) rows with a spacing of 2^(e + r - 51). The middle spacing is 2^-30 of
    that, and the fine one not below 2^-60 of it, so that a part can take what millions of sums
    bring before it is carried to the part above it.
    """
    # Squares of tiny numbers may vanish; their spacing must not.
    differs = np.maximum.reduce(largest[:, :-2], axis=1) > 0
    largest[:, -1] = np.maximum(largest[:, -1], SMALLEST_NORMAL * differs)
    r, t = math.frexp(n_rows)[1], math.frexp(2 * (largest.shape[1] - 2))[1]
    fine = max(t - 51, r - 61)
    exponents = [r - 51, fine, max(r - 31, fine), r - 1]
    magic = np.where(largest > 0, np.ldexp(MAGIC * 2.0**-50, np.frexp(largest)[1]), 0.0)
    return MomentGrid(magic, np.ldexp(1.0, exponents))


def split(terms: Floats, magic: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Return terms rounded to the coarse spacing, and the rest rounded to the fine one.

    Kernels split terms by the same operations, hence to the same bits.
    """
    coarse = (terms + magic) - magic
    return coarse, ((terms - coarse) + magic * ratio) - magic * ratio


# Sums are accurate if the error of the inertia is at most this share of it, 4.5e-13.
TOLERANCE = 2.0**-41

# In most clusters, the grid moves the mean by at most this share of the spread of the rows.
MEAN_TOLERANCE = 2.0**-30

# Sums are about reference points. When the inertia falls below this share of the squared distances
# to these points, four bits of it are lost, and sums are opened anew about the means.
NEAR = 1 / 16

# Half a unit in the last place of 1.0.
ROUNDING = 2.0**-53

# The number of sums that the products of a dot product go to: a power of two.
SPAN = _native.DOT_SPAN

# Numbers of centers that are subtracted at a time, 1 MB of float64, or those of one center.
PART_SIZE = 2**17


class Columns(NamedTuple):
    """The columns that vectors hold; in all others their entries are 0."""

    indices: NDArray[np.int64] | None  # ascending; None if vectors hold all columns
    n_columns: int  # the number of all columns


@dataclass(frozen=True)
class Moments:
    """Sums over the rows x of each cluster with their weights w, and what follows from them."""

    references: Any  # (k, columns): the point r of each cluster that sums are about
    mass: Floats  # (k,): the sum of w
    offsets: Floats  # (k, columns): the sum of w (x - r); empty if that is not kept
    squares: Floats  # (k,): the sum of w ||x - r||^2
    # (3, k): what the grids can have taken away from the mass, from the offsets (the length of the
    # vector of errors), and from the squares.
    errors: Floats
    columns: Columns  # what references and offsets hold
    spherical: bool = False  # whether centers are means divided by their lengths (metric "cosine")
    # What each row can have lost of its offsets and squares, if rows without weights share a grid.
    lost: tuple[float, float] | None = None

    @cached_property
    def means(self) -> Floats:
        """The center of each cluster; the reference point if the cluster has no weight."""
        if self.spherical:
            sums = self._sums
            lengths = np.sqrt(dot_rows(sums, sums, self.columns))[:, None]
            return np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), self.references)
        means: Floats = self.offsets / np.where(self.mass > 0, self.mass, 1.0)[:, None]
        means += self.references  # in place, because k times the number of columns may be large
        return means

    @cached_property
    def squares_of_means(self) -> Floats:
        """The mass of each cluster times the squared length of its mean."""
        means = replace(self, spherical=False).means if self.spherical else self.means
        return np.asarray(self.mass * dot_rows(means, means, self.columns))

    @cached_property
    def spread(self) -> Floats:
        """The sum of w ||x - mean||^2 of each cluster."""
        length = dot_rows(self.offsets, self.offsets, self.columns)
        beyond = length / np.where(self.mass > 0, self.mass, 1.0)
        return np.asarray(np.maximum(self.squares - beyond, 0.0))

    @cached_property
    def cluster_inertia(self) -> Floats:
        """The sum of w ||x - center||^2 of each cluster."""
        if not self.spherical:
            return self.spread
        gaps = self.references - self.means
        along, squares = (dot_rows(one, gaps, self.columns) for one in (self.offsets, gaps))
        return np.asarray(np.maximum(self.squares + (2 * along + self.mass * squares), 0.0))

    @cached_property
    def cluster_error(self) -> Floats:
        """The error of each cluster's inertia; see `inertia_error`."""
        lost_mass, lost_offsets, lost_squares = self.errors
        most, n_columns = self.squares + lost_squares, self.columns.n_columns
        mass = np.where(self.mass > 0, self.mass, 1.0)
        offsets_error = 4 * ROUNDING * np.sqrt(mass * most) + lost_offsets
        mass_error = 2 * ROUNDING + 2 * lost_mass / mass
        rounding = dot_error(n_columns) + mass_error
        squared = dot_rows(self.offsets, self.offsets, self.columns)
        if self.spherical:
            changed = self._spherical_error(mass, np.sqrt(squared), offsets_error, rounding)
        else:
            shift = squared / mass
            length = np.sqrt(shift * mass)
            changed = (2 * length + offsets_error) * offsets_error / mass + rounding * shift
        underflow = (n_columns + 4) * SMALLEST * (1 + 1 / mass)
        error = 8 * ROUNDING * most + lost_squares + changed + underflow
        return np.where(most > 0, np.where(mass_error < 0.5, error, np.inf), 0.0)

    @cached_property
    def moved_means(self) -> NDArray[np.bool_]:
        """Where the grids moved the mean by more than a tiny share of the spread of the rows.

        A cluster whose squares vanished on the grid is compared with the length of its reference
        instead: its rows may be equal, or much nearer to each other than the grid can tell.
        """
        size = self.squares * self.mass
        gone = np.flatnonzero((size <= 0) & (self.mass > 0))
        points = self.references[gone]
        size[gone] = dot_rows(points, points, self.columns) * self.mass[gone] ** 2
        return np.asarray(self.errors[1] ** 2 > MEAN_TOLERANCE**2 * size)

    @cached_property
    def inertia(self) -> float:
        """F, the sum of w ||x - center||^2."""
        return math.fsum(self.cluster_inertia.tolist())

    @cached_property
    def inertia_error(self) -> float:
        """The most that `inertia` can differ from its exact value for the rows as stored.

        Let u = 2^-53, S the sum of w ||x - r||^2, O the sum of w (x - r), and m the mass.

        - A difference x - r is rounded once and is squared with three more roundings, and the
          parts of the sum are added with two: S is off by at most 8 u S and what its grid took.
        - By the Cauchy-Schwarz inequality, the lengths of all w (x - r) sum up to at most
          sqrt(m S). So O is off by a vector of length at most 4 u sqrt(m S) and what its grids
          took.
        - The inertia is S - ||O||^2 / m. An error e of O changes ||O||^2 by at most
          2 ||O|| e + e^2. Dot products are rounded as `dot_error` says, and so on.

        All of this is enlarged by 2^-20 of itself, for products of errors that are left out. It is
        exactly 0 if all rows equal their references and the grids took nothing.

        Ordinary sums get the larger error that follows from few numbers, if that is small enough:
        the sum of squares takes the place of the smaller sums, so that `cluster_error` need not be
        computed for each cluster.
        """
        if self.lost is not None and not self.spherical:
            total = float(np.add.reduce(self.mass))
            lost_squares = total * self.lost[1]
            most = float(np.add.reduce(self.squares)) + lost_squares
            offset = 4 * ROUNDING * math.sqrt(most) + self.lost[0] * math.sqrt(total)
            dots = (dot_error(self.columns.n_columns) + 10 * ROUNDING) * most
            underflow = 2 * len(self.mass) * (self.columns.n_columns + 4) * SMALLEST
            error = lost_squares + dots + 2 * (math.sqrt(most) + offset) * offset + underflow
            quick = float(error * (1 + 2.0**-10))
            if quick <= TOLERANCE * self.inertia:
                return quick
        return math.fsum(self.cluster_error) * (1 + 2.0**-20)

    @property
    def accurate(self) -> bool:
        """Whether the grids of the sums were fine enough for the inertia and for most means."""
        if not self.inertia_error <= TOLERANCE * self.inertia:
            return False
        if self.lost is not None:  # no mean moves in a cluster whose rows have more spread
            least = (self.lost[0] / MEAN_TOLERANCE) ** 2
            if 2 * np.count_nonzero(self.squares > least * self.mass) > len(self.mass):
                return True
        moved = self.moved_means[self.mass > 0]
        return bool(2 * np.count_nonzero(moved) <= len(moved))

    @property
    def inertia_about_references(self) -> float:
        """The sum of w ||x - r||^2."""
        return math.fsum(self.squares.tolist())

    @property
    def error_about_references(self) -> float:
        """The most that `inertia_about_references` can differ from its exact value."""
        return 8 * ROUNDING * math.fsum(self.squares) + math.fsum(self.errors[2])

    @property
    def loses_bits(self) -> bool:
        """Whether means are so far from the references that bits of the inertia are lost."""
        return self.inertia < NEAR * math.fsum(self.squares.tolist())

    @property
    def sum_of_squares(self) -> float:
        """The sum of w ||x||^2: inertia about the means, and the squares of the means."""
        return math.fsum(self.spread) + math.fsum(self.squares_of_means)

    def inertia_about(self, points: Floats) -> tuple[float, float]:
        """Return the sum of w ||x - p||^2 for a point p of each cluster, and its error.

        With g = p - r that is S - 2 O g + m ||g||^2, where O is off by a vector of a known length;
        see `inertia_error`. Without offsets nothing is known: the error is infinite.
        """
        if not self.offsets.size:
            return math.nan, math.inf
        gaps = points - self.references
        squares, along = (dot_rows(one, gaps, self.columns) for one in (gaps, self.offsets))
        parts = self.squares - 2 * along + self.mass * squares
        lost_mass, lost_offsets, lost_squares = self.errors
        most, lengths = self.squares + lost_squares, np.sqrt(squares)
        offsets_error = 4 * ROUNDING * np.sqrt(self.mass * most) + lost_offsets
        far = dot_rows(self.offsets, self.offsets, self.columns)
        size = np.sqrt(far) * lengths + self.mass * squares
        rounding = dot_error(self.columns.n_columns) + 4 * ROUNDING
        rounded = 8 * ROUNDING * most + 2 * rounding * size
        moved = 2 * lengths * offsets_error + lost_mass * squares + lost_squares
        underflow = 4 * (self.columns.n_columns + 4) * SMALLEST * (1 + self.mass)
        error = math.fsum(rounded + moved + underflow) * (1 + 2.0**-20)
        return math.fsum(np.maximum(parts, 0.0)), error

    def describe(self, labels: Labels) -> Clustering:
        """Return the partition with these labels, its centers and its inertia."""
        weights = weigh_centers(self)
        total = measure_total_inertia(self.inertia, self.means, weights, spherical=self.spherical)
        return Clustering(
            labels,
            self.means,
            self.mass,
            self.inertia,
            self.sum_of_squares,
            inertia_error=self.inertia_error,
            total_inertia=total,
            center_weights=weights,
        )

    @property
    def _sums(self) -> Floats:
        """The sum of w x of each cluster."""
        return np.asarray(self.references * self.mass[:, None] + self.offsets)

    def _spherical_error(
        self, mass: Floats, length: Floats, offsets_error: Floats, rounding: Floats
    ) -> Floats:
        """Return the error of what lies between squares and inertia for centers of length one.

        With g = r - center, that is 2 O g + m ||g||^2. The center itself is rounded: the sum s of
        the rows by e, hence its direction by 2 e / ||s||, and its length by the error of a dot
        product. The inertia is smallest at the exact direction, so that it changes by
        4 e^2 / ||s|| at most. It changes by the rounding of the length times itself, and by
        the square of that rounding times m.
        """
        sums, gaps = self._sums, self.references - self.means
        gap = np.sqrt(dot_rows(gaps, gaps, self.columns))
        added = 2 * gap * (offsets_error + rounding * length) + rounding * mass * gap**2
        sum_error = offsets_error + 3 * ROUNDING * (mass + length)
        sum_length = np.maximum(np.sqrt(dot_rows(sums, sums, self.columns)), SMALLEST)
        turned = 4 * sum_error * (np.minimum(sum_error, sum_length) / sum_length)
        stretched = rounding * (self.cluster_inertia + mass * rounding)
        return np.asarray(added + turned + stretched)


def dot_rows(left: Floats, right: Floats, columns: Columns) -> Floats:
    """Return the dot product of each row with the same row of another array.

    Products of columns whose numbers have the same rest modulo `SPAN` are added in the order of the
    columns, and then these `SPAN` sums, two and two. A zero adds nothing to its sum. So vectors
    that hold some of the columns have the dot products of the dense vectors, to the bit.
    """
    out = np.empty(len(left))
    _native.dot_rows(np.ascontiguousarray(left), np.ascontiguousarray(right), *columns, out)
    return out


def dot_error(n_columns: int) -> float:
    """Return the relative error of `dot_rows`, and of a few roundings of its result."""
    n_additions = n_columns // SPAN + math.log2(SPAN)
    return (n_additions + 10) * ROUNDING  # one for the product, nine for what callers do with it


def weigh_centers(moments: Moments) -> Floats:
    """Return the mass of each cluster; for unit rows the length of the sum of its rows."""
    if moments.spherical:
        return np.sqrt(moments.mass * moments.squares_of_means)
    return moments.mass


def measure_total_inertia(
    inertia: float, centers: Floats, weights: Floats, *, spherical: bool
) -> float:
    """Return the inertia of all rows about the best single center, from that of clusters.

    The best center is the mean of all rows. The inertia about it is that of the clusters and that
    of their means, weighted by their mass. If centers have length one, it is the direction of the
    sum of all rows. The same formula holds there with the directions u_j of the clusters' sums s_j
    as centers and the lengths of s_j as weights, because the inertia about a unit center c exceeds
    that about u_j by 2 |s_j| (1 - u_j c) = |s_j| |u_j - c|^2.
    """
    if spherical:
        center = np.einsum("j,jc->c", weights, centers)
        length = math.sqrt(float(np.einsum("c,c->", center, center)))
        if not length > 0:  # all unit centers are equally good
            return inertia + 2 * math.fsum(weights)
        center = center / length
    else:
        total = math.fsum(weights)
        if not total > 0:
            return inertia
        center = np.einsum("j,jc->c", weights / total, centers)
    step, parts = max(1, PART_SIZE // centers.shape[1]), list[float]()
    for first in range(0, len(centers), step):
        gaps = centers[first : first + step] - center
        squared = np.einsum("jc,jc->j", gaps, gaps) * weights[first : first + step]
        parts.extend(squared.tolist())
    return inertia + math.fsum(parts)


def explain_share(inertia: float, total: float) -> float:
    """Return the share of a total inertia that clusters explain; 0 if the total is 0."""
    return min(max(1 - inertia / total, 0.0), 1.0) if total > 0 else 0.0


def normalize(value: float, largest: float) -> float:
    """Return an inertia divided by the largest that is possible, or 0 if that is 0.

    Rounding may raise an inertia that is as large as possible by its last digit; 1 is returned.
    """
    return min(value / largest, 1.0) if largest > 0 else 0.0


def largest_inertia(partition: Clustering, *, spherical: bool) -> float:
    """Return the largest inertia that rows can have about the best centers of their clusters.

    It is the sum of squares of the rows, because means are better centers than zero. Centers of
    length one cannot be zero. About them, a cluster of weight W, sum of squares Q and sum s has
    the inertia Q + W - 2 |s|, so that the largest is Q + W.
    """
    return partition.sum_of_squares + (math.fsum(partition.mass) if spherical else 0.0)
