"""CLUSTER: one restart: Lloyd's method, and the local search of the solver after it.

Takes what a checkpoint knows of the restart; which restarts go on is decided elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.row_arrays import RowArray
from projected_kmeans.keys import LOCAL_SEARCH, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import is_partition
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.breathing import breathe
from projected_kmeans.solvers.resumable_solvers import move_to_plateau, run_to_plateau


@dataclass(frozen=True)
class Effort:
    """What a solver does for one restart, and when it ends.

    Attributes
    ----------
    solver : {"lloyd", "hartigan", "breathing"}
        What runs after Lloyd's method: nothing, single-point moves, or breathing.
    key : int
        What fixes the draws of breathing.
    max_iter : int
        Passes at most.
    tol : float
        Converged when the centers' squared shift is at most this.
    inertia_tol : float
        Converged when a pass lowers the inertia by less than this share.
    min_breathing_gain : float
        The best restarts breathe as long as each breath lowers the inertia by at least this share;
        infinity for no breath, and 0 for breaths until none gains anything.
    momentum : float
        How far ahead of the means passes look, as a share of their last step (`Lloyd`).
    n_finalists : int
        How many of the best restarts breathe and are returned, if they compete on all rows.
    """

    solver: str
    key: int
    max_iter: int
    tol: float
    inertia_tol: float
    min_breathing_gain: float = math.inf
    momentum: float = 0.0
    n_finalists: int = 3


@dataclass(frozen=True)
class Restart:
    """One restart and what it has found.

    Its labels are stored in the narrowest integers that can hold k, so that many fit in memory. If
    they lie on the workers of a cluster, they stay there as they are.
    """

    index: int
    found: Clustering
    labels: NDArray[Any]

    @classmethod
    def pack(cls, index: int, found: Clustering) -> Restart:
        """Return a restart with its labels in narrow integers."""
        narrow, labels = np.min_scalar_type(len(found.mass) - 1), found.labels
        packed = labels if isinstance(labels, RowArray) else labels.astype(narrow)
        return cls(index, replace(found, labels=np.empty(0, np.int32)), packed)

    def fits(self, index: int, shape: tuple[int, int], n_clusters: int) -> bool:
        """Return whether this can be a restart on rows of that shape, in case it was stored."""
        whole = self.labels.dtype.kind in "iu" and self.labels.dtype.itemsize <= 4
        return self.index == index and whole and is_partition(self.clustering, shape, n_clusters)

    @property
    def clustering(self) -> Clustering:
        """What was found, with labels of int32."""
        labels: Any = self.labels
        beside_rows = isinstance(labels, RowArray)
        return replace(self.found, labels=labels if beside_rows else labels.astype(np.int32))


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
            fits = partial(is_partition, shape=self.problem.source.shape, n_clusters=len(centers))
            found = run.recall(f"{name}-lloyd", Clustering, fits) if to_the_end else None
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
                    momentum=effort.momentum,
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
        """Continue a restart up to ``limit`` passes in all.

        Without momentum it goes on as if it had never paused. With it, the first pass looks at the
        means.
        """
        if self.run.monitor.stopped:
            return restart
        name = f"restart-{restart.index}-round-{n_rounds}"
        known = self._recall(name, restart)
        if known is not None:
            return known
        start = restart.clustering
        found = self.advance(restart.index, start.centers, limit, name, start)
        later = Restart.pack(restart.index, found)
        self.run.keep(name, later)
        return later

    def mend(self, restart: Restart) -> Restart:
        """Let a restart breathe as long as each breath gains enough."""
        effort, run = self.effort, self.run
        if math.isinf(effort.min_breathing_gain) or run.monitor.stopped:
            return restart
        name = f"restart-{restart.index}-mended"
        known = self._recall(name, restart)
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
                momentum=effort.momentum,
                on_pass=run.monitor.report,
            )
        mended = Restart.pack(restart.index, found)
        run.keep(name, mended)
        return mended

    def _recall(self, name: str, before: Restart) -> Restart | None:
        """Return what an earlier run has made of a restart, if it was stored."""
        shape, n_clusters = self.problem.source.shape, len(before.found.mass)
        fits = partial(Restart.fits, index=before.index, shape=shape, n_clusters=n_clusters)
        return self.run.recall(name, Restart, fits)

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
