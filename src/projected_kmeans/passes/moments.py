"""Means and inertia of clusters from sums over their rows, with a proven error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.moment_grids import SMALLEST
from projected_kmeans.passes.total_inertia import describe_partition
from projected_kmeans.results import Clustering, Floats, Labels

# Half a unit in the last place of 1.0.
ROUNDING = 2.0**-53

# Sums are accurate if the error of the inertia is at most this share of it, 4.5e-13.
TOLERANCE = 2.0**-41

# In most clusters, the grid moves the mean by at most this share of the spread of the rows.
MEAN_TOLERANCE = 2.0**-30

# Sums of products are taken over so many columns at a time, so that their rounding stays small.
SPAN = 512


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
    errors : ndarray of float64 (3, k) or None
        What the grids of the sums can have taken away: from the mass, from the offsets (the length
        of the vector of errors), and from the squares. None if it follows from ``lost``, or is
        nothing.
    lost : (float, float) or None
        For rows without weights on one grid: what each row can have lost of its offsets and of its
        squares.
    """

    references: Floats
    mass: Floats
    offsets: Floats
    squares: Floats
    spherical: bool = False
    errors: Floats | None = None
    lost: tuple[float, float] | None = None

    @property
    def means(self) -> Floats:
        """The center of every cluster: its mean, divided by its length if spherical.

        A cluster without weight has its reference point as center.
        """
        return self._unit_means if self.spherical else self._raw_means

    @property
    def cluster_inertia(self) -> Floats:
        """The sum of w ||x - center||^2 of each cluster."""
        return self._spherical_inertia if self.spherical else self.spread

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
          2 ||O|| e + e^2. The products of `SPAN` columns at a time are added with at most
          SPAN roundings, and so on.

        All of this is enlarged by 2^-20 of itself, for products of errors that are left out. It is
        exactly 0 if all rows equal their references and the grids took nothing. Ordinary sums get
        the larger `quick_error`, which is small enough for them.
        """
        if not self.spherical:
            quick = quick_error(self.mass, self.squares, self.lost, self.offsets.shape[1])
            if quick <= TOLERANCE * self.inertia:
                return quick
        return add_errors(self.cluster_error)

    @property
    def accurate(self) -> bool:
        """Whether the grids of the sums were fine enough for the inertia and for most means."""
        if not self.inertia_error <= TOLERANCE * self.inertia:
            return False
        if most_have_spread(self.mass, self.squares, self.lost):
            return True
        moved = self.moved_means[self.mass > 0]
        return bool(2 * np.count_nonzero(moved) <= len(moved))

    @property
    def moved_means(self) -> NDArray[np.bool_]:
        """Where the grids moved the mean by more than a tiny share of the spread of the rows.

        A cluster whose squares vanished on the grid is compared with the length of its reference
        instead: its rows may be equal, or much nearer to each other than the grid can tell.
        """
        size = self.squares * self.mass
        gone = np.flatnonzero((size <= 0) & (self.mass > 0))
        size[gone] = _dot(self.references[gone], self.references[gone]) * self.mass[gone] ** 2
        return np.asarray(self._errors[1] ** 2 > MEAN_TOLERANCE**2 * size)

    def describe(self, labels: Labels) -> Clustering:
        """Return the partition with these labels, its centers and its inertia."""
        return describe_partition(self, labels)

    @property
    def inertia_about_references(self) -> float:
        """The sum of w ||x - r||^2."""
        return math.fsum(self.squares.tolist())

    @property
    def error_about_references(self) -> float:
        """The most that `inertia_about_references` can differ from its exact value."""
        return error_of_squares(self.squares, self.lost_squares)

    @property
    def lost_squares(self) -> Floats:
        """What the grids can have taken away from the squares of each cluster."""
        return np.asarray(self._errors[2])

    @property
    def sum_of_squares(self) -> float:
        """The sum of w ||x||^2: inertia about the means, and the squares of the means."""
        return math.fsum(self.spread) + math.fsum(self.squares_of_means)

    @property
    def squares_of_means(self) -> Floats:
        """The mass of each cluster times the squared length of its mean."""
        means = self._raw_means
        return np.asarray(self.mass * _dot(means, means))

    @cached_property
    def _errors(self) -> Floats:
        if self.errors is not None:
            return self.errors
        return np.outer((0.0, *(self.lost or (0.0, 0.0))), self.mass)

    @cached_property
    def _filled(self) -> Floats:
        """The mass, and 1 for clusters without weight, to divide by."""
        return np.where(self.mass > 0, self.mass, 1.0)

    @cached_property
    def _raw_means(self) -> Floats:
        means: Floats = self.offsets / self._filled[:, None]
        means += self.references  # in place, because k times the number of columns may be large
        return means

    @cached_property
    def _unit_means(self) -> Floats:
        """The means divided by their lengths."""
        sums = self.references * self.mass[:, None] + self.offsets
        lengths = np.sqrt(_dot(sums, sums))[:, None]
        return np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), self.references)

    @cached_property
    def _spherical_inertia(self) -> Floats:
        """The sum of w ||x - center||^2 of each cluster for centers of length one."""
        gaps = self.references - self.means
        beyond = 2 * _dot(self.offsets, gaps) + self.mass * _dot(gaps, gaps)
        return np.asarray(np.maximum(self.squares + beyond, 0.0))

    @cached_property
    def _shift(self) -> Floats:
        """What the inertia about the references exceeds that about the means by."""
        return np.asarray(_dot(self.offsets, self.offsets) / self._filled)

    @cached_property
    def spread(self) -> Floats:
        """The sum of w ||x - mean||^2 of each cluster."""
        return np.asarray(np.maximum(self.squares - self._shift, 0.0))

    @cached_property
    def cluster_error(self) -> Floats:
        """The error of each cluster's inertia; see `inertia_error`."""
        lost_mass, lost_offsets, lost_squares = self._errors
        most, mass, n_columns = self.squares + lost_squares, self._filled, self.offsets.shape[1]
        offsets_error = 4 * ROUNDING * np.sqrt(mass * most) + lost_offsets
        mass_error = 2 * ROUNDING + 2 * lost_mass / mass
        dot_error = _dot_error(n_columns) + mass_error
        if self.spherical:
            changed = self._spherical_error(offsets_error, dot_error)
        else:
            length = np.sqrt(self._shift * mass)
            changed = (2 * length + offsets_error) * offsets_error / mass + dot_error * self._shift
        underflow = (n_columns + 4) * SMALLEST * (1 + 1 / mass)
        error = 8 * ROUNDING * most + lost_squares + changed + underflow
        return np.where(most > 0, np.where(mass_error < 0.5, error, np.inf), 0.0)

    def _spherical_error(self, offsets_error: Floats, dot_error: Floats) -> Floats:
        """Return the error of what lies between squares and inertia for centers of length one.

        With g = r - center, that is 2 O g + m ||g||^2. The center itself is rounded: the sum s of
        the rows by e, hence its direction by 2 e / ||s||, and its length by the error of a dot
        product. The inertia is smallest at the exact direction, so that it changes by
        4 e^2 / ||s|| at most. It changes by the rounding of the length times itself, and by
        the square of that rounding times m.
        """
        mass = self._filled
        gaps = self.references - self.means
        length, gap = np.sqrt(_dot(self.offsets, self.offsets)), np.sqrt(_dot(gaps, gaps))
        added = 2 * gap * (offsets_error + dot_error * length) + dot_error * mass * gap**2
        sums = self.references * self.mass[:, None] + self.offsets
        sum_error = offsets_error + 3 * ROUNDING * (mass + length)
        sum_length = np.maximum(np.sqrt(_dot(sums, sums)), SMALLEST)
        turned = 4 * sum_error * (np.minimum(sum_error, sum_length) / sum_length)
        stretched = dot_error * (self.cluster_inertia + mass * dot_error)
        return np.asarray(added + turned + stretched)


def quick_error(
    mass: Floats, squares: Floats, lost: tuple[float, float] | None, n_columns: int
) -> float:
    """Return an error of the inertia from few numbers; infinity if they do not suffice.

    This is the sum of all `Moments.cluster_error`, with the sum of squares in place of the smaller
    sums, so that ordinary passes need not compute it for each cluster.
    """
    if lost is None:
        return math.inf
    total = float(np.add.reduce(mass))
    lost_squares = total * lost[1]
    most = float(np.add.reduce(squares)) + lost_squares
    offset = 4 * ROUNDING * math.sqrt(most) + lost[0] * math.sqrt(total)
    dots = (_dot_error(n_columns) + 10 * ROUNDING) * most
    underflow = 2 * len(mass) * (n_columns + 4) * SMALLEST
    error = lost_squares + dots + 2 * (math.sqrt(most) + offset) * offset + underflow
    return float(error * (1 + 2.0**-10))


def add_errors(cluster_error: Floats) -> float:
    """Return the error of the inertia from the errors of all clusters."""
    return math.fsum(cluster_error) * (1 + 2.0**-20)


def error_of_squares(squares: Floats, lost_squares: Floats) -> float:
    """Return the error of the sum of squared distances to the references."""
    return 8 * ROUNDING * math.fsum(squares) + math.fsum(lost_squares)


def most_have_spread(mass: Floats, squares: Floats, lost: tuple[float, float] | None) -> bool:
    """Return whether most clusters certainly have more spread than their means need."""
    if lost is None:
        return False
    least = (lost[0] / MEAN_TOLERANCE) ** 2
    return bool(2 * np.count_nonzero(squares > least * mass) > len(mass))


def _dot_error(n_columns: int) -> float:
    """Return the relative error of `_dot`, with some roundings of its result."""
    return (min(n_columns, SPAN) + n_columns // SPAN + 8) * ROUNDING


def _dot(left: Floats, right: Floats) -> Floats:
    """Return the dot product of each row of one array with the same row of another.

    The products of `SPAN` columns at a time are added, in the order of the columns.
    """
    n_rows, n_spans = len(left), left.shape[1] // SPAN
    if not n_spans:
        return np.asarray(np.einsum("ij,ij->i", left, right))
    spans = (n_rows, n_spans, SPAN)
    whole = (array[:, : n_spans * SPAN].reshape(spans) for array in (left, right))
    rest = (array[:, n_spans * SPAN :] for array in (left, right))
    parts = np.empty((n_rows, n_spans + 1))
    np.einsum("ijk,ijk->ij", *whole, out=parts[:, :-1])
    np.einsum("ij,ij->i", *rest, out=parts[:, -1])
    return np.asarray(np.cumsum(parts, axis=1)[:, -1])
