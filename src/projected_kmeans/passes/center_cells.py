"""SCORE: nearest centers by the triangle inequality around coarse cells of very many centers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.assignment import assign_rows
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.some_rows import ROUNDING, label_rest, take_rows
from projected_kmeans.results import Floats, Labels

# A row is first compared with the centers nearest to its cell. Rows that need more are compared
# with 4, 16 or 64 times as many, or with all centers.
FIRST_CENTERS, LEVELS = 64, (4, 16, 64)
CELL_PASSES = 2

# Entries of a table of cells and centers, at most.
MAX_TABLE = 2**22


def count_cells(n_centers: int) -> int:
    """Return the number of cells: about 2 sqrt(k), fewer if their table would be large.

    Examples
    --------
    >>> [count_cells(k) for k in (256, 8192, 65_536)]
    [32, 180, 64]
    """
    return max(1, min(2 * math.isqrt(n_centers), MAX_TABLE // n_centers))


@dataclass(frozen=True)
class CenterCells:
    """Coarse cells of centers, and how far every center is from the middle of each cell.

    If a row is at distance a from a middle and at distance b from some center, then all centers
    that are as near to it as that one lie within a + b of the middle.

    Attributes
    ----------
    centers : ndarray of float64 (k, d)
        The centers.
    middles : ndarray of float64 (m, d)
        The middles of the cells.
    order : ndarray of int32 (m, k)
        For each cell all centers, nearest to its middle first.
    distances : ndarray of float64 (m, k)
        Lower bounds on their distances from the middle, in this order.
    """

    centers: Floats
    middles: Floats
    order: Labels
    distances: Floats

    @classmethod
    def around(cls, centers: Floats, problem: Problem) -> CenterCells:
        """Divide centers into about 2 sqrt(k) cells."""
        k, d = centers.shape
        n_cells = count_cells(k)
        source = ArrayBlocks(centers.astype(compute_type(problem.source.dtype)))
        middles, labels = centers[:: k // n_cells][:n_cells].copy(), np.zeros(k, np.int32)
        for _ in range(CELL_PASSES):
            assign_rows(source, middles, labels, keep_ties=False, n_threads=problem.n_threads)
            members = np.argsort(labels, kind="stable")
            filled, starts = np.unique(labels[members], return_index=True)
            sums = np.add.reduceat(centers[members], starts)
            middles[filled] = sums / np.diff(np.append(starts, k))[:, None]
        origin = centers.mean(axis=0)
        near, around = centers - origin, middles - origin
        squares = np.einsum("ij,ij->i", near, near) + np.einsum("ij,ij->i", around, around)[:, None]
        with one_blas_thread():
            products = around @ near.T
        margin = 8 * (d + 8) * np.finfo(np.float64).eps * squares
        distances = np.sqrt(np.maximum(squares - 2 * products - margin, 0))
        order = np.argsort(distances, axis=1).astype(np.int32)
        return cls(centers, middles, order, np.take_along_axis(distances, order, axis=1))

    def label(self, problem: Problem, labels: Labels) -> float:
        """Overwrite labels by the nearest centers; return the share of all products it took."""
        k, n_first = len(self.centers), min(FIRST_CENTERS, len(self.centers))
        cells = np.zeros(len(labels), np.int32)
        problem.assign(self.middles, cells, keep_ties=False)
        first = CenterLists.of_rows(np.sort(self.order[:, :n_first], axis=1))
        labels[:] = 0
        assign_listed(problem, self.centers, first, labels, cells)
        reach = np.sqrt(problem.distances(self.middles, cells))
        reach += np.sqrt(problem.distances(self.centers, labels))
        needed = self._count_within(cells, reach * (1 + ROUNDING))
        levels = [level * n_first for level in LEVELS if level * n_first < k / 2]
        which = np.searchsorted(levels, needed)
        which[needed <= n_first] = -1
        some = np.flatnonzero((which >= 0) & (which < len(levels)))
        if len(some):
            self._label_some(problem, some, cells, which, levels, labels)
        rest = np.flatnonzero(which == len(levels))
        label_rest(problem, self.centers, rest, labels)
        further = sum(levels[i] * int(np.count_nonzero(which == i)) for i in range(len(levels)))
        return (len(self.middles) + n_first) / k + (further / k + len(rest)) / len(labels)

    def _count_within(self, cells: Labels, reach: Floats) -> NDArray[np.int64]:
        """Return for each row how many centers are so near to the middle of its cell."""
        needed = np.empty(len(cells), np.int64)
        rows = np.argsort(cells, kind="stable")
        starts = np.searchsorted(cells[rows], np.arange(len(self.middles) + 1))
        for cell in range(len(self.middles)):
            part = rows[starts[cell] : starts[cell + 1]]
            needed[part] = np.searchsorted(self.distances[cell], reach[part], side="right")
        return needed

    def _label_some(
        self,
        problem: Problem,
        some: NDArray[np.int64],
        cells: Labels,
        which: NDArray[np.int64],
        levels: list[int],
        labels: Labels,
    ) -> None:
        """Compare some rows with as many centers around their cell as their level says."""
        codes = cells[some].astype(np.int64) * len(levels) + which[some]
        names, groups = np.unique(codes, return_inverse=True)
        lists = [
            np.sort(self.order[code // len(levels), : levels[code % len(levels)]]) for code in names
        ]
        found = np.zeros(len(some), np.int32)
        part = take_rows(problem, some)
        assign_listed(
            part, self.centers, CenterLists.join(lists), found, groups.astype(np.int32).ravel()
        )
        labels[some] = found
