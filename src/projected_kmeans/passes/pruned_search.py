"""SCORE, POLISH: the nearest of many centers, without looking at most of them. Labels stay exact.

What a point has along some orthonormal directions, and the length of what it has across them, are
its coordinates here. Two points are at least as far from each other as their coordinates are:

    |x - c|^2  =  |y - z|^2 + |x_across - c_across|^2  >=  |y - z|^2 + (|x_across| - |c_across|)^2

A row is compared in all columns with its first center and with those that are not farther in these
coordinates than that one is. On a tree of 8,192 groups these are 10 of 16,384 centers, on digits 3
of 1,000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.keys import CENTER_DIRECTIONS, open_stream
from projected_kmeans.passes.center_graph import average_groups, group_centers, label_points
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import CenterLists
from projected_kmeans.results import Floats, Labels

# A row costs as much as products with this many centers, and a center that the sketch does not rule
# out as much as this many, because rows meet such centers one by one.
ROW_COST, CENTER_COST = 12, 3

# Sketches are used if they need at most this share of all products, as sizes or rows tell.
MAX_SHARE = 0.7

# Finding directions and groups may take this share of the products of all rows with all centers.
MAX_PREPARATION = 0.1

# Rows that are tried before all rows of a block, until trying them has shown once that a sketch
# saves work. Blocks are labelled in pieces of this many rows.
PROBED_ROWS, PIECE = 512, 2**15

# A row with more centers than this share of them is compared with all centers.
MAX_LISTED = 1 / 8

# Entries whose squares neither overflow nor vanish in float32.
MODERATE = 1e-12, 1e12

# Directions are found on this many centers for each of them, by so many multiplications with the
# matrix of these centers and its transpose.
CENTERS_PER_DIRECTION, DIRECTION_PASSES = 16, 3

# Numbers of centers that are sketched at a time, 2 MB of float64.
SKETCHED_SIZE = 2**18

# By how much coordinates of centers, and directions that are not quite orthonormal, may be wrong,
# as a share of the largest length.
LOOSE = 1e-6


def count_share(n_clusters: int, n_columns: int, n_left: float = 1.0) -> float:
    """Return the share of all products that labels take if so many centers are left for a row."""
    t = count_directions(n_clusters)
    return t / n_columns + (t + ROW_COST + CENTER_COST * n_left) / n_clusters


def is_worthwhile(n_rows: int, n_clusters: int, n_columns: int) -> bool:
    """Return whether a sketch of centers may save more than it costs."""
    t = count_directions(n_clusters)
    prepared = 6 * min(n_clusters, 16 * t) * t / (float(n_rows) * n_clusters)
    return (
        n_columns >= 2 * t
        and count_share(n_clusters, n_columns) < MAX_SHARE
        and (prepared <= MAX_PREPARATION)
    )


def is_moderate(ranges: ColumnRanges) -> bool:
    """Return whether squares of all entries are far from overflow and underflow."""
    largest = max(float(np.max(np.abs(ranges.minimum))), float(np.max(np.abs(ranges.maximum))))
    return MODERATE[0] < largest < MODERATE[1]


class PrunedCenters:
    """Centers, with what rules most of them out for a row.

    ``dtype`` is the type in which distances of rows are computed.
    """

    def __init__(self, centers: Floats, dtype: np.dtype[Any], n_threads: int = 0) -> None:
        self._centers, self._n_threads = centers, n_threads
        self._sketch = CenterSketch.of(centers, dtype, n_threads)
        self._most = max(1, int(MAX_LISTED * len(centers)))
        self._pays = False  # whether some rows were tried already and had few centers left

    def label(
        self, rows: NDArray[Any], frame: Frame, labels: Labels, *, guessed: bool = False
    ) -> int:
        """Overwrite labels by the nearest centers; return how many centers rows were compared with.

        Rows are dense, with moderate entries. The frame is around the centers. Of equally near
        centers the lowest wins. Labels that are ``guessed`` are those of near centers already,
        which saves looking for some.
        """
        n, (k, d) = len(rows), self._centers.shape
        if n >= 4 * PROBED_ROWS and not self._pays:
            every = slice(0, n, n // PROBED_ROWS)
            some = labels[every].copy()
            n_left = self._label(np.ascontiguousarray(rows[every]), frame, some, guessed)
            if count_share(k, d, n_left / len(some)) > MAX_SHARE:
                self._compare_all(rows, frame, labels)
                return int(n * k)
            self._pays = True
        total = 0
        for first in range(0, n, PIECE):
            piece = slice(first, first + PIECE)
            total += self._label(rows[piece], frame, labels[piece], guessed)
        return total

    def _label(self, rows: NDArray[Any], frame: Frame, labels: Labels, guessed: bool) -> int:
        """Label some rows that are sketched at once."""
        sketch, n_threads, counts = self._sketch, self._n_threads, np.empty(len(rows), np.int32)
        sketched = sketch.sketch(rows, n_threads)
        if guessed:
            groups = sketch.groups[labels]
        else:
            groups = label_points(sketched.coordinates, sketch.middles, n_threads)
            labels[:] = -1
        _native.nearest_by_sketch(
            rows,
            frame.origin,
            frame.scale,
            frame.centers,
            self._centers,
            *sketched,
            sketch.centers,
            sketch.middles,
            sketch.radii,
            groups,
            sketch.lists.starts,
            sketch.lists.members,
            self._most,
            labels,
            counts,
            n_threads,
        )
        rest = np.flatnonzero((counts < 1) | (counts > self._most))
        if len(rest):
            found = np.zeros(len(rest), np.int32)
            self._compare_all(rows[rest], frame, found)
            labels[rest], counts[rest] = found, len(self._centers)
        return int(counts.sum(dtype=np.int64))

    def _compare_all(self, rows: NDArray[Any], frame: Frame, labels: Labels) -> None:
        nearest, second = np.empty((2, len(rows)), frame.centers.dtype)
        inside = frame.origin, frame.scale, frame.centers, self._centers
        _native.nearest_center(rows, *inside, False, labels, nearest, second, self._n_threads)


class SketchedRows(NamedTuple):
    """Coordinates of rows, and how far each row may be from its exact place."""

    coordinates: NDArray[Any]
    errors: NDArray[Any]


def count_directions(n_centers: int) -> int:
    """Return the number of directions: more for more centers, because more have to be ruled out."""
    return 32 if n_centers < 512 else 64 if n_centers < 4096 else 96 if n_centers < 8192 else 128


def count_groups(n_centers: int) -> int:
    """Return the number of groups of centers: 5 sqrt(k), but of very many centers 3 sqrt(k)."""
    return max(math.isqrt(9 * n_centers), min(math.isqrt(25 * n_centers), 384))


@dataclass(frozen=True)
class CenterSketch:
    """Centers along a few directions, in groups that lie close together.

    Directions, centers, middles and radii have the type in which rows are computed.
    """

    origin: Floats  # (1, d): the point that is at zero, rounded to the type of the rows
    directions: NDArray[Any]  # (t, d), orthonormal
    centers: NDArray[Any]  # (k, t + 1): the coordinates of the centers
    groups: Labels  # (k,): the group of every center
    lists: CenterLists  # the centers of every group
    middles: NDArray[Any]  # (m, t + 1): a point for every group
    radii: NDArray[Any]  # (m,): no center of a group is farther from its middle
    largest: float  # the largest distance of a center to the origin

    @classmethod
    def of(cls, centers: Floats, dtype: np.dtype[Any], n_threads: int = 0) -> CenterSketch:
        """Return the sketch of some centers, for rows that are computed in ``dtype``."""
        n_directions = count_directions(len(centers))
        origin = centers.mean(axis=0)[None].astype(dtype).astype(np.float64)
        directions = _find_directions(centers, origin, n_directions)
        coordinates = _sketch_centers(centers, origin, directions).astype(dtype)
        largest = math.sqrt(float(np.max(np.sum(coordinates.astype(np.float64) ** 2, axis=1))))
        groups = group_centers(coordinates, count_groups(len(centers)), n_threads)
        middles = average_groups(coordinates, groups)
        gaps = coordinates.astype(np.float64) - middles[groups].astype(np.float64)
        radii = np.zeros(len(middles))
        np.maximum.at(radii, groups, np.sqrt(np.einsum("ij,ij->i", gaps, gaps)))
        starts = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)
        lists = CenterLists(starts, np.argsort(groups, kind="stable").astype(np.int32))
        directions = np.ascontiguousarray(directions.T, dtype=dtype)
        radii = (radii * (1 + LOOSE)).astype(dtype)
        return cls(origin, directions, coordinates, groups, lists, middles, radii, largest)

    def sketch(self, rows: NDArray[Any], n_threads: int = 0) -> SketchedRows:
        """Return the coordinates of some rows.

        They are wrong by what rounding may change: the products with directions, and the length
        that is left.
        """
        (t, d), dtype = self.directions.shape, self.directions.dtype
        squares, along = np.empty(len(rows)), np.empty((len(rows), t), dtype)
        none = np.zeros(len(rows), np.int32)
        _native.own_distances(rows, none, self.origin, 1.0, squares, n_threads)
        origin = self.origin[0].astype(dtype)
        _native.direction_product(rows, origin, 1.0, self.directions, along, n_threads)
        left = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", along, along), 0))
        reach = np.sqrt(squares) + self.largest
        unit = float(np.finfo(dtype).eps) / 2
        coarse = (math.sqrt(t + 1) * (d + 8) * unit + LOOSE) * reach
        wrong = 4 * coarse * reach  # of the square of what is left
        errors = coarse + wrong / np.maximum(left, np.sqrt(wrong))
        coordinates = np.column_stack([along, left.astype(dtype)])
        return SketchedRows(coordinates, (errors * (1 + LOOSE)).astype(dtype))


def _find_directions(centers: Floats, origin: Floats, n_directions: int) -> Floats:
    """Return orthonormal columns along which centers differ most, nearly."""
    step = max(1, len(centers) // (CENTERS_PER_DIRECTION * n_directions))
    some = centers[::step] - origin
    stream = open_stream(0, CENTER_DIRECTIONS)
    basis = stream.standard_normal((centers.shape[1], n_directions))
    with one_blas_thread():
        for _ in range(DIRECTION_PASSES):
            basis, _ = np.linalg.qr(some.T @ (some @ basis))
    return basis


def _sketch_centers(centers: Floats, origin: Floats, directions: Floats) -> Floats:
    d, t = directions.shape
    found, length = np.empty((len(centers), t + 1)), max(1, SKETCHED_SIZE // d)
    for first in range(0, len(centers), length):
        near = centers[first : first + length] - origin
        with one_blas_thread():
            along = near @ directions
        left = np.einsum("ij,ij->i", near, near) - np.einsum("ij,ij->i", along, along)
        found[first : first + length, :t] = along
        found[first : first + length, t] = np.sqrt(np.maximum(left, 0))
    return found
