"""CLUSTER: which rows keep their nearest listed center, known without looking at the rows.

A pass leaves for every row its distance to the nearest center of its list and to the next one. As
long as lists stay, a row can change its center only after centers have moved so far that these two
distances may meet. Such bounds are safe: labels are those of a pass that looks at all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import put_entries
from projected_kmeans.blocks.tasks import Block, Task, update
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.listed_search import CenterLists, assign_block
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# Bounds are numbers of float32 or float64 that are changed once in a pass. This share of them is
# more than what rounding adds up to over many passes.
SLACK = 1e-4


class BoundedLists:
    """Passes that compare rows with the centers of lists that stay, if these may have come nearer.

    Parameters
    ----------
    problem : Problem
        n dense rows.
    neighbours : ndarray of int32 (k, m)
        For every cluster the centers that its rows may go to, its own first.

    Attributes
    ----------
    neighbours : ndarray of int32 (k, m)
        The same.
    """

    def __init__(self, problem: Problem, neighbours: Labels) -> None:
        self._problem, self.neighbours = problem, neighbours
        self._lists = CenterLists.of_rows(neighbours)
        dtype = compute_type(problem.source.dtype)
        # Distances of rows to their center, from above, and to the next one, from below.
        self._upper = problem.source.new_row_array(dtype, 0)
        self._lower = problem.source.new_row_array(dtype, 0)
        self._centers: Floats | None = None

    def assign(
        self, frame: Frame, centers: Floats, labels: Labels, then: Sequence[Task] = ()
    ) -> None:
        """Overwrite labels by the nearest listed centers; among equally near ones labels stay.

        Parameters
        ----------
        frame : Frame
            The coordinates around the centers, which hold all rows.
        centers : ndarray of float64 (k, columns)
            The centers.
        labels : ndarray of int32 (n,)
            Those of the last pass, but for rows that were given others and are forgotten.
        then : sequence of Task, optional
            What to do with every block after its rows got their labels.
        """
        problem = self._problem
        moved = self._measure_moves(centers)
        reach = None if moved is None else moved[self.neighbours].max(axis=1)
        wrong = _bound_rounding(problem, frame)
        known = frame, centers, self._lists, problem.n_threads
        kernel = partial(_assign, *known, moved, reach, wrong)
        uses = (update(labels), update(self._upper), update(self._lower))
        problem.source.walk(Task(kernel, uses), *then)
        self._centers = centers.copy()

    def forget(self, rows: NDArray[np.int64]) -> None:
        """Look at some rows in the next pass, whatever their bounds are."""
        put_entries(self._lower, rows, 0)

    def _measure_moves(self, centers: Floats) -> Floats | None:
        """Return how far each center moved since the last pass; None before the first one."""
        if self._centers is None:
            return None
        gaps = centers - self._centers
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)))


def _bound_rounding(problem: Problem, frame: Frame) -> float:
    """Return by how much a squared distance in the frame may be wrong: see `score_margin`."""
    ranges, origin = problem.ranges, frame.origin.astype(np.float64)
    far = np.maximum(ranges.maximum - origin, origin - ranges.minimum) * frame.scale
    inside = frame.centers.astype(np.float64)
    largest = math.sqrt(float(np.max(np.einsum("ij,ij->i", inside, inside))))
    reach = math.sqrt(float(np.sum(far * far))) + largest
    unit = float(np.finfo(frame.centers.dtype).eps) / 2
    return 4 * unit * (len(origin) + 8) * reach * reach


def _assign(
    frame: Frame,
    centers: Floats,
    lists: CenterLists,
    n_threads: int,
    moved: Floats | None,
    reach: Floats | None,
    wrong: float,
    block: Block,
    labels: Labels,
    upper: NDArray[Any],
    lower: NDArray[Any],
) -> None:
    before, groups = labels.copy(), labels.copy()
    if moved is not None and reach is not None:
        upper += moved.astype(upper.dtype)[labels]
        lower -= reach.astype(lower.dtype)[labels]
        groups[upper * (1 + SLACK) < lower * (1 - SLACK)] = -1
    nearest, second = np.empty((2, len(labels)), frame.centers.dtype)
    assign_block(frame, centers, lists, n_threads, block, groups, labels, nearest, second)
    met = np.flatnonzero(groups >= 0)
    upper[met] = np.sqrt(nearest[met].astype(np.float64) + wrong) / frame.scale
    lower[met] = np.sqrt(np.maximum(second[met].astype(np.float64) - wrong, 0)) / frame.scale
    # Another cluster has another list, whose centers the row has not met.
    lower[met[labels[met] != before[met]]] = 0
