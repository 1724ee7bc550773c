"""What follows from sums over clusters alike, whether all clusters were summed at once or not."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.dot_products import ROUNDING, dot_error
from projected_kmeans.passes.moment_grids import SMALLEST
from projected_kmeans.passes.total_inertia import describe_partition
from projected_kmeans.results import Clustering, Floats, Labels

# Sums are accurate if the error of the inertia is at most this share of it, 4.5e-13.
TOLERANCE = 2.0**-41

# Sums are about reference points. When the inertia falls below this share of the squared distances
# to these points, four bits of it are lost, and sums are opened anew about the means.
NEAR = 1 / 16

# In most clusters, the grid moves the mean by at most this share of the spread of the rows.
MEAN_TOLERANCE = 2.0**-30


class ClusterNumbers(Protocol):
    """What `ClusterTotals` asks of the sums of clusters; `Moments` documents all of it."""

    @property
    def mass(self) -> Floats:
        """The weight of each cluster."""

    @property
    def means(self) -> Floats:
        """The center of each cluster."""

    @property
    def n_columns(self) -> int:
        """The number of all columns."""

    @property
    def squares(self) -> Floats:
        """The sum of w ||x - r||^2 of each cluster."""

    @property
    def spread(self) -> Floats:
        """The sum of w ||x - mean||^2 of each cluster."""

    @property
    def cluster_inertia(self) -> Floats:
        """The sum of w ||x - center||^2 of each cluster."""

    @property
    def cluster_error(self) -> Floats:
        """The error of each cluster's inertia."""

    @property
    def squares_of_means(self) -> Floats:
        """The mass of each cluster times the squared length of its mean."""

    @property
    def lost_squares(self) -> Floats:
        """What the grids can have taken away from the squares of each cluster."""

    @property
    def moved_means(self) -> NDArray[np.bool_]:
        """Where the grids moved the mean by more than a tiny share of the spread of the rows."""

    @property
    def spherical(self) -> bool:
        """Whether centers have length one."""

    @property
    def lost(self) -> tuple[float, float] | None:
        """What each row can have lost of its offsets and squares; None if that is not known."""

    @property
    def inertia(self) -> float:
        """The inertia about the centers."""

    @property
    def inertia_error(self) -> float:
        """The most that the inertia can differ from its exact value."""

    @property
    def sum_of_squares(self) -> float:
        """The sum of squares of the rows."""


class ClusterTotals:
    """The inertia of all clusters and its proven error, from the numbers of each cluster."""

    @cached_property
    def inertia(self: ClusterNumbers) -> float:
        """F, the sum of w ||x - center||^2."""
        return math.fsum(self.cluster_inertia.tolist())

    @cached_property
    def inertia_error(self: ClusterNumbers) -> float:
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
        exactly 0 if all rows equal their references and the grids took nothing. Ordinary sums get
        the larger `quick_error`, which is small enough for them.
        """
        if not self.spherical:
            quick = quick_error(self.mass, self.squares, self.lost, self.n_columns)
            if quick <= TOLERANCE * self.inertia:
                return quick
        return math.fsum(self.cluster_error) * (1 + 2.0**-20)

    @property
    def accurate(self: ClusterNumbers) -> bool:
        """Whether the grids of the sums were fine enough for the inertia and for most means."""
        if not self.inertia_error <= TOLERANCE * self.inertia:
            return False
        if _most_have_spread(self.mass, self.squares, self.lost):
            return True
        moved = self.moved_means[self.mass > 0]
        return bool(2 * np.count_nonzero(moved) <= len(moved))

    @property
    def inertia_about_references(self: ClusterNumbers) -> float:
        """The sum of w ||x - r||^2."""
        return math.fsum(self.squares.tolist())

    @property
    def loses_bits(self: ClusterNumbers) -> bool:
        """Whether means are so far from the references that bits of the inertia are lost."""
        return self.inertia < NEAR * math.fsum(self.squares.tolist())

    @property
    def error_about_references(self: ClusterNumbers) -> float:
        """The most that `inertia_about_references` can differ from its exact value."""
        return 8 * ROUNDING * math.fsum(self.squares) + math.fsum(self.lost_squares)

    @property
    def sum_of_squares(self: ClusterNumbers) -> float:
        """The sum of w ||x||^2: inertia about the means, and the squares of the means."""
        return math.fsum(self.spread) + math.fsum(self.squares_of_means)

    def describe(self: ClusterNumbers, labels: Labels) -> Clustering:
        """Return the partition with these labels, its centers and its inertia."""
        return describe_partition(self, labels)


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
    dots = (dot_error(n_columns) + 10 * ROUNDING) * most
    underflow = 2 * len(mass) * (n_columns + 4) * SMALLEST
    error = lost_squares + dots + 2 * (math.sqrt(most) + offset) * offset + underflow
    return float(error * (1 + 2.0**-10))


def _most_have_spread(mass: Floats, squares: Floats, lost: tuple[float, float] | None) -> bool:
    """Return whether most clusters certainly have more spread than their means need."""
    if lost is None:
        return False
    least = (lost[0] / MEAN_TOLERANCE) ** 2
    return bool(2 * np.count_nonzero(squares > least * mass) > len(mass))
