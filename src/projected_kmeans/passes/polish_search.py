"""POLISH: the nearest of all centers over a few passes, in which most rows keep their centers.

A pass measures how far the nearest and the second nearest center of each row are. If centers then
move less than half of the difference, the nearest center stays the same (Hamerly 2010). On digits
(60,000 x 784) this spares 83 % of the rows of a second pass with 10 clusters, and half with 64.
Sparse rows and few clusters are polished with it; `NearestSearch` spares more if clusters are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import PickedRows, open_blocks
from projected_kmeans.blocks.tasks import Block, Task, maximum
from projected_kmeans.passes.assignment import NOTHING, Nearness, assign_rows
from projected_kmeans.passes.dot_products import dot_rows
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# A pass looks at all rows if it would have to look at more than this share of them.
MAX_UNSURE = 0.8

# Rows that are looked at again are copied 8 MB at a time.
PICKED_BYTES = 2**23

# Bounds are enlarged by this share of themselves, for the rounding of float64.
ROUNDING = 1e-12

# Distances tell nothing if products of so many columns may be wrong by this share.
MAX_ERROR = 1 / 64


@dataclass(frozen=True)
class _Known:
    """What a pass found.

    Attributes
    ----------
    centers : ndarray of float64 (k, columns)
        The centers of the pass.
    labels : ndarray of int32 (n,)
        The nearest of them for every row.
    slack : ndarray of float64 (n,)
        At most the distance to the second nearest center minus that to the nearest.
    """

    centers: Floats
    labels: Labels
    slack: Floats


class PolishSearch:
    """Finds the nearest of all centers, with the labels of `assign_rows`; a `Search`.

    Rows that are not in memory are all looked at in every pass, because they are read anyway.

    Parameters
    ----------
    problem : Problem
        The rows.

    Attributes
    ----------
    n_distances : int
        The number of distances between rows and centers computed so far.
    """

    def __init__(self, problem: Problem) -> None:
        self.n_distances, self.remembered = 0, NOTHING
        self._problem = problem
        self._known: _Known | None = None

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest centers; the parameters are those of `assign_rows`."""
        known, source = self._known, self._problem.source
        unsure = None if known is None else _find_unsure(known, centers)
        if known is None or unsure is None or len(unsure) > MAX_UNSURE * len(labels):
            self._assign_all(centers, labels, keep_ties, then)
            return
        found = labels[unsure]
        if len(unsure):
            self._assign_some(centers, unsure, found, keep_ties)
        np.copyto(labels, known.labels)
        labels[unsure] = found
        if then:
            source.walk(*then)

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Do nothing, because what is known of rows does not depend on their labels."""

    def proves(self, centers: Floats, labels: Labels, rounding: float) -> bool:
        """Return whether all rows are known to have the labels of their nearest centers.

        Parameters
        ----------
        centers : ndarray of float64 (k, columns)
            The centers.
        labels : ndarray of int32 (n,)
            The labels.
        rounding : float
            The share of itself by which every entry of the centers may be wrong.
        """
        known = self._known
        if known is None or not np.array_equal(known.labels, labels):
            return False
        return not len(_find_unsure(known, centers, rounding))

    def _assign_all(
        self, centers: Floats, labels: Labels, keep_ties: bool, then: Sequence[Task]
    ) -> None:
        problem, n_entries = self._problem, np.zeros(1)
        source = problem.source
        near = assign_rows(
            source,
            centers,
            labels,
            keep_ties=keep_ties,
            ranges=problem.ranges,
            n_threads=problem.n_threads,
            then=(Task(_count_entries, (maximum(n_entries),)), *then),
            measured=source.resident,
        )
        self.n_distances += len(labels) * len(centers)
        if source.resident:
            slack = _bound_slack(near, centers, n_entries[0], source.shape[1])
            self._known = _Known(centers, labels.copy(), slack)

    def _assign_some(
        self, centers: Floats, rows: NDArray[np.int64], labels: Labels, keep_ties: bool
    ) -> None:
        problem = self._problem
        picked = PickedRows(problem.source, rows, PICKED_BYTES)
        assign_rows(
            open_blocks(picked.select() if problem.source.sparse else picked),
            centers,
            labels,
            keep_ties=keep_ties,
            ranges=problem.ranges,
            n_threads=problem.n_threads,
            measured=False,
        )
        self.n_distances += len(labels) * len(centers)


def _count_entries(block: Block, n_entries: Floats) -> None:
    """Raise a number to the entries that the kernel adds up for a row of the block."""
    rows = block.rows
    most = rows.shape[1] if isinstance(rows, np.ndarray) else np.diff(rows.indptr).max(initial=0)
    n_entries[0] = max(n_entries[0], float(most))


def _bound_slack(near: Nearness, centers: Floats, n_entries: float, n_columns: int) -> Floats:
    """Return by how much the second nearest center is farther than the nearest, at least.

    Let u be the unit roundoff of the kernel, and e = (entries of a row + 16) u. A squared distance
    is wrong by less than 4 e r^2 where r is the length of the row plus the lengths of the largest
    center and of the origin, all in the frame. The distance to a center is at least r minus twice
    these two lengths L. So r <= (distance + 2 L) / (1 - 2 sqrt(e)). Where sparse rows are compared
    in float64, all columns count.
    """
    dtype, frame = near.inside[0].dtype, near.frame
    error = (n_entries + 16) * float(np.finfo(dtype).eps) / 2
    error += 4 * (n_columns + 16) * float(np.finfo(np.float64).eps)
    nearest, second = (np.asarray(one, dtype=np.float64) for one in near.inside)
    if not error <= MAX_ERROR:
        return np.zeros(len(nearest))
    origin = frame.origin.astype(np.float64)[None]
    shift = float(np.sqrt(dot_rows(origin, origin)[0]))
    largest = float(np.sqrt(dot_rows(centers, centers).max())) + shift
    length = 2 * frame.scale * (largest + shift) * (1 + ROUNDING)
    wrong = 4 * error * ((np.sqrt(nearest) + length) / (1 - 2 * np.sqrt(error))) ** 2
    gap = np.sqrt(np.maximum(second - wrong, 0.0)) - np.sqrt(nearest + wrong)
    return np.asarray(gap / frame.scale)


def _find_unsure(known: _Known, centers: Floats, rounding: float = 0.0) -> NDArray[np.int64]:
    """Return the rows that may have another nearest center among centers that have moved."""
    drifts = np.zeros(len(centers))
    if centers is not known.centers:
        for j, (after, before) in enumerate(zip(centers, known.centers, strict=True)):
            gap = (after - before)[None]
            drifts[j] = np.sqrt(dot_rows(gap, gap)[0])
    if rounding:
        drifts += rounding * np.sqrt(dot_rows(centers, centers))
    drifts *= 1 + ROUNDING * centers.shape[1]
    return np.flatnonzero(~(drifts[known.labels] + drifts.max() < known.slack * (1 - ROUNDING)))
