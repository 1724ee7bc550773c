"""SCORE: a partition as its sums describe it, and the inertia of all rows about one center."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from projected_kmeans.results import Clustering, Floats, Labels

# Numbers of centers that are subtracted at a time, 2 MB of float64.
PART_SIZE = 2**18


class SumsOfClusters(Protocol):
    """What is asked of the sums of a partition: `Moments` and `JoinedMoments`."""

    @property
    def spherical(self) -> bool:
        """Whether centers have length one."""

    @property
    def inertia(self) -> float:
        """The inertia about the centers."""

    @property
    def mass(self) -> Floats:
        """The weight of each cluster."""

    @property
    def means(self) -> Floats:
        """The center of each cluster."""

    @property
    def squares_of_means(self) -> Floats:
        """The mass of each cluster times the squared length of its mean."""

    @property
    def sum_of_squares(self) -> float:
        """The sum of squares of the rows."""

    @property
    def inertia_error(self) -> float:
        """The most that the inertia can differ from its exact value."""


def describe_partition(sums: SumsOfClusters, labels: Labels) -> Clustering:
    """Return the partition with these labels, its centers and its inertia."""
    weights = weigh_centers(sums)
    measure = measure_total_spherical_inertia if sums.spherical else measure_total_inertia
    return Clustering(
        labels,
        sums.means,
        sums.mass,
        sums.inertia,
        sums.sum_of_squares,
        inertia_error=sums.inertia_error,
        total_inertia=measure(sums.inertia, sums.means, weights),
        center_weights=weights,
    )


def weigh_centers(sums: SumsOfClusters) -> Floats:
    """Return the mass of each cluster; for unit rows the length of the sum of its rows."""
    return np.sqrt(sums.mass * sums.squares_of_means) if sums.spherical else sums.mass


def measure_total_inertia(inertia: float, means: Floats, mass: Floats) -> float:
    """Return the inertia of all rows about the best single center.

    That is the mean of all rows: the inertia about it is the inertia of the clusters and that of
    their means. For centers of length one it is the direction of the sum of all rows. The same
    formula holds there with directions u_j of the clusters' sums s_j as means and the lengths of
    s_j as mass, because the inertia about a unit center c exceeds that about u_j by
    2 |s_j| (1 - u_j c) = |s_j| |u_j - c|^2.

    Parameters
    ----------
    inertia : float
        The inertia of the clusters about their means.
    means : ndarray of float64 (k, columns)
        The means.
    mass : ndarray of float64 (k,)
        Their weights.

    Examples
    --------
    >>> measure_total_inertia(0.0, np.array([[0.0], [3.0]]), np.array([2.0, 1.0]))
    6.0
    """
    total = math.fsum(mass)
    if not total > 0:
        return inertia
    return inertia + _spread(means, mass, np.einsum("j,jc->c", mass / total, means))


def measure_total_spherical_inertia(inertia: float, directions: Floats, lengths: Floats) -> float:
    """Return the inertia of all unit rows about the best single center of length one.

    Parameters
    ----------
    inertia : float
        The inertia of the clusters about their centers.
    directions : ndarray of float64 (k, columns)
        The centers, the directions of the clusters' sums.
    lengths : ndarray of float64 (k,)
        The lengths of these sums.

    Examples
    --------
    >>> measure_total_spherical_inertia(0.0, np.eye(2), np.array([0.0, 1.0]))
    0.0
    """
    sum_of_rows = np.einsum("j,jc->c", lengths, directions)
    length = math.sqrt(float(np.einsum("c,c->", sum_of_rows, sum_of_rows)))
    if not length > 0:  # all unit centers are equally good
        return inertia + 2 * math.fsum(lengths)
    return inertia + _spread(directions, lengths, sum_of_rows / length)


def explain_share(inertia: float, total: float) -> float:
    """Return the share of a total inertia that clusters explain; 0 if there is nothing to explain.

    Examples
    --------
    >>> explain_share(1.0, 4.0), explain_share(0.0, 0.0)
    (0.75, 0.0)
    """
    return min(max(1 - inertia / total, 0.0), 1.0) if total > 0 else 0.0


def _spread(points: Floats, mass: Floats, center: Floats) -> float:
    """Return the weighted squared distances of points to a center."""
    length, parts = max(1, PART_SIZE // points.shape[1]), list[float]()
    for first in range(0, len(points), length):
        gaps = points[first : first + length] - center
        squared = np.einsum("jc,jc->j", gaps, gaps) * mass[first : first + length]
        parts.extend(squared.tolist())
    return math.fsum(parts)
