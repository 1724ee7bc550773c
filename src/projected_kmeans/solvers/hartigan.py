"""CLUSTER: single-point moves after Lloyd's method, as in the second phase of MatLab's kmeans.

Works on rows in memory; it neither seeds nor runs Lloyd's method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, OnPass


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

    Parameters
    ----------
    problem : Problem
        The rows and what belongs to them.
    start : Clustering
        A partition with its means; its passes count as done.
    max_iter : int
        Passes at most, those of ``start`` included.
    on_pass : callable, optional
        Called with (passes done, inertia) after each pass; True stops.
    on_state : callable, optional
        Called before ``on_pass`` with the partition. With it as ``start``, another call goes on to
        the same end.
    """
    rows = np.require(
        problem.source.select(), requirements=["C", "A", "E"]
    )  # aligned, as kernels need it
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
