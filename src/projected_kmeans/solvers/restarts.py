"""CLUSTER: several restarts on the sketch: they compete on a sample of its rows, or by halving.

Runs the solvers and compares inertias on the sketch; the finalists are judged elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import LOCAL_SEARCH, SUBSAMPLE, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.monitor import Stopped
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.breathing import breathe
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.solvers.resumable_solvers import move_to_plateau, run_to_plateau

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
    run: Run,
    sample: Problem | None = None,
) -> list[Clustering]:
    """Return the finalists among ``n_init`` restarts, in the order of their numbers.

    With a sample, restarts run on it, and the one with the lowest inertia there goes on with all
    rows, after breathing has mended its misplaced centers (`Effort.min_breathing_gain`).
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
    run : Run
        Told of every center and every pass. If it is stopped, the best restarts so far are the
        finalists. Its checkpoint knows what earlier runs found, and stores what is found now.
    sample : Problem, optional
        Some of the rows; ``seed`` must choose centers among them.
    """
    whole = first = Solver(problem, effort, run)
    limit = effort.max_iter
    if sample is not None:
        quick = replace(effort, inertia_tol=max(effort.inertia_tol, SUBSAMPLE_TOL))
        first = Solver(sample, quick, run)
    elif n_init > FINALISTS:
        limit = min(FIRST_PASSES, limit)
    running: list[Restart] = []
    for index in range(n_init):
        name = f"restart-{index}"
        restart = run.recall(name, Restart)
        if restart is None:
            try:
                centers = _draw_centers(seed, n_clusters, index, run)
            except Stopped:
                break
            restart = Restart.keep(index, first.advance(index, centers, limit, name))
            run.keep(name, restart)
        running.append(restart)
        if run.monitor.stopped:
            break
    if sample is None:
        return _halve(whole, running, limit)
    (best,) = _choose(running, 1)
    best = first.mend(best)
    return [whole.advance(best.index, best.found.centers, effort.max_iter, "all-rows")]


def _draw_centers(seed: Seed, n_clusters: int, index: int, run: Run) -> Floats:
    """Return the first centers of a restart; raise `Stopped` if the run ends before it begins."""
    name, monitor = f"seeding-{index}", run.monitor
    centers: Floats | None = run.recall(name, np.ndarray)
    if centers is None:
        with monitor.step("seed", n_clusters, index):
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
    return [solver.mend(restart).clustering for restart in running]


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


@dataclass(frozen=True)
class Solver:
    """What all restarts on the same rows share: the rows, how far to go, and the run."""

    problem: Problem
    effort: Effort
    run: Run

    def advance(
        self,
        index: int,
        centers: Floats,
        limit: int,
        name: str,
        start: Clustering | None = None,
    ) -> Clustering:
        """Run Lloyd's method, and after it the moves or breaths of the solver.

        Parameters
        ----------
        index : int
            Which restart.
        centers : ndarray of float64 (k, columns)
            Where it begins.
        limit : int
            Passes at most, those of ``start`` included. Moves and breaths are only made where this
            is all that the effort allows: a restart that will pause makes none.
        name : str
            Under which a checkpoint stores its state.
        start : Clustering, optional
            What earlier passes found, with ``centers`` as its means. It goes on as if it had never
            paused.
        """
        effort, run = self.effort, self.run
        to_the_end = effort.solver != "lloyd" and limit == effort.max_iter
        done = 0 if start is None else start.n_iter
        with run.monitor.step("cluster", effort.max_iter, index):
            found = run.recall(f"{name}-lloyd", Clustering) if to_the_end else None
            if found is None and start is not None and (start.converged or done >= limit):
                found = start
            elif found is None:
                found = run_to_plateau(
                    self.problem,
                    centers,
                    run,
                    name,
                    max_iter=limit - done,
                    inertia_tol=effort.inertia_tol,
                    tol=effort.tol,
                    start=start,
                    done=done,
                )
                history = (() if start is None else start.history) + found.history
                found = replace(found, n_iter=len(history), history=history)
                if to_the_end:
                    run.keep(f"{name}-lloyd", found)
            if to_the_end and not run.monitor.stopped:
                found = self._search(found, index, name)
        return found

    def go_on(self, restart: Restart, limit: int, n_rounds: int) -> Restart:
        """Continue a restart up to ``limit`` passes in all, as if it had never paused."""
        if self.run.monitor.stopped:
            return restart
        name = f"restart-{restart.index}-round-{n_rounds}"
        known = self.run.recall(name, Restart)
        if known is not None:
            return known
        start = restart.clustering
        found = self.advance(restart.index, start.centers, limit, name, start)
        later = Restart.keep(restart.index, found)
        self.run.keep(name, later)
        return later

    def mend(self, restart: Restart) -> Restart:
        """Let a restart breathe as long as each breath gains enough."""
        effort, run = self.effort, self.run
        if math.isinf(effort.min_breathing_gain) or run.monitor.stopped:
            return restart
        name = f"restart-{restart.index}-mended"
        known = run.recall(name, Restart)
        if known is not None:
            return known
        with run.monitor.step("cluster", effort.max_iter, restart.index):
            run.monitor.skip(restart.found.n_iter)
            found = breathe(
                self.problem,
                restart.clustering,
                open_stream(effort.key, LOCAL_SEARCH, restart.index),
                max_iter=effort.max_iter,
                tol=effort.tol,
                inertia_tol=effort.inertia_tol,
                min_gain=effort.min_breathing_gain,
                on_pass=run.monitor.report,
            )
        mended = Restart.keep(restart.index, found)
        run.keep(name, mended)
        return mended

    def _search(self, found: Clustering, index: int, name: str) -> Clustering:
        """Improve a partition by the local search of the solver."""
        effort, run = self.effort, self.run
        if effort.solver == "hartigan":
            return move_to_plateau(
                self.problem,
                found,
                run,
                f"{name}-moves",
                max_iter=effort.max_iter,
                inertia_tol=effort.inertia_tol,
            )
        # Breaths that gain nothing are part of breathing: no tolerance on inertia ends it.
        return breathe(
            self.problem,
            found,
            open_stream(effort.key, LOCAL_SEARCH, index),
            max_iter=effort.max_iter,
            tol=effort.tol,
            on_pass=run.monitor.report,
        )
