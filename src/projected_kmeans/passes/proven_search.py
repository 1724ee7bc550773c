"""POLISH: the nearest of all centers, where the sketch proves most distances needless.

The sketch holds the coordinates of rows along orthonormal directions. What a row and a center have
along the directions and what they have across them add up to their distance:

    |x - c|^2  =  |y - z|^2 + |x_across - c_across|^2  >=  |y - z|^2 + (|x_across| - |c_across|)^2

A center is a mean, so that little of it is across the directions, and the bound is near the
distance. On digits (10,000 x 784, k = 64, 64 directions) the second nearest center in the sketch
is proven too far for 77 % of the rows, and all but the nearest eight for more than 99.9 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Block, Task, add, fill, read, update
from projected_kmeans.passes.assignment import NOTHING
from projected_kmeans.passes.candidate_search import Candidates
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Centers that are listed for each row. The kernel meets eight centers at a time.
N_LISTED = 8

# Distances of a row to its center, to the origin and to listed centers take as long as products
# with this many centers: 60,000 x 784 rows with 64 clusters take as long as in a full pass, with
# 200 half as long. A search is worth it if it does less than WORTH of the products of a pass.
ROW_COST, WORTH = 50, 0.8

# A bound has to exceed a distance by this share of the squared lengths, so that the rounding of
# float64 cannot matter.
MARGIN = 1e-9

# Directions are orthonormal if products of two differ by less than this from 0 and 1.
ORTHONORMAL = 1e-10


@dataclass(frozen=True)
class Subspace:
    """The directions that a sketch holds the coordinates along.

    Attributes
    ----------
    origin : ndarray of float64 (d,)
        The point that is at zero.
    directions : ndarray of float64 (t, d)
        Orthonormal rows; rows of zeros if there are fewer directions.
    """

    origin: Floats
    directions: Floats

    @property
    def is_orthonormal(self) -> bool:
        """Whether bounds from the sketch hold."""
        products = multiply(self.directions, self.directions.T)
        wanted = np.diag(np.rint(np.clip(np.diag(products), 0, 1)))
        return bool(np.max(np.abs(products - wanted)) < ORTHONORMAL)


def is_worthwhile(n_clusters: int, n_columns: int, n_components: int) -> bool:
    """Return whether bounds from a sketch of this size save more than they cost."""
    if n_clusters <= 2 * N_LISTED:
        return False
    cost = n_clusters * n_components + ROW_COST * n_columns
    return cost < WORTH * n_clusters * n_columns


@dataclass(frozen=True)
class _Shadow:
    """What the sketch says of every row.

    Attributes
    ----------
    lists : ndarray (n, 8)
        The nearest centers in the sketch.
    second, beyond : ndarray of float64 (n,)
        At most the distance, in the sketch, to all centers but the first of the list, and to all
        that are not in the list.
    length : ndarray of float64 (n,)
        The length of the row in the sketch.
    """

    lists: Candidates
    second: Floats
    beyond: Floats
    length: Floats


class ProvenSearch:
    """Finds the nearest of all centers, with the labels of `assign_rows`; a `Search`.

    Parameters
    ----------
    problem : Problem
        The rows.
    sketch : Problem
        Their coordinates in the subspace, computed in the precision of the rows.
    subspace : Subspace
        Its directions must be orthonormal.

    Attributes
    ----------
    n_measured : int
        Rows whose distances to all centers were measured so far.
    """

    def __init__(self, problem: Problem, sketch: Problem, subspace: Subspace) -> None:
        self.n_measured, self.remembered = 0, NOTHING
        self._problem, self._sketch, self._subspace = problem, sketch, subspace

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest centers; of equally near ones the lowest wins."""
        source, origin = self._problem.source, self._subspace.origin
        moved = centers - origin
        inside, squared = multiply(moved, self._subspace.directions.T), _squares(moved)
        shadow = self._look(inside, labels)
        across = np.sqrt(np.maximum(squared - _squares(inside) + ORTHONORMAL * squared, 0.0))
        largest = math.sqrt(float(squared.max()))
        kernel = partial(
            _label,
            Frame.around(centers, compute_type(source.dtype), self._problem.ranges),
            Frame.around(centers, np.dtype(np.float64), self._problem.ranges).scale,
            centers,
            origin[None],
            _Limits(*self._bound_rounding(), float(across.max()), largest),
            self._problem.n_threads,
        )
        measured = np.zeros(1, np.int64)
        parts = (read(part) for part in vars(shadow).values())
        source.walk(Task(kernel, (update(labels), add(measured), *parts)), *then)
        self.n_measured += int(measured[0])

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Do nothing, because nothing is remembered."""

    def _look(self, inside: Floats, labels: Labels) -> _Shadow:
        """Walk over the sketch once."""
        sketch, dtype = self._sketch, compute_type(self._sketch.source.dtype)
        n_columns = sketch.source.shape[1]
        frame = Frame.around(inside, dtype, sketch.ranges)
        narrow = len(inside) <= _native.MAX_NARROW_CENTERS
        new_array = sketch.source.new_row_array
        lists: Candidates = new_array(
            np.dtype(np.uint16 if narrow else np.int32), width=(N_LISTED,)
        )
        second, beyond, length = (new_array(np.dtype(np.float64)) for _ in range(3))
        reach = math.sqrt(float(_squares(inside - frame.origin).max()))
        # By how much squared distances of two centers can be rounded, for a row at distance 1.
        rounding = 4 * (n_columns + 8) * float(np.finfo(dtype).eps) / 2 * reach
        kernel = partial(_list, frame, inside, reach, rounding, sketch.n_threads)
        uses = (read(labels), fill(lists), fill(second), fill(beyond), fill(length))
        sketch.source.walk(Task(kernel, uses))
        return _Shadow(lists, second, beyond, length)

    def _bound_rounding(self) -> tuple[float, float]:
        """Return how far a row of the sketch is from its exact place, at most.

        That is a share of the row's distance to the origin, and a constant. A product of d numbers
        is wrong by (d + 8) u of the lengths, in each of t directions. The origin is rounded to the
        precision of the rows; sparse rows are not moved to it before they are multiplied.
        """
        unit = float(np.finfo(compute_type(self._sketch.source.dtype)).eps) / 2
        n_components, n_columns = self._subspace.directions.shape
        share = math.sqrt(n_components) * (n_columns + 8) * unit
        length = math.sqrt(float(_squares(self._subspace.origin[None])[0]))
        return share, (2 * share if self._problem.source.sparse else 4 * unit) * length


@dataclass(frozen=True)
class _Limits:
    """Rounding of the sketch, and how far centers are across the directions and from the origin."""

    share: float
    constant: float
    across: float
    largest: float


def _list(
    frame: Frame,
    centers: Floats,
    reach: float,
    rounding: float,
    n_threads: int,
    block: Block,
    labels: Labels,
    lists: Candidates,
    second: Floats,
    beyond: Floats,
    length: Floats,
) -> None:
    rows, n_rows = block.rows, len(labels)
    _native.candidate_centers(
        rows, frame.origin, frame.scale, frame.centers, labels, lists, n_threads
    )
    # The last place may be that of the row's own center, which need not be the next nearest.
    for out, place in ((second, 1), (beyond, N_LISTED - 2)):
        named = np.ascontiguousarray(lists[:, place], dtype=np.int32)
        squared = _measure(rows, named, centers, frame.scale, n_threads)
        away = np.sqrt(squared) + 2 * reach
        out[:] = np.sqrt(np.maximum(squared - rounding * away, 0.0))
    none, zero = np.zeros(n_rows, np.int32), np.zeros((1, centers.shape[1]))
    length[:] = np.sqrt(_measure(rows, none, zero, frame.scale, n_threads))


def _label(
    frame: Frame,
    scale: float,
    centers: Floats,
    origin: Floats,
    limits: _Limits,
    n_threads: int,
    block: Block,
    labels: Labels,
    measured: NDArray[np.int64],
    lists: Candidates,
    second: Floats,
    beyond: Floats,
    length: Floats,
) -> None:
    """Label the rows of a block: by proof, by the nearest listed center, or by all distances."""
    rows = block.rows
    away = np.sqrt(_measure(rows, np.zeros(len(labels), np.int32), origin, scale, n_threads))
    error = limits.share * away + limits.constant
    across = np.sqrt(np.maximum(away**2 - (length + error) ** 2, 0.0))
    least = np.maximum(across - limits.across, 0.0) ** 2 - MARGIN * (away + limits.largest) ** 2
    own = _measure(rows, labels, centers, scale, n_threads)
    proven = own < np.maximum(second - error, 0.0) ** 2 + least
    left = np.flatnonzero(~proven | (lists[:, 0] != labels))
    if not len(left):
        return
    some, named = rows[left], lists[left]
    # Equally near centers: the kernel keeps the present label, which is the lowest.
    found = named.min(axis=1).astype(np.int32)
    inside = frame.origin, frame.scale, frame.centers, centers
    _native.nearest_candidate(some, *inside, named, found, n_threads)
    own = _measure(some, found, centers, scale, n_threads)
    far = own < np.maximum(beyond - error, 0.0)[left] ** 2 + least[left]
    rest = np.flatnonzero(~far)
    if len(rest):
        nearest = np.zeros(len(rest), np.int32)
        near, next_ = np.empty((2, len(rest)), frame.centers.dtype)
        _native.nearest_center(some[rest], *inside, False, nearest, near, next_, n_threads)
        found[rest] = nearest
        measured[0] += len(rest)
    labels[left] = found


def _measure(rows: Any, labels: Labels, centers: Floats, scale: float, n_threads: int) -> Floats:
    """Return squared distances to the centers of the labels, in float64."""
    distances = np.empty(len(labels))
    _native.own_distances(rows, labels, centers, scale, distances, n_threads)
    return distances / scale / scale


def _squares(vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))
