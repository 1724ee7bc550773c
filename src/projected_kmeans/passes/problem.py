"""One pass over the blocks of a source: rows to centers.

Every row's result depends on that row alone, never on blocks or threads; nothing here iterates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource, ColumnRanges, compute_type
from projected_kmeans.blocks.tasks import Block, Task, fill, read, update
from projected_kmeans.passes.cluster_sums import ClusterSums, Moments
from projected_kmeans.results import Floats, Labels

# Multiplications that one thread does in a tenth of a millisecond.
WORK_TO_SHARE = 8e6


@dataclass(frozen=True)
class Frame:
    """Coordinates around the centers, in a kernel's precision, in which no square overflows.

    Single precision then has its digits where the centers differ, whatever the data's offset and
    unit. The scale is a power of two, and the origin a multiple of one in each column, so that
    neither rounds numbers that are short themselves: ties between them stay ties.
    """

    origin: NDArray[Any]
    scale: float
    centers: NDArray[Any]

    @classmethod
    def around(
        cls, centers: Floats, dtype: np.dtype[Any], ranges: ColumnRanges | None = None
    ) -> Frame:
        """Return the frame of some centers for a computation in ``dtype``.

        Rows within ``ranges`` have squared distances that neither overflow nor vanish beside the
        largest of them.
        """
        mean = centers.mean(axis=0)
        spread = np.maximum(centers.max(axis=0) - mean, mean - centers.min(axis=0))
        grid = np.ldexp(1.0, np.frexp(spread)[1])
        origin = np.where(spread > 0, np.rint(mean / grid) * grid, mean).astype(dtype)
        offsets = centers - origin
        reach = [offsets, origin]
        if ranges is not None:
            reach += [ranges.minimum - origin, ranges.maximum - origin]
        largest = max(float(np.max(part)) for part in reach)
        exponent = math.frexp(max(largest, *(-float(np.min(part)) for part in reach)))[1]
        scale = _power_of_two(np.finfo(dtype).maxexp // 2 - 16 - exponent, dtype)
        offsets *= scale  # in place, as are all steps here: centers may be wide
        return cls(origin, scale, np.ascontiguousarray(offsets, dtype=dtype))

    def undo(self, squared: NDArray[Any]) -> Floats:
        """Return squared distances in the units of the rows."""
        return squared.astype(np.float64) / self.scale / self.scale


def _power_of_two(exponent: int, dtype: np.dtype[Any]) -> float:
    limit = int(np.finfo(dtype).maxexp) - 2
    return 2.0 ** min(max(exponent, -limit), limit)


@dataclass(frozen=True)
class Nearness:
    """Squared distances of rows to their nearest centers, in the precision of a product.

    `own_distances` has more digits, `ClusterSums` the exact sums.
    """

    frame: Frame
    inside: NDArray[Any]

    @property
    def nearest(self) -> Floats:
        """To the nearest center."""
        return self.frame.undo(self.inside[0])

    @property
    def second(self) -> Floats:
        """To the nearest but one; infinity where there is one center only."""
        return self.frame.undo(self.inside[1])


def assign_rows(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    *,
    keep_ties: bool,
    ranges: ColumnRanges | None = None,
    n_threads: int = 0,
    then: Sequence[Task] = (),
    measured: bool = True,
) -> Nearness:
    """Give every row the label of its nearest center.

    Parameters
    ----------
    source : BlockSource
        n rows.
    centers : ndarray of float64 (k, columns)
        Where rows may go.
    labels : ndarray of int32 (n,)
        Overwritten. With ``keep_ties`` a row stays where it is unless another center is strictly
        nearer; without, ties go to the lowest center. What is nearer is decided in double
        precision wherever rounding could matter: no label depends on the machine.
    keep_ties : bool
        Whether ``labels`` hold a partition already.
    ranges : ColumnRanges, optional
        Of the source; without them distances of rows very far from all centers may be infinite.
    n_threads : int, default=0
        0 takes what OpenMP allows.
    then : sequence of Task, optional
        Done with every block once its rows are labelled.
    measured : bool, default=True
        Whether distances are kept.

    Returns
    -------
    Nearness
        How far rows are from their nearest center and from the next; of no rows where distances
        are not kept.
    """
    dtype = compute_type(source.dtype)
    frame = Frame.around(centers, dtype, ranges)
    inside = np.empty((2, source.shape[0] if measured else 0), dtype=dtype)
    kernel = partial(_assign, frame, centers, keep_ties, n_threads)
    distances = (fill(inside[0]), fill(inside[1])) if measured else ()
    source.walk(Task(kernel, (update(labels), *distances)), *then)
    return Nearness(frame, inside)


def _assign(
    frame: Frame,
    centers: Floats,
    keep_ties: bool,
    n_threads: int,
    block: Block,
    labels: Labels,
    nearest: NDArray[Any] | None = None,
    second: NDArray[Any] | None = None,
) -> None:
    if nearest is None or second is None:
        nearest, second = np.empty((2, len(labels)), frame.centers.dtype)
    _native.nearest_center(
        block.rows,
        frame.origin,
        frame.scale,
        frame.centers,
        centers,
        keep_ties,
        labels,
        nearest,
        second,
        n_threads,
    )


def own_distances(
    source: BlockSource,
    centers: Floats,
    labels: Labels,
    ranges: ColumnRanges | None = None,
    n_threads: int = 0,
) -> Floats:
    """Return the squared distance of every row to the center of its label, in double precision."""
    scale = Frame.around(centers, np.dtype(np.float64), ranges).scale
    distances = np.empty(source.shape[0])
    kernel = partial(_measure_own, centers, scale, n_threads)
    source.walk(Task(kernel, (read(labels), fill(distances))))
    return distances / scale / scale


def _measure_own(
    centers: Floats, scale: float, n_threads: int, block: Block, labels: Labels, out: Floats
) -> None:
    _native.own_distances(block.rows, labels, centers, scale, out, n_threads)


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
    source.walk(Task(partial(_measure, frame, inside, n_threads), (fill(distances.T),)))
    return distances


def _measure(
    frame: Frame, centers: NDArray[Any], n_threads: int, block: Block, distances: NDArray[Any]
) -> None:
    out = np.empty((len(centers), block.rows.shape[0]), dtype=centers.dtype)
    _native.squared_distances(block.rows, frame.origin, frame.scale, centers, out, n_threads)
    distances[...] = out.T


@dataclass(frozen=True)
class Problem:
    """What stays the same while a solver runs: rows, their column ranges, weights, threads.

    Where it is spherical, rows have length one, and so have centers: the directions of the means.
    """

    source: BlockSource
    ranges: ColumnRanges
    weights: Floats | None = None
    n_threads: int = 0
    spherical: bool = False

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
        measured: bool = True,
    ) -> Nearness:
        """Overwrite labels by the nearest centers'; return how near they are."""
        return assign_rows(
            self.source,
            centers,
            labels,
            keep_ties=keep_ties,
            ranges=self.ranges,
            n_threads=self.n_threads,
            then=then,
            measured=measured,
        )

    def distances(self, centers: Floats, labels: Labels) -> Floats:
        """Return the squared distance of every row to the center of its label."""
        return own_distances(self.source, centers, labels, self.ranges, self.n_threads)

    def open_sums(self, references: Floats, times: int = 1) -> ClusterSums:
        """Return sums about references that follow the labels of many passes."""
        return ClusterSums(
            self.source,
            references,
            self.weights,
            self.ranges,
            self.n_threads,
            spherical=self.spherical,
            times=times,
        )

    def sum(self, labels: Labels, references: Floats) -> Moments:
        """Return the sums of every cluster about its reference."""
        return self.open_sums(references).update(labels)

    @property
    def mean_variance(self) -> float:
        """The mean over columns of their (weighted) variance."""
        n_rows, n_columns = self.source.shape
        middle = (self.ranges.minimum + self.ranges.maximum) / 2
        flat = replace(self, spherical=False)
        moments = flat.sum(np.zeros(n_rows, dtype=np.int32), middle[None])
        return moments.inertia / float(moments.mass[0]) / n_columns


def share_work(n_threads: int, n_products: float) -> int:
    """Return how many threads are worth their meeting for so many multiplications.

    Beside other busy processes a meeting costs a turn of theirs, a hundred times what a second
    thread saves of a tenth of a millisecond.
    """
    return n_threads if n_products > WORK_TO_SHARE else 1


class Search(Protocol):
    """Finds the nearest center of every row, pass after pass, with a memory of its own."""

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest centers'; go on with every block that is labelled."""

    def forget(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Take note that some rows were sent to other centers from outside."""
