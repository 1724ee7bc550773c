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

from projected_kmeans.blocks import open_blocks
from projected_kmeans.hartigan import move_single_points
from projected_kmeans.journal import Journal, Plateau, Stopped
from projected_kmeans.keys import LOCAL_SEARCH, REHEARSAL, open_stream
from projected_kmeans.lloyd import run_lloyd
from projected_kmeans.local_search import breathe
from projected_kmeans.passes import Problem
from projected_kmeans.plus_plus import OnCenter
from projected_kmeans.results import Clustering, Floats, OnPass

# As many restarts run to their end. Which of them wins in the original space the sketch tells only
# roughly: inertias after the last pass correlate by 0.2 to 0.7 with those there.
FINALISTS = 3

# Passes of the first round; each further round doubles them. After fewer, inertias say little of
# where a restart ends; after many more they say hardly more.
FIRST_PASSES = 5

# Inertias that differ by less are the same up to rounding.
ROUNDING = 1e-12

# A rehearsal ends where a pass gains less: the sample's last digits are not those of all rows.
REHEARSAL_TOL = 1e-4

Seed = Callable[[int, OnCenter], Floats]


@dataclass(frozen=True)
class Effort:
    """How far the solver goes: its name, its key, its limit of passes and its tolerances.

    The best restarts breathe as long as a breath lowers the inertia by the share `least_breath`.
    """

    solver: str
    key: int
    max_iter: int
    tol: float
    inertia_tol: float
    least_breath: float = math.inf


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


def draw_rehearsal(problem: Problem, n_rows: int, key: int) -> Problem | None:
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
    drawn = np.sort(open_stream(key, REHEARSAL).choice(some, n_rows, replace=False))
    source = open_blocks(problem.source.select(drawn))
    return replace(problem, source=source, weights=None if weights is None else weights[drawn])


def run_restarts(
    problem: Problem,
    n_clusters: int,
    n_init: int,
    seed: Seed,
    effort: Effort,
    log: Journal,
    sample: Problem | None = None,
) -> list[Clustering]:
    """Return the finalists among ``n_init`` restarts, in the order of their numbers.

    With a sample, restarts run on it, and the one of least inertia there goes on with all rows,
    once its misplaced centers are mended (`Effort.least_breath`).
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
    log : Journal
        Told of every center and every pass; it may stop the run, whose best are then the finalists.
    sample : Problem, optional
        Some of the rows; ``seed`` is to seed on them.
    """
    if sample is not None:
        rehearsal = replace(effort, inertia_tol=max(effort.inertia_tol, REHEARSAL_TOL))
        running = _start_all(sample, n_clusters, n_init, seed, rehearsal, log, effort.max_iter)
        (best,) = _choose(running, 1)
        best = _mend(sample, best, rehearsal, log)
        with log.step("cluster", effort.max_iter, best.index):
            return [_begin(problem, best.found.centers, best.index, effort.max_iter, effort, log)]
    limit = effort.max_iter if n_init <= FINALISTS else min(FIRST_PASSES, effort.max_iter)
    running = _start_all(problem, n_clusters, n_init, seed, effort, log, limit)
    while len(running) > FINALISTS:
        running = _choose(running, max(FINALISTS, -(-len(running) // 2)))
        limit = effort.max_iter if len(running) == FINALISTS else min(2 * limit, effort.max_iter)
        running = [_go_on(problem, restart, limit, effort, log) for restart in running]
    return [_mend(problem, restart, effort, log).clustering for restart in running]


def _start_all(
    problem: Problem,
    n_clusters: int,
    n_init: int,
    seed: Seed,
    effort: Effort,
    log: Journal,
    limit: int,
) -> list[Restart]:
    """Seed all restarts and let each make up to ``limit`` passes, or fewer where the log stops."""
    running: list[Restart] = []
    for index in range(n_init):
        try:
            with log.step("seed", n_clusters, index):
                centers = seed(index, log.report_or_leave if index else log.report)
        except Stopped:
            break
        with log.step("cluster", effort.max_iter, index):
            found = _begin(problem, centers, index, limit, effort, log)
            running.append(Restart.keep(index, found))
        if log.stopped:
            break
    return running


def first_of_least(values: Sequence[float]) -> int:
    """Return the index of the least value, the first of those that only rounding tells apart.

    Examples
    --------
    >>> first_of_least([3.0, 2.0 + 1e-15, 2.0])
    1
    """
    least = min(values)
    return next(i for i, value in enumerate(values) if value * (1 - ROUNDING) <= least)


def _choose(running: Sequence[Restart], n_best: int) -> list[Restart]:
    """Return the restarts of least inertia, in the order of their numbers."""
    left, best = list(running), []
    for _ in range(n_best):
        best.append(left.pop(first_of_least([restart.found.inertia for restart in left])))
    return sorted(best, key=lambda restart: restart.index)


def _begin(
    problem: Problem, centers: Floats, index: int, limit: int, effort: Effort, log: Journal
) -> Clustering:
    plateau = Plateau(log.report, effort.inertia_tol)
    found = run_lloyd(problem, centers, max_iter=limit, tol=effort.tol, on_pass=plateau)
    return _finish(problem, _settle(found, plateau), index, limit, effort, log)


def _go_on(problem: Problem, restart: Restart, limit: int, effort: Effort, log: Journal) -> Restart:
    """Continue a restart up to ``limit`` passes in all, as if it had never paused."""
    start = restart.clustering
    done = start.n_iter
    if log.stopped:
        return restart
    with log.step("cluster", effort.max_iter, restart.index):
        if not start.converged and done < limit:
            plateau = Plateau(
                lambda passes, inertia: log.report(done + passes, inertia),
                effort.inertia_tol,
                start.inertia,
            )
            more = run_lloyd(
                problem,
                start.centers,
                max_iter=limit - done,
                tol=effort.tol,
                start=start,
                on_pass=plateau,
            )
            history = start.history + more.history
            more = replace(more, n_iter=len(history), history=history)
            start = _settle(more, plateau)
        found = _finish(problem, start, restart.index, limit, effort, log)
        return Restart.keep(restart.index, found)


def _mend(problem: Problem, restart: Restart, effort: Effort, log: Journal) -> Restart:
    """Let a restart breathe as long as that pays."""
    if math.isinf(effort.least_breath) or log.stopped:
        return restart

    def solve(
        centers: Floats, *, max_iter: int, on_pass: OnPass, start: Clustering | None = None
    ) -> Clustering:
        plateau = Plateau(on_pass, 0.0 if start is None else effort.inertia_tol)
        found = run_lloyd(
            problem, centers, max_iter=max_iter, tol=effort.tol, start=start, on_pass=plateau
        )
        return _settle(found, plateau)

    with log.step("cluster", effort.max_iter, restart.index):
        found = breathe(
            problem,
            restart.clustering,
            solve,
            open_stream(effort.key, LOCAL_SEARCH, restart.index),
            max_iter=effort.max_iter,
            on_pass=log.report,
            least_gain=effort.least_breath,
        )
        return Restart.keep(restart.index, found)


def _settle(found: Clustering, plateau: Plateau) -> Clustering:
    return replace(found, converged=True) if plateau.reached else found


def _finish(
    problem: Problem, found: Clustering, index: int, limit: int, effort: Effort, log: Journal
) -> Clustering:
    """Do what the solver does after Lloyd, where the restart runs to its end."""
    if effort.solver == "lloyd" or limit < effort.max_iter or log.stopped:
        return found
    plateau = Plateau(log.report, effort.inertia_tol, found.inertia)
    if effort.solver == "hartigan":
        better = move_single_points(problem, found, max_iter=effort.max_iter, on_pass=plateau)
        return _settle(better, plateau)
    stream = open_stream(effort.key, LOCAL_SEARCH, index)
    solve = partial(run_lloyd, problem, tol=effort.tol)
    # Breaths that gain nothing are part of breathing: no tolerance on inertia ends it.
    return breathe(problem, found, solve, stream, max_iter=effort.max_iter, on_pass=log.report)
