"""POLISH: Lloyd passes in the original space that look only at each row's nearest centers.

Which centers are near is asked once, in the sketch; full passes are `run_lloyd` on the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks import compute_type
from projected_kmeans.moments import Moments
from projected_kmeans.passes import Frame, Problem
from projected_kmeans.results import Clustering, Labels, OnPass

Candidates: TypeAlias = NDArray[np.uint16] | NDArray[np.int32]


def list_candidates(sketch: Problem, sketched: Clustering, n_candidates: int) -> Candidates:
    """Return the nearest centers of every row of the sketch, its own center always among them.

    Parameters
    ----------
    sketch : Problem
        n rows in few columns.
    sketched : Clustering
        A partition of them with its centers.
    n_candidates : int
        How many for each row; at most k.

    Returns
    -------
    ndarray of uint16 or int32 (n, n_candidates)
        The nearer first, ties by index; as narrow as k allows.
    """
    dtype = compute_type(sketch.source.dtype)
    frame = Frame.around(sketched.centers, dtype, sketch.ranges)
    shape = (sketch.source.shape[0], min(n_candidates, len(sketched.centers)))
    lists: Candidates = (
        np.empty(shape, np.uint16) if len(sketched.centers) <= 2**16 else np.empty(shape, np.int32)
    )
    for block in sketch.source:
        _native.candidate_centers(
            block.rows,
            frame.origin,
            frame.scale,
            frame.centers,
            sketched.labels[block.span],
            lists[block.span],
            sketch.n_threads,
        )
    return lists


def polish_among(
    problem: Problem,
    start: Clustering,
    candidates: Candidates,
    *,
    max_iter: int,
    on_pass: OnPass | None = None,
) -> Clustering:
    """Repeat: every row to the nearest of its candidates, every center to the mean of its rows.

    Parameters
    ----------
    problem : Problem
        The rows and what belongs to them.
    start : Clustering
        A partition with its means.
    candidates : ndarray of int (n, m)
        The centers that each row may go to, its own among them.
    max_iter : int
        Passes at most.
    on_pass : callable, optional
        Called with (passes done, inertia) after each; True stops.

    Returns
    -------
    Clustering
        Its inertia never exceeds that of ``start``: a pass that does not lower it is taken back.
        No cluster loses its last row.
    """
    best, converged = start, False
    history: list[float] = []
    while len(history) < max_iter:
        labels = best.labels.copy()
        _assign_among(problem, best, candidates, labels)
        moments = _sum_filled(problem, best, labels)
        if not moments.inertia < best.inertia:
            converged = True
            break
        best = moments.describe(labels)
        history.append(best.inertia)
        if on_pass is not None and on_pass(len(history), best.inertia):
            break
    return replace(best, n_iter=len(history), converged=converged, history=tuple(history))


def _assign_among(
    problem: Problem, present: Clustering, candidates: Candidates, labels: Labels
) -> None:
    dtype = compute_type(problem.source.dtype)
    frame = Frame.around(present.centers, dtype, problem.ranges)
    for block in problem.source:
        _native.nearest_candidate(
            block.rows,
            frame.origin,
            frame.scale,
            frame.centers,
            candidates[block.span],
            labels[block.span],
            problem.n_threads,
        )


def _sum_filled(problem: Problem, present: Clustering, labels: Labels) -> Moments:
    """Return the sums of the new partition; rows stay where otherwise a cluster would run empty."""
    moments = problem.sum(labels, present.centers)
    left = (moments.mass <= 0) & (present.mass > 0)
    if not left.any():
        return moments
    stay = left[present.labels]
    labels[stay] = present.labels[stay]
    return problem.sum(labels, present.centers)
