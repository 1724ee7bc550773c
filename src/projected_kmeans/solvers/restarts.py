"""CLUSTER: several restarts on the sketch: they compete on a sample of its rows, or by halving.

Runs the solvers and compares inertias on the sketch; the finalists are judged elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import LOCAL_SEARCH, SUBSAMPLE, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, OnPass
from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.monitor import Monitor, Plateau, Stopped
from projected_kmeans.solvers.breathing import breathe
from projected_kmeans.solvers.hartigan import move_single_points
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.resumable_lloyd import run_to_plateau

# As many restarts run to their end. Which of them wins in the original space the sketch tells only
# roughly: inertias after the last pass correlate by 0.2 to 0.7 with those there.
FINALISTS = 3

# Passes of the first round; each further round doubles them. After fewer, inertias say little of
# where a restart ends; after many more they say hardly more.
FIRST_PASSES = 5

# Inertias that differ by less are the same up to rounding.
ROUNDING = 1e-12

# A subsample ends where a pass gains less: the sample's last digits are not those of all rows.
SUBSAMPLE_TOL = 1e-4

Seed = Callable[[int, OnCenter], Floats]


@dataclass(frozen=True)
class Effort:
    """How far the solver goes: its name, its key, its limit of passes and its tolerances.

    The best restarts breathe as long as each breath lowers the inertia by at least the share
    `min_breathing_gain`.
    """

    solver: str
    key: int
    max_iter: int
    tol: float
    inertia_tol: float
    min_breathing_gain: float = math.inf


@dataclass(frozen=True)
class Restart:
    """One restart and what it has found; labels are kept as narrow as k allows."""

    index: int
    found: Clustering
    labels: NDArray[Any]

    @classmethod
    def keep(cls, index: int, found: Clustering) -> Restart:
        """Return the restart with its partition packed, so that many of them fit in memory."""
        narrow = np.min_scalar_type(len(found.mass) - 1)
        return cls(index, replace(found, labels=found.labels[:0]), found.labels.astype(narrow))

    @property
    def clustering(self) -> Clustering:
        """What was found, unpacked."""
        return replace(self.found, labels=self.labels.astype(np.int32))


def draw_subsample(problem: Problem, n_rows: int, key: int) -> Problem | None:
    """Return a sample of the rows that count, for restarts to compete on; None where none is due.

    Parameters
    ----------
    problem : Problem
        Rows of which the sample is a part.
    n_rows : int
        How many to draw, uniformly; each brings its weight along. 0 asks for no sample.
    key : int
        What fixes the draw.
    """
    weights = problem.weights
    some = np.arange(problem.source.shape[0]) if weights is None else np.flatnonzero(weights)
    if not 0 < n_rows < len(some):
        return None
    drawn = np.sort(open_stream(key, SUBSAMPLE).choice(some, n_rows, replace=False))
    source = open_blocks(problem.source.select(drawn))
    return replace(problem, source=source, weights=None if weights is None else weights[drawn])


def run_restarts(
    problem: Problem,
    n_clusters: int,
    n_init: int,
    seed: Seed,
    effort: Effort,
    log: Monitor,
    saved: Checkpoint,
    sample: Problem | None = None,
) -> list[Clustering]:
    """Return the finalists among ``n_init`` restarts, in the order of their numbers.

    With a sample, restarts run on it, and the one of least inertia there goes on with all rows,
    once its misplaced centers are mended (`Effort.min_breathing_gain`).
    Without, all make `FIRST_PASSES` passes. Then the better half goes on for twice as many, and so
    on until `FINALISTS` are left, which run to their end. Up to `FINALISTS` restarts all run to it.

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
    log : Monitor
        Told of every center and every pass; it may stop the run, whose best are then the finalists.
    saved : Checkpoint
        What is known of restarts already, and takes what is found of them.
    sample : Problem, optional
        Some of the rows; ``seed`` is to seed on them.
    """
    run = _Run(problem, effort, log, saved)
    if sample is not None:
        subsample = replace(effort, inertia_tol=max(effort.inertia_tol, SUBSAMPLE_TOL))
        first = _Run(sample, subsample, log, saved)
        (best,) = _choose(_start_all(first, n_clusters, n_init, seed, effort.max_iter), 1)
        best = _mend(first, best)
        with log.step("cluster", effort.max_iter, best.index):
            return [_begin(run, best.found.centers, best.index, effort.max_iter, "all-rows")]
    limit = effort.max_iter if n_init <= FINALISTS else min(FIRST_PASSES, effort.max_iter)
    running = _start_all(run, n_clusters, n_init, seed, limit)
    n_rounds = 1
    while len(running) > FINALISTS:
        running = _choose(running, max(FINALISTS, -(-len(running) // 2)))
        limit = effort.max_iter if len(running) == FINALISTS else min(2 * limit, effort.max_iter)
        n_rounds += 1
        running = [_go_on(run, restart, limit, n_rounds) for restart in running]
    return [_mend(run, restart).clustering for restart in running]


@dataclass(frozen=True)
class _Run:
    """What all restarts on the same rows share."""

    problem: Problem
    effort: Effort
    log: Monitor
    saved: Checkpoint


def _start_all(run: _Run, n_clusters: int, n_init: int, seed: Seed, limit: int) -> list[Restart]:
    """Seed all restarts and let each make up to ``limit`` passes, or fewer where the log stops."""
    log, running = run.log, list[Restart]()

    def draw(index: int) -> Floats:
        with log.step("seed", n_clusters, index):
            return seed(index, log.report_or_leave if index else log.report)

    def start(index: int) -> Restart:
        centers = run.saved.load_or_compute(f"seeding-{index}", np.ndarray, partial(draw, index))
        with log.step("cluster", run.effort.max_iter, index):
            return Restart.keep(index, _begin(run, centers, index, limit, f"restart-{index}"))

    for index in range(n_init):
        try:
            running.append(
                run.saved.load_or_compute(f"restart-{index}", Restart, partial(start, index))
            )
        except Stopped:
            break
        if log.stopped:
            break
    return running


def first_of_lowest(values: Sequence[float]) -> int:
    """Return the index of the least value, the first of those that only rounding tells apart.

    Examples
    --------
    >>> first_of_lowest([3.0, 2.0 + 1e-15, 2.0])
    1
    """
    least = min(values)
    return next(i for i, value in enumerate(values) if value * (1 - ROUNDING) <= least)


def _choose(running: Sequence[Restart], n_best: int) -> list[Restart]:
    """Return the restarts of least inertia, in the order of their numbers."""
    left, best = list(running), []
    for _ in range(n_best):
        best.append(left.pop(first_of_lowest([restart.found.inertia for restart in left])))
    return sorted(best, key=lambda restart: restart.index)


def _begin(run: _Run, centers: Floats, index: int, limit: int, owner: str) -> Clustering:
    return _solve(run, index, limit, owner, partial(_lloyd, run, centers, limit, owner))


def _go_on(run: _Run, restart: Restart, limit: int, n_rounds: int) -> Restart:
    """Continue a restart up to ``limit`` passes in all, as if it had never paused."""
    owner = f"restart-{restart.index}-round-{n_rounds}"

    def more() -> Clustering:
        start = restart.clustering
        if start.converged or start.n_iter >= limit:
            return start
        found = _lloyd(run, start.centers, limit, owner, start)
        history = start.history + found.history
        return replace(found, n_iter=len(history), history=history)

    def go_on() -> Restart:
        with run.log.step("cluster", run.effort.max_iter, restart.index):
            return Restart.keep(restart.index, _solve(run, restart.index, limit, owner, more))

    return restart if run.log.stopped else run.saved.load_or_compute(owner, Restart, go_on)


def _mend(run: _Run, restart: Restart) -> Restart:
    """Let a restart breathe as long as that pays."""
    effort, log = run.effort, run.log

    def solve(
        centers: Floats, *, max_iter: int, on_pass: OnPass, start: Clustering | None = None
    ) -> Clustering:
        plateau = Plateau(on_pass, 0.0 if start is None else effort.inertia_tol)
        found = run_lloyd(
            run.problem, centers, max_iter=max_iter, tol=effort.tol, start=start, on_pass=plateau
        )
        return replace(found, converged=True) if plateau.reached else found

    def mend() -> Restart:
        with log.step("cluster", effort.max_iter, restart.index):
            log.skip(restart.found.n_iter)
            found = breathe(
                run.problem,
                restart.clustering,
                solve,
                open_stream(effort.key, LOCAL_SEARCH, restart.index),
                max_iter=effort.max_iter,
                on_pass=log.report,
                min_gain=effort.min_breathing_gain,
            )
            return Restart.keep(restart.index, found)

    if math.isinf(effort.min_breathing_gain) or log.stopped:
        return restart
    return run.saved.load_or_compute(f"restart-{restart.index}-mended", Restart, mend)


def _lloyd(
    run: _Run, centers: Floats, limit: int, owner: str, start: Clustering | None = None
) -> Clustering:
    """Make up to ``limit`` passes, those of ``start`` included."""
    done = 0 if start is None else start.n_iter
    return run_to_plateau(
        run.problem,
        centers,
        run.log,
        run.saved,
        owner,
        max_iter=limit - done,
        inertia_tol=run.effort.inertia_tol,
        tol=run.effort.tol,
        start=start,
        done=done,
    )


def _solve(
    run: _Run, index: int, limit: int, owner: str, lloyd: Callable[[], Clustering]
) -> Clustering:
    """Run Lloyd and do what the solver does after it, where the restart runs to its end."""
    effort, log = run.effort, run.log
    if effort.solver == "lloyd" or limit < effort.max_iter:
        return lloyd()
    found = run.saved.load_or_compute(f"{owner}-lloyd", Clustering, lloyd)
    if log.stopped:
        return found
    if effort.solver == "hartigan":
        return _move(run, found, f"{owner}-moves")
    stream = open_stream(effort.key, LOCAL_SEARCH, index)
    solve = partial(run_lloyd, run.problem, tol=effort.tol)
    # Breaths that gain nothing are part of breathing: no tolerance on inertia ends it.
    return breathe(run.problem, found, solve, stream, max_iter=effort.max_iter, on_pass=log.report)


def _move(run: _Run, found: Clustering, owner: str) -> Clustering:
    """Move single points from a partition on, or from where that was."""
    state = run.saved.recall_running(owner, Clustering) or found
    plateau = Plateau(run.log.report, run.effort.inertia_tol, found.inertia)
    plateau.follow(state.history[len(found.history) :])
    run.log.skip(len(state.history))
    better = state
    if not plateau.reached:
        better = move_single_points(
            run.problem,
            state,
            max_iter=run.effort.max_iter,
            on_pass=plateau,
            on_state=partial(run.saved.keep_running, owner),
        )
    return replace(better, converged=True) if plateau.reached else better
