"""CLUSTER: passes of Lloyd's method among near centers, and swaps of centers between them.

One pass at a time; when to stop is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Task
from projected_kmeans.keys import SWAPS
from projected_kmeans.passes.assignment import NOTHING, Nearness
from projected_kmeans.passes.center_graph import find_neighbours
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import are_labels
from projected_kmeans.results import Floats, Labels
from projected_kmeans.solvers.cell_seeding import CellSeeds
from projected_kmeans.solvers.lloyd import Lloyd, LloydState
from projected_kmeans.solvers.near_enough import count_enough
from projected_kmeans.solvers.resumable_solvers import state_fits
from projected_kmeans.solvers.single_restart import Effort
from projected_kmeans.solvers.swaps import (
    N_LOCKED,
    choose_swaps,
    measure_removals,
    split_clusters,
    swap_labels,
)

# Centers that the rows of a cluster meet in a pass, their own included: 64 for few clusters, where
# a pass is cheap, else 32. If the second or the third pass finds that fewer are enough, later ones
# look at those only.
FEW_NEIGHBOURS, MANY_NEIGHBOURS, FEW_CLUSTERS = 64, 32, 4096
TRYING_PASSES = (1, 2)

# Up to that many clusters, two passes after the swaps look at more centers if 64 are not enough:
# without clear clusters, as in noise, the nearest center of a row is often not among these.
WIDE_NEIGHBOURS, WIDE_PASSES = 256, (6, 7)

# Swaps follow on each of this many passes. More gained nothing on trees and digits, and did harm
# where rows have heavy tails.
SWAP_ROUNDS = 4

# If all rows are one cell, because there are few clusters, swaps follow on more passes: they are
# what finds the far rows of heavy tails.
FLAT_SWAP_ROUNDS = 8


def count_neighbours(
    n_clusters: int, n_passes: int = 0, *, flat: bool = False, enough: int = 0
) -> int:
    """Return how many centers the rows of a cluster meet in a pass that follows so many others.

    If all rows are one cell (``flat``), every pass looks at many. ``enough`` is the number that was
    found to be enough, if it is known.
    """
    few = n_clusters <= FEW_CLUSTERS
    wanted = enough or (FEW_NEIGHBOURS if few else MANY_NEIGHBOURS)
    if flat or (few and not enough and n_passes in WIDE_PASSES):
        wanted = WIDE_NEIGHBOURS
    return min(wanted, n_clusters)


class CellSearch:
    """Finds the nearest of the centers around each row's cluster; a `Search` for Lloyd's method.

    The first pass, in which rows have no clusters yet, compares each row with the centers of its
    cell.

    Parameters
    ----------
    problem : Problem
        The rows.
    seeds : CellSeeds
        The cells of rows and of first centers.

    Attributes
    ----------
    cells : ndarray of int32 (k,)
        The cell of every center; who moves a center to another place changes it.
    flat : bool
        Whether all rows are one cell.
    n_neighbours : int
        How many centers the rows of a cluster meet in the next pass.
    tries : bool
        Whether the next pass tries if fewer centers are enough.
    enough : int
        How many centers are enough, or 0 as long as it is not known.
    neighbours : ndarray of int32 (k, m)
        The nearest centers of every center in the last pass, itself first.
    near : Nearness
        The distances of all rows in the last pass.
    """

    neighbours: Labels
    near: Nearness

    def __init__(self, problem: Problem, seeds: CellSeeds) -> None:
        self.cells, self.remembered = seeds.cells.copy(), NOTHING
        self.flat = not seeds.cells.any()
        self.n_neighbours = count_neighbours(len(seeds.cells), flat=self.flat)
        self.tries, self.enough = False, 0
        self._problem, self._seeds = problem, seeds

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest of near centers; ``keep_ties`` as in `Search`."""
        problem = self._problem
        frame = Frame.around(centers, compute_type(problem.source.dtype), problem.ranges)
        if not keep_ties:
            lists, groups = self._seeds.list_cells(), self._seeds.rows
            self.near = assign_listed(problem, centers, lists, labels, groups, then, frame)
            return
        near = find_neighbours(frame, self.cells, self.n_neighbours, problem.n_threads)
        if self.tries:
            self.enough = count_enough(problem, centers, labels, near)
            near = near[:, : self.enough or None]
        self.neighbours = near
        lists = CenterLists.of_rows(near)
        self.near = assign_listed(problem, centers, lists, labels, None, then, frame)

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Do nothing, because a row meets the centers around the cluster that it was moved to."""


@dataclass(frozen=True)
class CellState:
    """Where the search stands after a pass and the swaps that followed.

    Attributes
    ----------
    lloyd : LloydState
        The partition and its sums.
    inertia : float
        Its inertia, which swaps may have raised above that of the last pass.
    cells : ndarray of int32 (k,)
        The cell of every center.
    swapping : bool
        Whether swaps may follow on further passes.
    enough : int
        How many centers are enough for a row, or 0.
    labels_before : ndarray of int32 (n or 0,)
        The partition before the swaps; empty if there were none.
    cells_before : ndarray of int32 (k or 0,)
        The cells before the swaps.
    """

    lloyd: LloydState
    inertia: float
    cells: Labels
    swapping: bool
    enough: int
    labels_before: Labels
    cells_before: Labels


class CellPasses:
    """Passes of Lloyd's method among near centers, with swaps between the first of them.

    Swaps whose next pass does not end below the inertia before them are taken back, and are the
    last. So the inertia falls from pass to pass.

    Parameters
    ----------
    problem : Problem
        Dense rows.
    seeds : CellSeeds
        First centers.
    effort : Effort
        What the search may spend, and the key.
    restart : int
        Which restart.

    Attributes
    ----------
    lloyd : Lloyd
        The method and its partition.
    search : CellSearch
        What finds the nearest centers.
    """

    def __init__(self, problem: Problem, seeds: CellSeeds, effort: Effort, restart: int) -> None:
        self.search = CellSearch(problem, seeds)
        self.lloyd = Lloyd(
            problem,
            seeds.centers,
            max_iter=effort.max_iter,
            tol=effort.tol,
            search=self.search,
        )
        self._problem, self._path = problem, (effort.key, SWAPS, restart)
        self._swapping = len(seeds.centers) > N_LOCKED
        self._labels_before = self._cells_before = np.empty(0, np.int32)

    @property
    def n_passes(self) -> int:
        """Passes so far."""
        return len(self.lloyd.history)

    @property
    def swaps_next(self) -> bool:
        """Whether swaps follow on the last pass."""
        n_rounds = FLAT_SWAP_ROUNDS if self.search.flat else SWAP_ROUNDS
        return self._swapping and 2 <= self.n_passes < 2 + n_rounds

    def step(self) -> bool:
        """Make one pass; return whether it lowered the inertia, else the search has ended."""
        lloyd = self.lloyd
        search, k = self.search, len(lloyd.centers)
        search.n_neighbours = count_neighbours(
            k, self.n_passes, flat=search.flat, enough=search.enough
        )
        search.tries = not search.flat and self.n_passes in TRYING_PASSES
        moved = lloyd.step()
        if len(self._labels_before):
            n_before = self.n_passes - moved
            if not lloyd.inertia < lloyd.history[n_before - 1]:
                del lloyd.history[n_before:]
                lloyd.relabel(self._labels_before)
                self.search.cells, self._swapping = self._cells_before, False
                moved = lloyd.step()
            self._labels_before = self._cells_before = np.empty(0, np.int32)
        return moved

    def swap(self) -> None:
        """Move the centers that are missed least to clusters that gain most by a second one."""
        search, problem = self.search, self._problem
        labels, moments = self.lloyd.partition
        path = (*self._path, self.n_passes)
        splits = split_clusters(problem, moments, labels, search.near, path)
        costs = measure_removals(problem, moments, labels, search.near)
        removed, split = choose_swaps(splits.gains, costs, search.neighbours)
        if len(removed):
            self._labels_before, self._cells_before = labels.copy(), search.cells.copy()
            search.cells[removed] = search.cells[split]
            halves, neighbours = splits.halves, search.neighbours
            self.lloyd.relabel(swap_labels(halves, removed, split, neighbours))

    def state(self) -> CellState:
        """Return where the search stands. It is true until the next pass begins."""
        lloyd, search = self.lloyd, self.search
        before = self._labels_before, self._cells_before
        known = search.cells, self._swapping, search.enough
        return CellState(lloyd.state(), lloyd.inertia, *known, *before)

    def resume(self, state: CellState) -> None:
        """Go on from a state of the same rows and parameters."""
        self.lloyd.resume(state.lloyd)
        self.search.cells, self._swapping = state.cells.copy(), state.swapping
        self.search.enough = state.enough
        self._labels_before = state.labels_before.copy()
        self._cells_before = state.cells_before.copy()

    def fits(self, state: CellState) -> bool:
        """Return whether a state that was stored is one of these rows and agrees with itself."""
        shape, (n_rows, n_columns) = self.search.cells.shape, self._problem.source.shape
        sizes = (0, 0), (n_rows, len(self.search.cells))
        return (
            (len(state.labels_before), len(state.cells_before)) in sizes
            and state.enough >= 0
            and are_labels(state.cells, shape, n_rows)
            and are_labels(state.labels_before, state.labels_before.shape, shape[0])
            and are_labels(state.cells_before, state.cells_before.shape, n_rows)
            and state_fits(self._problem, (*shape, n_columns), state.lloyd, state.inertia)
        )
