"""CLUSTER, POLISH: Lloyd's method up to a plateau, from where a checkpoint has it.

Composes the loop, who may end it, and what is stored of it; it makes no pass itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.monitor import Monitor, Plateau
from projected_kmeans.solvers.lloyd import LloydState, run_lloyd


def run_to_plateau(
    problem: Problem,
    centers: Floats,
    log: Monitor,
    saved: Checkpoint,
    owner: str,
    *,
    max_iter: int,
    inertia_tol: float,
    start: Clustering | None = None,
    done: int = 0,
    **options: Any,
) -> Clustering:
    """Run Lloyd's method until a pass gains too little, or go on where it was.

    Parameters
    ----------
    problem : Problem
        The rows.
    centers : ndarray of float64 (k, columns)
        The first centers.
    log : Monitor
        Told of every pass; it may stop the run.
    saved : Checkpoint
        Where states are stored.
    owner : str
        What tells this run from others of the same fit.
    max_iter : int
        Passes at most.
    inertia_tol : float
        The share of the inertia by which a pass must lower it.
    start : Clustering, optional
        As in `run_lloyd`.
    done : int, default=0
        Passes that count as done before the first.
    **options : optional
        What else `run_lloyd` takes.

    Returns
    -------
    Clustering
        Of which a plateau counts as a standstill.
    """
    state = saved.recall_running(owner, LloydState)
    history = () if state is None else state.history
    before = math.inf if start is None else start.inertia
    plateau = Plateau(
        lambda passes, inertia: log.report(done + passes, inertia), inertia_tol, before
    )
    plateau.follow(history)
    if history:
        log.note("checkpoint: %s goes on after %d passes", owner, len(history))
    log.skip(done + len(history))
    found = run_lloyd(
        problem,
        centers,
        max_iter=len(history) if plateau.reached else max_iter,
        start=start,
        on_pass=plateau,
        resume=state,
        on_state=partial(saved.keep_running, owner) if saved.folder is not None else None,
        **options,
    )
    if found.converged or plateau.reached:
        saved.drop_running()
    return replace(found, converged=True) if plateau.reached else found
