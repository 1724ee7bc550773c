"""CLUSTER, POLISH: the search on one level: passes of Lloyd's method, and swaps while they pay.

A level is a set of rows in one space: a sample of the sketch, all of the sketch, or the original
rows. One step of the search is a pass and what follows from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.documents import Count, NotNegative, Shape
from projected_kmeans.keys import SWAPS
from projected_kmeans.passes.center_graph import find_neighbours
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.nearest import NearestSearch, Search
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.sums import ClusterSums
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.running.checkpoint import RUNNING, Run
from projected_kmeans.search.lloyd import Lloyd, LloydState
from projected_kmeans.search.swaps import propose_swaps

# Swaps are proposed after a pass that lowers the inertia by less than this share.
SWAP_GAIN = 1e-2

# Swaps are made if they promise to lower the inertia by this share; on the original rows, where a
# round costs most and only far rows are left to be found, by the other one. There rounds end when
# one has gained less, because with few rows a cluster far rows promise more than they gain.
MIN_PROMISE, MIN_FAR_PROMISE = 1e-4, 1e-3

# Swaps that have not lowered the inertia after two passes are taken back. After two rounds that
# were taken back, no more swaps are proposed.
TRIAL_PASSES, MAX_FAILURES = 2, 2

# Where passes among near centers end, rows meet all centers once if that promises to lower the
# inertia by this share, as 2,048 rows tell that are tried.
MIN_MISSED, TRIED_ROWS = 2e-4, 2048

# Neighbours of a center that proposals of swaps look at, if rows meet all centers.
PROPOSED_NEIGHBOURS = 4

NO_LABELS: Labels = np.empty(0, np.int32)


@dataclass(frozen=True)
class Effort:
    """How a level is searched, and when the search ends."""

    key: int  # fixes the draws of swaps, together with the number of the level
    max_iter: int  # passes at most
    tol: float = 0.0  # converged when the centers' squared shift is at most this
    # Converged when a pass lowers the inertia by less than this share, and swaps pay no more.
    inertia_tol: float = 0.0
    n_near: int = 0  # centers that a row meets, those around its cluster; 0 for all
    swap_rounds: int = 0  # at most
    # Whether swaps may divide clusters in two. Otherwise clusters only part with single far rows,
    # which cost nothing to find: what a sketch shows was divided there.
    splits: bool = True
    momentum: float = 0.0  # how far ahead of the means passes look, as a share of their last step
    settles: bool = False  # whether labels of the first pass may be the final ones, see `Lloyd`


@dataclass(frozen=True)
class LevelState:
    """Where the search of a level stands after a step; it goes on from there to the same bits."""

    lloyd: LloydState  # the partition, which swaps may just have changed, and its sums
    n_passes: Count
    n_trial_passes: Count  # passes since the last swaps
    rounds_left: Count  # rounds of swaps that may still be made
    n_failures: Count  # rounds of swaps that were taken back
    # The partition before swaps that are on trial; empty if none are.
    labels_before: Annotated[Labels, Shape(("rows",), below="clusters", may_be_empty=True)]
    inertia_before: NotNegative | None  # that of ``labels_before``; None if no swaps are on trial
    looks_at_all: bool  # rows meet all centers in the next pass
    is_complete: bool  # rows need not meet all centers any more


class LevelSearch:
    """Passes of Lloyd's method over the rows of a level, with swaps of centers between them.

    Swaps that have not lowered the inertia after two passes are taken back. So the inertia that is
    reported falls from pass to pass. ``lloyd`` makes the passes and has their history.
    """

    def __init__(
        self,
        problem: Problem,
        centers: Floats,
        effort: Effort,
        number: int,
        *,
        start: Clustering | None = None,
        search: Search | None = None,
        sums: ClusterSums | None = None,
        moments: Moments | None = None,
    ) -> None:
        k = len(centers)
        self._problem, self._effort, self._number = problem, effort, number
        self._search = search or NearestSearch(problem, k, effort.n_near)
        self.lloyd = Lloyd(
            problem,
            centers,
            max_iter=effort.max_iter,
            tol=effort.tol,
            start=start,
            search=self._search,
            momentum=effort.momentum,
            sums=sums,
            moments=moments,
            settles=effort.settles,
        )
        self.max_iter = effort.max_iter
        self.sizes = problem.sizes(k)  # what arrays of a stored state must have
        self.n_passes, self._n_trial_passes, self._n_failures = 0, 0, 0
        self._is_complete = self._search.sees_all
        self._rounds_left = effort.swap_rounds if k > 1 else 0
        self._labels_before, self._inertia_before = NO_LABELS, math.inf
        self.ended = False
        if not self._rounds_left:
            self._stop_swapping()

    @property
    def inertia(self) -> float:
        """The lowest inertia so far."""
        return self._inertia_before if self.on_trial else self.lloyd.inertia

    @property
    def on_trial(self) -> bool:
        """Whether swaps were made of which it is not known yet whether they pay."""
        return len(self._labels_before) > 0

    def advance(self) -> None:
        """Make a pass and what follows from it: keep swaps or take them back, and make others."""
        lloyd, before = self.lloyd, self.lloyd.inertia
        lowest, n_before = self.inertia, len(lloyd.history)
        moved = lloyd.step()
        self.n_passes += 1
        self._n_trial_passes += 1
        gain = 1 - lloyd.inertia / before if moved and 0 < before < math.inf else float(moved)
        if self.on_trial:
            if moved or lloyd.inertia < lowest:  # the history tells the lowest inertia so far
                place = min(n_before, self._effort.max_iter - 1)
                lloyd.history[place:] = [min(lowest, lloyd.inertia)]
            if lloyd.inertia < lowest:
                self._labels_before = NO_LABELS
                if not self._effort.splits and 1 - lloyd.inertia / lowest < MIN_FAR_PROMISE:
                    self._stop_swapping()
            elif moved and self._n_trial_passes < TRIAL_PASSES:
                return
            else:
                self._take_back()
                return
        if len(lloyd.history) >= self._effort.max_iter:
            self.ended = True
            return
        if self._rounds_left and (gain < SWAP_GAIN or not moved) and self._swap():
            return
        slow = not moved or gain < self._effort.inertia_tol
        if not self._is_complete and not self._rounds_left and (slow or gain < MIN_MISSED):
            self._look_farther()
        self.ended = slow and self._is_complete

    def _look_farther(self) -> None:
        """Let rows meet all centers if they miss much because they met near ones only."""
        missed = estimate_missed(self._problem, self.lloyd.centers, self.lloyd.labels)
        self._is_complete = not missed > MIN_MISSED
        if not self._is_complete:
            self.lloyd.go_on()
            self._search.look_at_all()

    def _take_back(self) -> None:
        """Go back to the partition before the last swaps."""
        self.lloyd.relabel(self._labels_before)
        self._labels_before = NO_LABELS
        self._n_failures += 1
        if self._n_failures >= MAX_FAILURES:
            self._stop_swapping()

    def _stop_swapping(self) -> None:
        self._rounds_left = 0
        self._search.keep_lists()  # no center jumps any more

    def _swap(self) -> bool:
        """Move centers if that promises to gain enough; return whether any did."""
        lloyd, problem, moments = self.lloyd, self._problem, self.lloyd.describe()
        near, homes = self._search.measure(lloyd.labels, None if lloyd.made_pass else moments.means)
        neighbours = self._search.neighbours
        if neighbours is None:
            dtype = compute_type(problem.source.dtype)
            frame = Frame.around(moments.means, dtype, problem.ranges)
            wanted = min(len(moments.mass), PROPOSED_NEIGHBOURS)
            neighbours = find_neighbours(frame, wanted, problem.n_threads)
        path = (self._effort.key, SWAPS, self._number, self.n_passes)
        swaps = propose_swaps(
            problem,
            lloyd.labels,
            moments,
            near,
            homes,
            neighbours,
            path if self._effort.splits and not problem.source.sparse else None,
        )
        wanted_promise = MIN_PROMISE if self._effort.splits else MIN_FAR_PROMISE
        if swaps.labels is None or not swaps.promise > wanted_promise * lloyd.inertia:
            self._stop_swapping()
            return False
        self._rounds_left -= 1
        if not self._rounds_left:
            self._stop_swapping()
        self._n_trial_passes = 0
        self._labels_before, self._inertia_before = lloyd.labels.copy(), lloyd.inertia
        if self._search.follows_centers:
            lloyd.relabel(swaps.labels)
        else:  # these labels may break limits of sizes, but their means are places to begin at
            lloyd.start_at(problem.sum(swaps.labels, moments.means).means)
        return True

    def state(self) -> LevelState:
        """Return where the search stands. It is true until the next step begins."""
        return LevelState(
            self.lloyd.state(),
            self.n_passes,
            self._n_trial_passes,
            self._rounds_left,
            self._n_failures,
            self._labels_before,
            self._inertia_before if self.on_trial else None,
            self._search.looks_at_all,
            self._is_complete,
        )

    def resume(self, state: LevelState) -> bool:
        """Go on from a state of the same rows and parameters.

        Return False, and change nothing, if what the state says cannot be: it was forged.
        """
        last = state.lloyd.inertia if state.inertia_before is None else state.inertia_before
        on_trial, history = len(state.labels_before) > 0, state.lloyd.history
        if on_trial == (state.inertia_before is None):
            return False
        if history and (last is None or history[-1] < last):
            return False
        if not self.lloyd.resume(state.lloyd):
            return False
        self.n_passes, self._n_trial_passes = state.n_passes, state.n_trial_passes
        self._rounds_left, self._n_failures = state.rounds_left, state.n_failures
        self._labels_before = state.labels_before.copy()
        before = state.inertia_before
        self._inertia_before = math.inf if before is None else before
        if not self._rounds_left:
            self._stop_swapping()
        self._is_complete = state.is_complete
        if state.looks_at_all:
            self._search.look_at_all()
        return True

    def result(self) -> Clustering:
        """Return the best partition so far."""
        if self.on_trial:
            self.lloyd.relabel(self._labels_before)
            self._labels_before = NO_LABELS
        exhausted = len(self.lloyd.history) >= self._effort.max_iter
        converged = self.ended and (self.lloyd.converged or not exhausted)
        return replace(self.lloyd.result(), converged=converged)


def search_level(
    level: LevelSearch,
    run: Run,
    owner: str | None = None,
    *,
    step: str = "cluster",
    start: int = 0,
    unit_bytes: float = 0.0,
) -> Clustering:
    """Search a level to its end, or until the run is stopped; go on where a checkpoint has it.

    ``owner`` is the name under which the checkpoint stores states; None stores none. What a run
    does after it was stopped is not stored, because a run that goes on does something else. Passes
    are told to the monitor as units of ``step``.
    """
    monitor, checkpoint = run.monitor, run.checkpoint
    has_folder = checkpoint.folder is not None
    owner = owner if has_folder and not monitor.stopped else None
    with monitor.step(step, level.max_iter, start, unit_bytes=unit_bytes):
        state = None
        if owner is not None:
            state = checkpoint.recall(RUNNING, LevelState, level.sizes, owner=owner)
        if state is not None and not level.resume(state):
            checkpoint.refuse(RUNNING)
        elif state is not None:
            monitor.note("checkpoint: %s goes on after %d passes", owner, level.n_passes)
            monitor.skip(len(level.lloyd.history))
        while not level.ended:
            n_before = len(level.lloyd.history)
            level.advance()
            if has_folder:
                checkpoint.drop_running()  # a state that waits is not true any more
            if owner is not None and not level.ended:
                checkpoint.keep_running(owner, level.state())
            n_passes = len(level.lloyd.history)
            if n_passes > n_before and monitor.report(n_passes, level.lloyd.history[-1]):
                if owner is not None:
                    checkpoint.flush()
                break
    return level.result()


def estimate_missed(problem: Problem, centers: Floats, labels: Labels) -> float:
    """Return by which share the inertia would fall if all rows met all centers, by some rows."""
    n_rows = problem.source.shape[0]
    rows = np.arange(0, n_rows, max(1, n_rows // TRIED_ROWS))
    tried = replace(problem, source=open_blocks(problem.source.select(rows)), weights=None)
    present = labels[rows]
    mass = np.ones(len(rows)) if problem.weights is None else problem.weights[rows]
    nearest = present.copy()
    tried.label(centers, nearest)
    before = float(np.sum(mass * tried.distances(centers, present)))
    after = float(np.sum(mass * tried.distances(centers, nearest)))
    return 1 - after / before if before > 0 else 0.0
