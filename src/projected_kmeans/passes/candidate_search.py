"""POLISH: passes in the original space that compare each row with a few candidate centers only.

The candidates of a row are its nearest centers in the sketch. The passes themselves are those of
Lloyd's method, which asks a `CandidateSearch` instead of measuring all centers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.row_arrays import put_entries
from projected_kmeans.blocks.tasks import Block, Task, fill, read, update
from projected_kmeans.passes.assignment import NOTHING
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels

Candidates: TypeAlias = NDArray[np.uint16] | NDArray[np.int32]


def list_candidates(sketch: Problem, sketched: Clustering, n_candidates: int) -> Candidates:
    """Return the nearest centers of every row of the sketch, always including its own center.

    Parameters
    ----------
    sketch : Problem
        n rows in few columns.
    sketched : Clustering
        A partition of the sketch with its centers.
    n_candidates : int
        The number of candidates of each row; k if that is smaller.

    Returns
    -------
    ndarray of uint16 or int32 (n, n_candidates)
        Indices of centers, nearest first, equal distances by index. They are uint16 for up to
        65,536 centers.
    """
    dtype = compute_type(sketch.source.dtype)
    frame = Frame.around(sketched.centers, dtype, sketch.ranges)
    width = (min(n_candidates, len(sketched.centers)),)
    narrow = len(sketched.centers) <= _native.MAX_NARROW_CENTERS
    lists: Candidates = sketch.source.new_row_array(
        np.dtype(np.uint16 if narrow else np.int32), width=width
    )
    kernel = partial(_list, frame, sketch.n_threads)
    sketch.source.walk(Task(kernel, (read(sketched.labels), fill(lists))))
    return lists


def _list(frame: Frame, n_threads: int, block: Block, labels: Labels, lists: Candidates) -> None:
    _native.candidate_centers(
        block.rows, frame.origin, frame.scale, frame.centers, labels, lists, n_threads
    )


class CandidateSearch:
    """Finds the nearest of each row's candidates; a `Search` for Lloyd's method.

    Parameters
    ----------
    problem : Problem
        The rows.
    candidates : ndarray of int (n, m)
        The centers that each row may go to, its own among them. `rows_reassigned` changes them.

    Attributes
    ----------
    n_distances : int
        The number of distances between rows and centers computed so far.
    """

    def __init__(self, problem: Problem, candidates: Candidates) -> None:
        self.n_distances, self.remembered = 0, NOTHING
        self._problem = problem
        self._candidates = candidates

    def assign(
        self,
        centers: Floats,
        labels: Labels,
        *,
        keep_ties: bool,
        then: Sequence[Task] = (),
    ) -> None:
        """Overwrite labels by the nearest candidates; ties are kept whatever ``keep_ties`` says."""
        source = self._problem.source
        frame = Frame.around(centers, compute_type(source.dtype), self._problem.ranges)
        kernel = partial(_assign, frame, centers, self._problem.n_threads)
        source.walk(Task(kernel, (read(self._candidates), update(labels))), *then)
        self.n_distances += self._candidates.size

    def rows_reassigned(self, rows: NDArray[np.int64], targets: Labels) -> None:
        """Make the clusters that rows were moved to candidates, in place of the last candidate."""
        put_entries(self._candidates, rows, targets, column=-1)


def _assign(
    frame: Frame,
    centers: Floats,
    n_threads: int,
    block: Block,
    candidates: Candidates,
    labels: Labels,
) -> None:
    _native.nearest_candidate(
        block.rows,
        frame.origin,
        frame.scale,
        frame.centers,
        centers,
        candidates,
        labels,
        n_threads,
    )
