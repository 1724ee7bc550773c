"""CLUSTER: the nearest of the centers around each row's cluster, pass after pass.

How many centers that are follows from the number of clusters, and from trying some rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Task
from projected_kmeans.passes.assignment import NOTHING, Nearness
from projected_kmeans.passes.center_graph import find_neighbours
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.list_bounds import BoundedLists
from projected_kmeans.passes.listed_search import CenterLists, assign_listed
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels
from projected_kmeans.solvers.cell_seeding import CellSeeds
from projected_kmeans.solvers.near_enough import count_enough

# Centers that the rows of a cluster meet in a pass, their own included: 64 for few clusters, where
# a pass is cheap, else 32. If the second or the third pass finds that fewer are enough, later ones
# look at those only.
FEW_NEIGHBOURS, MANY_NEIGHBOURS, FEW_CLUSTERS = 64, 32, 4096
TRYING_PASSES = (1, 2)

# Up to that many clusters, two passes after the swaps look at more centers if 64 are not enough:
# without clear clusters, as in noise, the nearest center of a row is often not among these.
WIDE_NEIGHBOURS, WIDE_PASSES = 256, (6, 7)


def count_neighbours(
    n_clusters: int, n_passes: int = 0, *, flat: bool = False, enough: int = 0
) -> int:
    """Return how many centers the rows of a cluster meet in the pass after ``n_passes`` others.

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
    keeps_lists : bool
        Whether lists of near centers stay from the next pass on. Most rows then keep their centers
        without being looked at.
    neighbours : ndarray of int32 (k, m)
        The nearest centers of every center in the last pass, itself first.
    near : Nearness or None
        The distances of all rows in the last pass; None if lists stay.
    """

    neighbours: Labels
    near: Nearness | None

    def __init__(self, problem: Problem, seeds: CellSeeds) -> None:
        self.cells, self.remembered = seeds.cells.copy(), NOTHING
        self.flat = not seeds.cells.any()
        self.n_neighbours = count_neighbours(len(seeds.cells), flat=self.flat)
        self.tries, self.enough, self.keeps_lists = False, 0, False
        self._problem, self._seeds = problem, seeds
        self._bounded: BoundedLists | None = None

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
        if self._bounded is None:
            near = find_neighbours(frame, self.cells, self.n_neighbours, problem.n_threads)
            if self.tries:
                self.enough = count_enough(problem, centers, labels, near)
                near = near[:, : self.enough or None]
            self.neighbours = near
            if self.keeps_lists:
                self.keep_lists(near)
        if self._bounded is not None:
            self._bounded.assign(frame, centers, labels, then)
        else:
            lists = CenterLists.of_rows(self.neighbours)
            self.near = assign_listed(problem, centers, lists, labels, None, then, frame)

    @property
    def kept(self) -> Labels:
        """The lists that stay, an array (k, m); (0, 0) as long as there are none."""
        return np.empty((0, 0), np.int32) if self._bounded is None else self._bounded.neighbours

    def keep_lists(self, neighbours: Labels) -> None:
        """Compare rows of each cluster with the same centers from now on, and measure none."""
        self.near = None
        self._bounded = BoundedLists(self._problem, neighbours)

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Forget the bounds of rows that the caller gave other labels.

        Without bounds there is nothing to do: a row meets the centers around its new cluster.
        """
        if self._bounded is not None:
            self._bounded.forget(rows)
