"""CLUSTER, POLISH: solvers that end at a plateau, and go on from where a checkpoint has them.

Connects a solver with the run: who may stop it, and what is stored of it. It makes no pass itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from projected_kmeans.passes.assignment import Search
from projected_kmeans.passes.cluster_sums import KeptSums
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import is_partition
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.monitor import Plateau
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.hartigan import move_single_points
from projected_kmeans.solvers.lloyd import Lloyd
from projected_kmeans.solvers.lloyd_state import LloydState, state_fits


def run_to_plateau(
    problem: Problem,
    centers: Floats,
    run: Run,
    owner: str,
    *,
    max_iter: int,
    inertia_tol: float,
    tol: float = 0.0,
    start: Clustering | None = None,
    search: Search | None = None,
    momentum: float = 0.0,
    done: int = 0,
    kept: KeptSums | None = None,
) -> Clustering:
    """Run Lloyd's method until a pass gains too little, or go on where an earlier run was.

    Parameters
    ----------
    problem, centers, max_iter, tol, start, search, momentum
        As in `Lloyd`.
    run : Run
        Its monitor is told of every pass and may stop the solver; its checkpoint stores states.
    owner : str
        What tells this solver from others of the same fit.
    inertia_tol : float
        The method has converged when a pass lowers the inertia by less than this share of it.
    done : int, default=0
        Passes that count as done before the first.
    kept : KeptSums, optional
        The sums over the partition ``start``; overwritten by those over the result.

    Returns
    -------
    Clustering
        A plateau counts as convergence.
    """
    monitor, checkpoint = run.monitor, run.checkpoint
    plateau = Plateau(monitor.report, inertia_tol, math.inf if start is None else start.inertia)
    fits = partial(state_fits, problem, centers.shape)
    state = checkpoint.recall_running(owner, LloydState, fits)
    history = () if state is None else state.history
    plateau.follow(history)  # the last pass may have ended the method before the process ended
    limit = len(history) if plateau.reached else max_iter
    monitor.skip(done + len(history))
    kept = kept or KeptSums()
    lloyd = Lloyd(
        problem,
        centers,
        max_iter=limit,
        tol=tol,
        start=start,
        search=search,
        momentum=momentum,
        sums=kept.sums,
    )
    if state is not None:
        monitor.note("checkpoint: %s goes on after %d passes", owner, len(history))
        lloyd.resume(state)
    while lloyd.step():
        if checkpoint.folder is not None:
            checkpoint.keep_running(owner, lloyd.state())
        if plateau(done + len(lloyd.history), lloyd.inertia):
            break
    converged = lloyd.converged or plateau.reached
    if converged:
        checkpoint.drop_running()
    kept.keep(lloyd.sums)
    return replace(lloyd.result(), converged=converged)


def move_to_plateau(
    problem: Problem,
    start: Clustering,
    run: Run,
    owner: str,
    *,
    max_iter: int,
    inertia_tol: float,
) -> Clustering:
    """Move single points until a pass gains too little, or go on where an earlier run was.

    Parameters
    ----------
    problem, start, max_iter
        As in `move_single_points`.
    run, owner, inertia_tol
        As in `run_to_plateau`.
    """
    fits = partial(is_partition, shape=problem.source.shape, n_clusters=len(start.mass))
    state = run.checkpoint.recall_running(owner, Clustering, fits) or start
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
    return replace(state, converged=True) if plateau.reached else state
