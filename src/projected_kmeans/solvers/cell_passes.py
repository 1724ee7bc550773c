"""CLUSTER: passes of Lloyd's method among near centers, and swaps of centers between them.

One pass at a time; when to stop is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projected_kmeans.keys import SWAPS
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import are_labels, are_lists
from projected_kmeans.results import Labels
from projected_kmeans.solvers.cell_seeding import CellSeeds
from projected_kmeans.solvers.lloyd import Lloyd
from projected_kmeans.solvers.lloyd_state import LloydState, state_fits
from projected_kmeans.solvers.near_centers import TRYING_PASSES, CellSearch, count_neighbours
from projected_kmeans.solvers.single_restart import Effort
from projected_kmeans.solvers.swaps import (
    N_LOCKED,
    choose_swaps,
    measure_removals,
    split_clusters,
    swap_labels,
)

# Swaps follow on each of this many passes. More gained nothing on trees and digits, and did harm
# where rows have heavy tails.
SWAP_ROUNDS = 4

# If all rows are one cell, because there are few clusters, swaps follow on more passes: they are
# what finds the far rows of heavy tails.
FLAT_SWAP_ROUNDS = 8


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
    kept_lists : ndarray of int32 (k or 0, m)
        The centers around each center that its rows are compared with, if these stay.
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
    kept_lists: Labels
    labels_before: Labels
    cells_before: Labels


class CellPasses:
    """Passes of Lloyd's method among near centers, with swaps between the first of them.

    A pass looks ahead of the means (`Effort.momentum`), unless swaps went before it. Swaps whose
    next pass does not end below the inertia before them are taken back, and are the last. So the
    inertia falls from pass to pass.

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
            momentum=effort.momentum,
        )
        self._problem, self._path = problem, (effort.key, SWAPS, restart)
        self._swapping = len(seeds.centers) > N_LOCKED
        self._labels_before = self._cells_before = np.empty(0, np.int32)

    @property
    def n_passes(self) -> int:
        """Passes so far."""
        return len(self.lloyd.history)

    @property
    def scattered(self) -> bool:
        """Whether lists of near centers were found to miss the nearest ones of many rows."""
        return self.n_passes > TRYING_PASSES[-1] and not self.search.enough

    @property
    def _n_swapping(self) -> int:
        """The number of passes after which no swaps follow any more."""
        return 2 + (FLAT_SWAP_ROUNDS if self.search.flat else SWAP_ROUNDS)

    @property
    def swaps_next(self) -> bool:
        """Whether swaps follow on the last pass."""
        return self._swapping and 2 <= self.n_passes < self._n_swapping

    def step(self) -> bool:
        """Make one pass; return whether it lowered the inertia, else the search has ended."""
        lloyd = self.lloyd
        search, k = self.search, len(lloyd.centers)
        search.n_neighbours = count_neighbours(
            k, self.n_passes, flat=search.flat, enough=search.enough
        )
        search.tries = not search.flat and self.n_passes in TRYING_PASSES
        wide = search.n_neighbours > count_neighbours(k, enough=search.enough)
        search.keeps_lists = self.n_passes >= self._n_swapping and (search.flat or not wide)
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
        search, problem, near = self.search, self._problem, self.search.near
        assert near is not None
        labels, moments = self.lloyd.partition
        path = (*self._path, self.n_passes)
        splits = split_clusters(problem, moments, labels, path)
        costs = measure_removals(problem, moments, labels, near)
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
        known = search.cells, self._swapping, search.enough, search.kept
        return CellState(lloyd.state(), lloyd.inertia, *known, *before)

    def resume(self, state: CellState) -> None:
        """Go on from a state of the same rows and parameters."""
        self.lloyd.resume(state.lloyd)
        self.search.cells, self._swapping = state.cells.copy(), state.swapping
        self.search.enough = state.enough
        if state.kept_lists.size:
            self.search.keep_lists(state.kept_lists.copy())
        self._labels_before = state.labels_before.copy()
        self._cells_before = state.cells_before.copy()

    def fits(self, state: CellState) -> bool:
        """Return whether a state that was stored is one of these rows and agrees with itself."""
        shape, (n_rows, n_columns) = self.search.cells.shape, self._problem.source.shape
        sizes = (0, 0), (n_rows, len(self.search.cells))
        return (
            (len(state.labels_before), len(state.cells_before)) in sizes
            and state.enough >= 0
            and are_lists(state.kept_lists, shape[0])
            and are_labels(state.cells, shape, n_rows)
            and are_labels(state.labels_before, state.labels_before.shape, shape[0])
            and are_labels(state.cells_before, state.cells_before.shape, n_rows)
            and state_fits(self._problem, (*shape, n_columns), state.lloyd, state.inertia)
        )
