"""CLUSTER: local search after Lloyd's method: add a few centers, then remove as many others.

Decides which centers come and go; the passes in between are Lloyd's.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels, OnPass
from projected_kmeans.running.monitor import Plateau
from projected_kmeans.solvers.dropped_centers import find_spare_centers
from projected_kmeans.solvers.lloyd import run_lloyd

# Centers that are added and removed by the first breath, as in Fritzke's experiments.
DEPTH = 5

# Passes after centers were added, and after others were removed. On a sketch of digits, 5 passes
# each gained 0.31 % in 370 passes, 10 and 20 passes gained 0.38 % in 850.
SHORT = 5


def breathe(
    problem: Problem,
    start: Clustering,
    stream: np.random.Generator,
    *,
    max_iter: int,
    tol: float = 0.0,
    inertia_tol: float = 0.0,
    momentum: float = 0.0,
    min_gain: float = 0.0,
    on_pass: OnPass | None = None,
) -> Clustering:
    """Improve a partition by breathing (Fritzke 2020): add centers, run Lloyd, remove as many.

    Centers are added at rows drawn by their squared distance from the present ones, as in LS++
    (Lattanzi, Sohler 2019). After a few passes of Lloyd's method the centers that cost least are
    removed, no two neighbours at once. If the inertia is lower after a few further passes, the
    result is kept; if not, the next breath adds one center less, from 5 down to none. In the end
    Lloyd's method runs until it converges.

    Parameters
    ----------
    problem : Problem
        The rows and what belongs to them.
    start : Clustering
        A partition with its means; its passes count as done.
    stream : numpy.random.Generator
        Where the draws come from.
    max_iter : int
        Passes at most, those of ``start`` included.
    tol : float, default=0.0
        As in `Lloyd`, for all passes.
    inertia_tol : float, default=0.0
        The last passes have converged when one lowers the inertia by less than this share of it.
    momentum : float, default=0.0
        As in `Lloyd`, for the last passes.
    min_gain : float, default=0.0
        Breathing ends with the first breath that lowers the inertia by less than this share. One
        breath mends one misplaced center; where none is misplaced, one breath is all that is spent.
    on_pass : callable, optional
        Called with (passes done, lowest inertia so far) after each pass; True stops.

    Returns
    -------
    Clustering
        Its inertia never exceeds that of ``start``.
    """
    breathing = _Breathing(problem, start, stream, max_iter, tol, on_pass)
    depth = min(DEPTH, len(start.centers))
    while depth > 0 and breathing.n_left > 2:  # at least one pass each to draw, add and remove
        best = breathing.best
        found = breathing.breathe_once(depth, from_largest=min_gain > 0)
        if found is None:
            break
        gain = best.inertia - found.inertia
        last = min_gain > 0 and gain < min_gain * best.inertia
        depth = 0 if last else depth - (not gain > 0)
        if found.inertia < best.inertia:
            breathing.best = found
    breathing.converge(inertia_tol, momentum)
    history = tuple(breathing.history)
    converged = depth == 0 and breathing.best.converged and not breathing.stopped
    return replace(breathing.best, n_iter=len(history), converged=converged, history=history)


class _Breathing:
    """The best partition so far, and the passes that were made: how many are left, who stopped."""

    def __init__(
        self,
        problem: Problem,
        start: Clustering,
        stream: np.random.Generator,
        max_iter: int,
        tol: float,
        on_pass: OnPass | None,
    ) -> None:
        self.best = start
        self.history = list(start.history)
        self.stopped = False
        self._problem, self._stream, self._tol = problem, stream, tol
        self._max_iter, self._on_pass = max_iter, on_pass

    @property
    def n_left(self) -> int:
        """How many passes may still be made."""
        return 0 if self.stopped else self._max_iter - len(self.history)

    def breathe_once(self, depth: int, *, from_largest: bool) -> Clustering | None:
        """Return the partition after one breath; None if no row can be added or passes ran out."""
        problem, best = self._problem, self.best
        labels = best.labels.copy()
        far = problem.assign(best.centers, labels, keep_ties=True).nearest
        if self._count_pass():
            return None
        chances = far if problem.weights is None else far * problem.weights
        if from_largest:
            rows = draw_in_largest(self._stream, chances, np.asarray(labels), depth)
        else:
            rows = draw_anywhere(self._stream, chances, depth)
        if not len(rows):
            return None
        centers = np.concatenate([best.centers, problem.source.take(rows)])
        more = self._run_short(centers, self._count_pass)
        if self.n_left < 1:
            return None
        stays = np.ones(len(more.centers), dtype=bool)
        stays[find_spare_centers(problem, more.centers, len(rows))] = False
        return self._run_short(more.centers[stays], self._count_or_give_up())

    def converge(self, inertia_tol: float, momentum: float) -> None:
        """Run Lloyd's method from the best partition until it converges or passes run out."""
        if self.n_left <= 0:
            return
        plateau = Plateau(self._note, inertia_tol)
        found = run_lloyd(
            self._problem,
            self.best.centers,
            max_iter=self.n_left,
            tol=self._tol,
            start=self.best,
            on_pass=plateau,
            momentum=momentum,
        )
        self.best = replace(found, converged=found.converged or plateau.reached)

    def _run_short(self, centers: Floats, on_pass: OnPass) -> Clustering:
        n_passes = max(1, min(SHORT, self.n_left - 1))
        return run_lloyd(self._problem, centers, max_iter=n_passes, tol=self._tol, on_pass=on_pass)

    def _count_or_give_up(self) -> OnPass:
        """Return what notes the last passes of a breath, and ends them where they are hopeless.

        Passes gain less and less. If the gain of the last pass, once more in every pass that is
        left, would not lead below the best inertia, the breath has failed.
        """
        before = math.inf

        def note(n_done: int, inertia: float) -> bool:
            nonlocal before
            gain, before = before - inertia, inertia
            hopeless = inertia - gain * (SHORT - n_done) >= self.best.inertia
            return self._count_pass() or hopeless

        return note

    def _count_pass(self, *_: float) -> bool:
        """Note a pass of a breath: the lowest inertia is still that of the best partition."""
        return self._note(0, self.best.inertia)

    def _note(self, _: int, inertia: float) -> bool:
        """Note a pass; return whether to stop."""
        self.history.append(inertia)
        if self._on_pass is not None and self._on_pass(len(self.history), inertia):
            self.stopped = True
        return self.stopped


def draw_anywhere(stream: np.random.Generator, chances: Floats, n_draws: int) -> NDArray[np.int64]:
    """Draw distinct rows with probability proportional to ``chances``.

    Returns fewer than ``n_draws`` if fewer rows have a chance.
    """
    n_draws = min(n_draws, int(np.count_nonzero(chances)))
    if n_draws == 0:
        return np.empty(0, dtype=np.int64)
    drawn = stream.choice(len(chances), n_draws, replace=False, p=chances / chances.sum())
    return np.asarray(drawn, dtype=np.int64)


def draw_in_largest(
    stream: np.random.Generator, chances: Floats, labels: Labels, n_draws: int
) -> NDArray[np.int64]:
    """Draw a row from each of the clusters with the highest inertia, which should be two."""
    sums = np.bincount(labels, weights=chances)
    largest = np.argsort(-sums, kind="stable")[:n_draws]
    drawn = []
    for cluster in largest[sums[largest] > 0]:
        members = np.flatnonzero(labels == cluster)
        drawn.append(stream.choice(members, p=chances[members] / chances[members].sum()))
    return np.array(drawn, dtype=np.int64)
