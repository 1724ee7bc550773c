"""CLUSTER: single-point moves after Lloyd's method, as in the second phase of MatLab's kmeans.

Works on rows in memory; it neither seeds nor runs Lloyd's method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, OnPass
from projected_kmeans.running.checkpoint import RUNNING, Run
from projected_kmeans.running.monitor import Plateau


def move_single_points(
    problem: Problem,
    start: Clustering,
    *,
    max_iter: int,
    on_pass: OnPass | None = None,
    on_state: Callable[[Clustering], object] | None = None,
) -> Clustering:
    """Move one row at a time while that lowers the inertia (Hartigan).

    Moving a row of weight w from cluster a to b changes the inertia by
    ``w m_b / (m_b + w) ||x - c_b||^2 - w m_a / (m_a - w) ||x - c_a||^2``, where m is a cluster's
    weight before the move. Rows are visited in cyclic order. A row moves to the cluster where the
    inertia falls most, and both centers are updated at once. Where Lloyd's method has converged,
    such moves can still lower the inertia.

    Passes of ``start`` count as done. After each pass ``on_state`` gets the partition, from which
    another call goes on to the same end, and then ``on_pass`` (passes done, inertia); True stops.
    """
    # Aligned and in one piece, as kernels need it.
    rows = np.require(problem.source.select(), requirements=["C", "A", "E"])
    result, history, converged = start, list(start.history), False
    while len(history) < max_iter:
        labels = np.array(result.labels)
        centers, mass = result.centers.copy(), result.mass.copy()
        frame = Frame.around(centers, compute_type(rows.dtype), problem.ranges)
        n_moves = _native.move_points(
            rows,
            problem.weights,
            frame.origin,
            frame.scale,
            labels,
            centers,
            mass,
            problem.n_threads,
        )
        if n_moves == 0:
            converged = True
            break
        result = problem.sum(labels, centers).describe(labels)
        history.append(result.inertia)
        if on_state is not None:
            on_state(replace(result, n_iter=len(history), history=tuple(history)))
        if on_pass is not None and on_pass(len(history), result.inertia):
            break
    return replace(result, n_iter=len(history), converged=converged, history=tuple(history))


def move_to_plateau(
    problem: Problem, start: Clustering, run: Run, owner: str, *, max_iter: int, inertia_tol: float
) -> Clustering:
    """Move single points until a pass gains too little, or go on where a checkpoint has them."""
    sizes = problem.sizes(len(start.mass))
    state = run.checkpoint.recall(RUNNING, Clustering, sizes, owner=owner) or start
    plateau = Plateau(run.monitor.report, inertia_tol, start.inertia)
    plateau.follow(state.history[len(start.history) :])
    run.monitor.skip(len(state.history))
    if not plateau.reached:
        state = move_single_points(
            problem,
            state,
            max_iter=max_iter,
            on_pass=plateau,
            on_state=partial(run.checkpoint.keep_running, owner),
        )
    if run.monitor.stopped:
        run.checkpoint.flush()
    return replace(state, converged=True) if plateau.reached else state
