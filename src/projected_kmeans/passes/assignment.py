"""CLUSTER: one pass that sends every row to its nearest center."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Block, Task, fill, read, update
from projected_kmeans.passes.frame import Frame
from projected_kmeans.results import Floats, Labels

# Multiplications that one thread does in a tenth of a millisecond.
WORK_TO_SHARE = 8e6


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

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Take note that some rows were sent to other centers from outside."""
