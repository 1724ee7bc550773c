"""Means and inertia of clusters from sums over their rows, with a proven error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.cluster_totals import MEAN_TOLERANCE, ClusterTotals
from projected_kmeans.passes.dot_products import ROUNDING, SomeColumns, dot_error, dot_rows
from projected_kmeans.passes.moment_grids import SMALLEST
from projected_kmeans.results import Floats


@dataclass(frozen=True)
class Moments(ClusterTotals):
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
    some_columns : SomeColumns or None
        Which columns the references and the offsets hold, because they are 0 in all others; None
        if they hold all columns.
    """

    references: Floats
    mass: Floats
    offsets: Floats
    squares: Floats
    spherical: bool = False
    errors: Floats | None = None
    lost: tuple[float, float] | None = None
    some_columns: SomeColumns | None = None

    @property
    def n_columns(self) -> int:
        """The number of all columns."""
        some = self.some_columns
        return self.offsets.shape[1] if some is None else some.n_columns

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

    def inertia_about(self, points: Floats) -> tuple[float, float]:
        """Return the sum of w ||x - p||^2 for a point p of each cluster, and its error.

        With g = p - r that is S - 2 O g + m ||g||^2, where O is off by a vector of a known length;
        see `ClusterTotals.inertia_error`.
        """
        gaps = points - self.references
        along, squares = self._dot(self.offsets, gaps), self._dot(gaps, gaps)
        parts = self.squares - 2 * along + self.mass * squares
        lost_mass, lost_offsets, lost_squares = self._errors
        most, lengths = self.squares + lost_squares, np.sqrt(squares)
        offsets_error = 4 * ROUNDING * np.sqrt(self.mass * most) + lost_offsets
        size = np.sqrt(self._dot(self.offsets, self.offsets)) * lengths + self.mass * squares
        rounded = 8 * ROUNDING * most + 2 * (dot_error(self.n_columns) + 4 * ROUNDING) * size
        moved = 2 * lengths * offsets_error + lost_mass * squares + lost_squares
        underflow = 4 * (self.n_columns + 4) * SMALLEST * (1 + self.mass)
        error = math.fsum(rounded + moved + underflow) * (1 + 2.0**-20)
        return math.fsum(np.maximum(parts, 0.0)), error

    @property
    def moved_means(self) -> NDArray[np.bool_]:
        """Where the grids moved the mean by more than a tiny share of the spread of the rows.

        A cluster whose squares vanished on the grid is compared with the length of its reference
        instead: its rows may be equal, or much nearer to each other than the grid can tell.
        """
        size = self.squares * self.mass
        gone = np.flatnonzero((size <= 0) & (self.mass > 0))
        size[gone] = self._dot(self.references[gone], self.references[gone]) * self.mass[gone] ** 2
        return np.asarray(self._errors[1] ** 2 > MEAN_TOLERANCE**2 * size)

    @property
    def lost_squares(self) -> Floats:
        """What the grids can have taken away from the squares of each cluster."""
        return np.asarray(self._errors[2])

    @property
    def squares_of_means(self) -> Floats:
        """The mass of each cluster times the squared length of its mean."""
        means = self._raw_means
        return np.asarray(self.mass * self._dot(means, means))

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
        lengths = np.sqrt(self._dot(sums, sums))[:, None]
        return np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), self.references)

    @cached_property
    def _spherical_inertia(self) -> Floats:
        """The sum of w ||x - center||^2 of each cluster for centers of length one."""
        gaps = self.references - self.means
        beyond = 2 * self._dot(self.offsets, gaps) + self.mass * self._dot(gaps, gaps)
        return np.asarray(np.maximum(self.squares + beyond, 0.0))

    @cached_property
    def _shift(self) -> Floats:
        """What the inertia about the references exceeds that about the means by."""
        return np.asarray(self._dot(self.offsets, self.offsets) / self._filled)

    @cached_property
    def spread(self) -> Floats:
        """The sum of w ||x - mean||^2 of each cluster."""
        return np.asarray(np.maximum(self.squares - self._shift, 0.0))

    @cached_property
    def cluster_error(self) -> Floats:
        """The error of each cluster's inertia; see `ClusterTotals.inertia_error`."""
        lost_mass, lost_offsets, lost_squares = self._errors
        most, mass, n_columns = self.squares + lost_squares, self._filled, self.n_columns
        offsets_error = 4 * ROUNDING * np.sqrt(mass * most) + lost_offsets
        mass_error = 2 * ROUNDING + 2 * lost_mass / mass
        rounding = dot_error(n_columns) + mass_error
        if self.spherical:
            changed = self._spherical_error(offsets_error, rounding)
        else:
            length = np.sqrt(self._shift * mass)
            changed = (2 * length + offsets_error) * offsets_error / mass + rounding * self._shift
        underflow = (n_columns + 4) * SMALLEST * (1 + 1 / mass)
        error = 8 * ROUNDING * most + lost_squares + changed + underflow
        return np.where(most > 0, np.where(mass_error < 0.5, error, np.inf), 0.0)

    def _spherical_error(self, offsets_error: Floats, rounding: Floats) -> Floats:
        """Return the error of what lies between squares and inertia for centers of length one.

        With g = r - center, that is 2 O g + m ||g||^2. The center itself is rounded: the sum s of
        the rows by e, hence its direction by 2 e / ||s||, and its length by the error of a dot
        product. The inertia is smallest at the exact direction, so that it changes by
        4 e^2 / ||s|| at most. It changes by the rounding of the length times itself, and by
        the square of that rounding times m.
        """
        mass = self._filled
        gaps = self.references - self.means
        length = np.sqrt(self._dot(self.offsets, self.offsets))
        gap = np.sqrt(self._dot(gaps, gaps))
        added = 2 * gap * (offsets_error + rounding * length) + rounding * mass * gap**2
        sums = self.references * self.mass[:, None] + self.offsets
        sum_error = offsets_error + 3 * ROUNDING * (mass + length)
        sum_length = np.maximum(np.sqrt(self._dot(sums, sums)), SMALLEST)
        turned = 4 * sum_error * (np.minimum(sum_error, sum_length) / sum_length)
        stretched = rounding * (self.cluster_inertia + mass * rounding)
        return np.asarray(added + turned + stretched)

    def _dot(self, left: Floats, right: Floats) -> Floats:
        return dot_rows(left, right, self.some_columns)
