"""SCORE, POLISH: the nearest of many centers, without looking at most of them. Labels stay exact.

A sketch of the centers gives lower bounds on distances (`center_sketch`). A row is compared in all
columns with its first center and with those that are not farther in the sketch than that one is.
On a tree of 8,192 groups these are 10 of 16,384 centers, on digits 3 of 1,000.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.passes.center_sketch import CenterSketch, count_directions
from projected_kmeans.passes.frame import Frame
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
            groups = sketch.find_groups(sketched, n_threads)
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
