"""CLUSTER: several restarts that compete, on a subsample of the sketch or by halving.

Compares inertias on the sketch. The finalists are compared in the original space, elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import SUBSAMPLE, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import are_centers
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.monitor import Stopped
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.solvers.single_restart import Effort, Restart, Solver

# This many restarts run to their end. The sketch tells only roughly which of them wins in the
# original space: inertias on the sketch correlate with those there by 0.2 to 0.7.
FINALISTS = 3

# Passes of the first round; each further round doubles them. After fewer passes the inertia says
# little about where a restart will end, and after many more it says hardly more.
FIRST_PASSES = 5

# Inertias whose ratio differs from 1 by less than this are equal up to rounding.
ROUNDING = 1e-12

# Restarts on a subsample end when a pass gains less than this share of the inertia, because the
# last digits of a subsample say nothing about all rows. With momentum a pass gains more.
SUBSAMPLE_TOL, SUBSAMPLE_TOL_WITH_MOMENTUM = 1e-4, 3e-4

# From the number of a restart to its first centers; the callback is told of each center.
Seed = Callable[[int, OnCenter], Floats]


def draw_subsample(problem: Problem, n_rows: int, key: int) -> Problem | None:
    """Draw some of the rows with weight, for restarts to compete on.

    Parameters
    ----------
    problem : Problem
        The rows to draw from, uniformly; each keeps its weight.
    n_rows : int
        How many to draw.
    key : int
        What fixes the draw.

    Returns
    -------
    Problem or None
        None if ``n_rows`` is 0, or not less than the number of rows with weight.
    """
    weights, stream = problem.weights, open_stream(key, SUBSAMPLE)
    some = None if weights is None else np.flatnonzero(weights)
    n_some = problem.source.shape[0] if some is None else len(some)
    if not 0 < n_rows < n_some:
        return None
    places = stream.choice(n_some, n_rows, replace=False)
    drawn = np.sort(places if some is None else some[places])
    source = open_blocks(problem.source.select(drawn))
    return replace(problem, source=source, weights=None if weights is None else weights[drawn])


def run_restarts(
    problem: Problem,
    n_clusters: int,
    n_init: int,
    seed: Seed,
    effort: Effort,
    run: Run,
    sample: Problem | None = None,
) -> list[Clustering]:
    """Return the finalists among ``n_init`` restarts, in the order of their numbers.

    With a sample, restarts run on it, and the one with the lowest inertia there goes on with all
    rows, after breathing has mended its misplaced centers (`Effort.min_breathing_gain`).
    Without, all make `FIRST_PASSES` passes. Then the better half goes on for twice as many, and so
    on until `FINALISTS` are left, which run to their end. Up to `FINALISTS` restarts all run to it.
    The best `Effort.n_finalists` of them breathe.

    Parameters
    ----------
    problem : Problem
        The rows of the sketch.
    n_clusters : int
        k.
    n_init : int
        Restarts.
    seed : callable
        From the number of a restart and an `OnCenter` to first centers.
    effort : Effort
        What the solver may spend on one restart.
    run : Run
        Told of every center and every pass. If it is stopped, the best restarts so far are the
        finalists. Its checkpoint knows what earlier runs found, and stores what is found now.
    sample : Problem, optional
        Some of the rows; ``seed`` must choose centers among them.
    """
    whole = first = Solver(problem, effort, run)
    limit = effort.max_iter
    if sample is not None:
        enough = SUBSAMPLE_TOL_WITH_MOMENTUM if effort.momentum > 0 else SUBSAMPLE_TOL
        quick = replace(effort, inertia_tol=max(effort.inertia_tol, enough))
        first = Solver(sample, quick, run)
    elif n_init > FINALISTS:
        limit = min(FIRST_PASSES, limit)
    running: list[Restart] = []
    for index in range(n_init):
        name = f"restart-{index}"
        rows = problem if sample is None else sample
        fits = partial(Restart.fits, index=index, shape=rows.source.shape, n_clusters=n_clusters)
        restart = run.recall(name, Restart, fits)
        if restart is None:
            try:
                shape = n_clusters, problem.source.shape[1]
                centers = _draw_centers(seed, shape, index, run)
            except Stopped:
                break
            restart = Restart.pack(index, first.advance(index, centers, limit, name))
            run.keep(name, restart)
        running.append(restart)
        if run.monitor.stopped:
            break
    if sample is None:
        return _halve(whole, running, limit)
    (best,) = _choose(running, 1)
    best = first.mend(best)
    return [whole.advance(best.index, best.found.centers, effort.max_iter, "all-rows")]


def _draw_centers(seed: Seed, shape: tuple[int, int], index: int, run: Run) -> Floats:
    """Return the first centers of a restart; raise `Stopped` if the run ends before it begins."""
    name, monitor = f"seeding-{index}", run.monitor
    centers = run.recall(name, NDArray[np.float64], partial(are_centers, shape=shape))
    if centers is None:
        with monitor.step("seed", shape[0], index):
            # A stopped run still needs one result, so the first seeding is always finished.
            centers = seed(index, monitor.report_or_leave if index else monitor.report)
        run.keep(name, centers)
    return centers


def _halve(solver: Solver, running: Sequence[Restart], limit: int) -> list[Clustering]:
    """Let the better half go on for twice as many passes, until the finalists are left."""
    effort, n_rounds = solver.effort, 1
    while len(running) > FINALISTS:
        running = _choose(running, max(FINALISTS, -(-len(running) // 2)))
        limit = effort.max_iter if len(running) == FINALISTS else min(2 * limit, effort.max_iter)
        n_rounds += 1
        running = [solver.go_on(restart, limit, n_rounds) for restart in running]
    best = _choose(running, min(effort.n_finalists, len(running)))
    return [solver.mend(restart).clustering for restart in best]


def first_of_lowest(values: Sequence[float]) -> int:
    """Return the index of the lowest value; of values that are equal up to rounding, the first.

    Examples
    --------
    >>> first_of_lowest([3.0, 2.0 + 1e-15, 2.0])
    1
    """
    least = min(values)
    return next(i for i, value in enumerate(values) if value * (1 - ROUNDING) <= least)


def _choose(running: Sequence[Restart], n_best: int) -> list[Restart]:
    """Return the restarts with the lowest inertia, in the order of their numbers."""
    left, best = list(running), []
    for _ in range(n_best):
        best.append(left.pop(first_of_lowest([restart.found.inertia for restart in left])))
    return sorted(best, key=lambda restart: restart.index)
