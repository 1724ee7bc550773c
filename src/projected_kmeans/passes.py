"""One pass over the blocks of a source: rows to centers.

Every row's result depends on that row alone, never on blocks or threads; nothing here iterates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks import ArrayBlocks, BlockSource, ColumnRanges, compute_type
from projected_kmeans.moments import Moments, sum_clusters
from projected_kmeans.results import Floats, Labels


@dataclass(frozen=True)
class Frame:
    """Coordinates in which centers lie around zero and within one, in a kernel's precision.

    Single precision then has its digits where the centers differ, whatever the data's offset
    and unit. The scale is a power of two: it rounds nothing.
    """

    origin: NDArray[Any]
    scale: float
    centers: NDArray[Any]

    @classmethod
    def around(cls, centers: Floats, dtype: np.dtype[Any]) -> Frame:
        """Return the frame of some centers for a computation in ``dtype``."""
        origin = centers.mean(axis=0).astype(dtype)
        offsets = centers - origin
        exponent = math.frexp(float(np.max(np.abs(offsets), initial=0.0)))[1]
        limit = np.finfo(dtype).maxexp - 2
        scale = 2.0 ** -min(max(exponent, -limit), limit)
        return cls(origin, scale, np.ascontiguousarray(offsets * scale, dtype=dtype))


def assign_rows(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    *,
    keep_ties: bool,
    n_threads: int = 0,
) -> Floats:
    """Give every row the label of its nearest center; return squared distances to it.

    Parameters
    ----------
    source : BlockSource
        n rows.
    centers : ndarray of float64 (k, columns)
        Where rows may go.
    labels : ndarray of int32 (n,)
        Overwritten. With ``keep_ties`` a row stays where it is unless another center is strictly
        nearer; without, ties go to the lowest center.
    keep_ties : bool
        Whether ``labels`` hold a partition already.
    n_threads : int, default=0
        0 takes what OpenMP allows.

    Returns
    -------
    ndarray of float64 (n,)
        In the precision of the rows' product with the centers; `sum_clusters` has the exact sums.
    """
    dtype = compute_type(source.dtype)
    frame = Frame.around(centers, dtype)
    distances = np.empty(source.shape[0], dtype=dtype)
    for block in source:
        _native.nearest_center(
            block.rows,
            frame.origin,
            frame.scale,
            frame.centers,
            keep_ties,
            labels[block.span],
            distances[block.span],
            n_threads,
        )
    return distances / frame.scale**2 if frame.scale != 1.0 else distances.astype(np.float64)


def measure_rows(
    source: BlockSource, centers: Floats, frame: Frame | None = None, n_threads: int = 0
) -> NDArray[Any]:
    """Return squared distances of all rows to all centers, one row a center, by differences.

    They are given in units of ``1 / frame.scale ** 2``. Exactly zero where a row equals a center.
    """
    dtype = compute_type(source.dtype)
    frame = frame or Frame.around(centers, dtype)
    inside = ((centers.astype(dtype) - frame.origin) * dtype.type(frame.scale)).astype(dtype)
    distances = np.empty((len(centers), source.shape[0]), dtype=dtype)
    for block in source:
        out = np.empty((len(centers), len(block.rows)), dtype=dtype)
        _native.squared_distances(block.rows, frame.origin, frame.scale, inside, out, n_threads)
        distances[:, block.span] = out
    return distances


@dataclass(frozen=True)
class Problem:
    """What stays the same while a solver runs: rows, their column ranges, weights, threads."""

    source: ArrayBlocks
    ranges: ColumnRanges
    weights: Floats | None = None
    n_threads: int = 0

    def assign(self, centers: Floats, labels: Labels, *, keep_ties: bool) -> Floats:
        """Overwrite labels by the nearest centers'; return squared distances."""
        return assign_rows(
            self.source, centers, labels, keep_ties=keep_ties, n_threads=self.n_threads
        )

    def sum(self, labels: Labels, references: Floats) -> Moments:
        """Return the sums of every cluster about its reference."""
        return sum_clusters(
            self.source, labels, references, self.weights, self.ranges, self.n_threads
        )

    @property
    def mean_variance(self) -> float:
        """The mean over columns of their (weighted) variance."""
        n_rows, n_columns = self.source.shape
        middle = (self.ranges.minimum + self.ranges.maximum) / 2
        moments = self.sum(np.zeros(n_rows, dtype=np.int32), middle[None])
        return moments.inertia / float(moments.mass[0]) / n_columns
