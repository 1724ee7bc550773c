"""SEED, CLUSTER, LIFT, POLISH: one loop over levels, from few rows to all original rows.

Each level hands its centers to the next one, and the last level of the sketch its labels to the
original rows. What happens on a level is told in `level.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np

from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.documents import Shape
from projected_kmeans.keys import SUBSAMPLE, open_stream
from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.results import Clustering, Floats, Lifted
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.monitor import Stopped
from projected_kmeans.search.approach import Approach
from projected_kmeans.search.kmeans_plus_plus import OnCenter
from projected_kmeans.search.level import Effort, LevelSearch, search_level
from projected_kmeans.search.paper_solvers import move_to_plateau
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.seeding import FewRows, FirstCenters
from projected_kmeans.search.settling import Lift, lift_labels, settle

# A level of a sample ends when a pass gains less than this share of the inertia, because the last
# digits of a sample say nothing about all rows.
SAMPLE_TOL = 3e-4

# The number of the level of the original rows, by which draws differ from those of other levels.
ORIGINAL = 1000

# The level of all rows of the sketch has this many rounds of swaps at most: passes cost more there,
# and samples have had theirs.
SKETCH_ROUNDS = 6

# With limits of sizes passes end when one gains less than this share.
LIMITED_TOL = 1e-5

# Passes look ahead of the means by this share of their last step, unless the caller names the
# solver. Digits, mixtures and rows of few columns end up to .15 % lower in half as many passes.
# From 1.0 on, some passes look too far and fail.
MOMENTUM = 0.9


def first_of_lowest(values: list[float]) -> int:
    """Return the index of the lowest value; of values that are equal up to rounding, the first."""
    least = min(values)
    return next(i for i, value in enumerate(values) if value * (1 - 1e-12) <= least)


def search_sketch(
    recipe: Recipe, approach: Approach, original: Problem, sketch: Problem, run: Run
) -> Clustering:
    """Return the partition of the sketch that the levels lead to; that of another solver as it is.

    If the run is stopped before the level of all rows, that level still makes one pass.
    """
    known = run.recall("sketched", Clustering, sketch.sizes(recipe.n_clusters))
    if known is not None:
        return known
    if recipe.solve is not None:
        found = recipe.solve(sketch, run)
    else:
        levels = _Levels(recipe, approach, original, sketch, run)
        last = len(approach.level_rows) - 1
        found = levels.start()
        for number in range(1, last + 1):
            if number == last or not run.monitor.stopped:
                found = levels.go_on(found.centers, number)
        if approach.solver == "hartigan" and not run.monitor.stopped:
            found = levels.move_points(found)
        if recipe.limits is not None and not recipe.limits.hold(found.mass):
            found = levels.keep_limits(found, recipe.limits)
    run.keep("sketched", found)
    return found


@dataclass(frozen=True)
class _StoredCenters:
    """The first centers of a start, or those that a level hands to the next."""

    centers: Annotated[Floats, Shape(("clusters", "columns"))]


class _Levels:
    """The levels of the sketch, one after another."""

    def __init__(
        self, recipe: Recipe, approach: Approach, original: Problem, sketch: Problem, run: Run
    ) -> None:
        self._recipe, self._approach, self._run = recipe, approach, run
        self._original, self._sketch, self._last = original, sketch, len(approach.level_rows) - 1
        self._sizes = sketch.sizes(recipe.n_clusters)  # what stored arrays must have
        free = approach.swap_rounds > 0
        spherical = sketch.spherical
        self._effort = Effort(
            key=recipe.key,
            max_iter=recipe.max_iter,
            tol=0.0 if approach.solver == "hartigan" else recipe.tol * sketch.mean_variance,
            inertia_tol=approach.inertia_tol,
            n_near=approach.n_near,
            swap_rounds=approach.swap_rounds,
            momentum=MOMENTUM if free and not spherical else 0.0,
        )

    def start(self) -> Clustering:
        """Return the best of several starts on the first level."""
        approach, run, k = self._approach, self._run, self._recipe.n_clusters
        problem = draw_sample(self._sketch, approach.level_rows[0], self._recipe.key, 0)
        owner = None if self._last else "start-{}".format
        if approach.in_kernel:
            few = FewRows(problem, k, approach.n_init, self._recipe.max_iter, self._recipe.key)
            centers = self._draw(0, few.find_centers)
            level = LevelSearch(problem, centers, self._choose_effort(0), 0)
            return search_level(level, run, owner and owner(0))
        seeds = FirstCenters(self._recipe, self._original, problem, run.monitor)
        ended: list[Clustering] = []
        for index in range(approach.n_init):
            name = f"start-{index}"
            known = run.recall(name, Clustering, problem.sizes(k))
            if known is None:
                try:
                    centers = self._draw(index, partial(seeds.draw, index))
                except Stopped:
                    break
                level = LevelSearch(problem, centers, self._choose_effort(0), 0)
                found = search_level(level, run, owner and owner(index), start=index)
                run.keep(name, found)
            ended.append(known or found)
            if run.monitor.stopped:
                break
        return ended[first_of_lowest([each.inertia for each in ended])]

    def _draw(self, index: int, draw: Callable[[OnCenter], Floats]) -> Floats:
        """Return the first centers of a start; raise `Stopped` if the run ends before it begins."""
        run, name = self._run, f"seeding-{index}"
        stored = run.recall(name, _StoredCenters, self._sizes)
        if stored is None:
            with run.monitor.step("seed", self._recipe.n_clusters, index):
                # A stopped run still needs one result, so the first seeding is always finished.
                centers = draw(run.monitor.report_or_leave if index else run.monitor.report)
            stored = _StoredCenters(centers)
            run.keep(name, stored)
        return stored.centers

    def go_on(self, centers: Floats, number: int) -> Clustering:
        """Return what a further level makes of the centers of the one before."""
        run, name, is_last = self._run, f"level-{number}", number == self._last
        known = None if is_last else run.recall(name, _StoredCenters, self._sizes)
        if known is not None:
            return Clustering(np.empty(0, np.int32), known.centers, np.empty(0), 0.0, 0.0)
        n_rows = self._approach.level_rows[number]
        problem = draw_sample(self._sketch, n_rows, self._recipe.key, number)
        level = LevelSearch(problem, centers, self._choose_effort(number), number)
        found = search_level(level, run, name if is_last else None)
        if not is_last:
            run.keep(name, _StoredCenters(found.centers))
        return found

    def _choose_effort(self, number: int) -> Effort:
        effort = self._effort
        if number < self._last:
            return replace(effort, inertia_tol=max(effort.inertia_tol, SAMPLE_TOL))
        if self._run.monitor.stopped:
            return replace(effort, max_iter=1, swap_rounds=0)
        return replace(effort, swap_rounds=min(effort.swap_rounds, SKETCH_ROUNDS))

    def move_points(self, found: Clustering) -> Clustering:
        """Return what moves of single points make of a partition."""
        with self._run.monitor.step("cluster", self._recipe.max_iter):
            return move_to_plateau(
                self._sketch,
                found,
                self._run,
                "moves",
                max_iter=self._recipe.max_iter,
                inertia_tol=self._approach.inertia_tol,
            )

    def keep_limits(self, found: Clustering, limits: SizeLimits) -> Clustering:
        """Return a partition within limits of sizes, by the same search with another assignment."""
        run = self._run
        effort = replace(
            self._effort,
            n_near=0,
            momentum=0.0,
            inertia_tol=max(LIMITED_TOL, self._effort.inertia_tol),
            swap_rounds=min(self._effort.swap_rounds, SKETCH_ROUNDS),
        )
        if run.monitor.stopped:
            effort = replace(effort, max_iter=1, swap_rounds=0)
        centers, number = found.centers, len(self._approach.level_rows)
        n_rows = self._sketch.source.shape[0]
        for size in self._approach.level_rows:
            is_last = size == n_rows
            if not is_last and (run.monitor.stopped or self._sketch.weights is not None):
                continue
            problem = draw_sample(self._sketch, size, self._recipe.key, number)
            within = limits if is_last else limits.scale(size / n_rows)
            search = LimitedSearch(problem, within)
            level = LevelSearch(problem, centers, effort, number, search=search)
            found = search_level(level, run, f"limited-{size}" if is_last else None)
            centers, number = found.centers, number + 1
        return found


def draw_sample(problem: Problem, n_rows: int, key: int, number: int = 0) -> Problem:
    """Return some of the rows with weight, drawn uniformly, in memory; each keeps its weight.

    The problem itself is returned if so many rows are wanted as have weight.
    """
    weights, stream = problem.weights, open_stream(key, SUBSAMPLE, number)
    heavy = None if weights is None else np.flatnonzero(weights)
    n_heavy = problem.source.shape[0] if heavy is None else len(heavy)
    if n_rows >= n_heavy:
        return problem
    places = stream.choice(n_heavy, n_rows, replace=False)
    drawn = np.sort(places if heavy is None else heavy[places])
    source = open_blocks(problem.source.select(drawn))
    return replace(problem, source=source, weights=None if weights is None else weights[drawn])


def search_original(
    recipe: Recipe,
    approach: Approach,
    original: Problem,
    sketch: Problem,
    found: Clustering,
    run: Run,
) -> Lifted:
    """Return the partition of the sketch with its centers on the original rows, improved there.

    Without passes over the original rows labels stay: they are the paper's partition. Those of a
    solver of the caller stay too, because it may have aimed at something else, and so do labels
    within limits of sizes.
    """
    if sketch is original and approach.polish_iter == 0:
        if recipe.limits is not None or recipe.own_solver is not None:
            return Lifted(found, found)
        moves = approach.swap_rounds > 0 and found.converged
        return Lifted(found, settle(original, found, run, moves=moves))
    lift = Lift(found, None, None)
    if sketch is not original:
        n_rows = original.source.shape[0]
        with run.monitor.step("lift", n_rows, unit_bytes=original.source.stored_row_bytes):
            report = partial(_report_rows, run, n_rows)
            lift = lift_labels(original, found, report)
            run.monitor.report(n_rows, lift.found.inertia)
    if approach.polish_iter == 0 or run.monitor.stopped:
        return Lifted(found, lift.found)
    effort = _choose_original_effort(recipe, approach, original)
    pass_bytes = original.source.stored_row_bytes * original.source.shape[0]
    search = None if recipe.limits is None else LimitedSearch(original, recipe.limits)
    level = LevelSearch(
        original,
        lift.found.centers,
        effort,
        ORIGINAL,
        start=lift.found,
        search=search,
        sums=lift.sums,
        moments=lift.moments,
    )
    polished = search_level(level, run, "polish", step="polish", unit_bytes=pass_bytes)
    if recipe.limits is None:
        with run.monitor.step("polish", approach.polish_iter, unit_bytes=pass_bytes):
            polished = settle(
                original,
                polished,
                run,
                search=level.lloyd.search if level.lloyd.search.sees_all else None,
                sums=level.lloyd.sums,
                settled_at=level.lloyd.settled_at,
                moves=approach.polish_tol > 0 and approach.swap_rounds > 0,
                done=level.n_passes,
            )
    return Lifted(found, polished)


def _choose_original_effort(recipe: Recipe, approach: Approach, original: Problem) -> Effort:
    effort = Effort(
        key=recipe.key,
        max_iter=approach.polish_iter,
        inertia_tol=max(approach.inertia_tol, approach.polish_tol),
        n_near=approach.n_near // 2,
        swap_rounds=approach.swap_rounds if approach.polish_tol else 0,
        splits=False,
        # Centers ahead of the means have no length of one, and no prices for limits of sizes.
        momentum=MOMENTUM if approach.swap_rounds and not original.spherical else 0.0,
    )
    if recipe.limits is not None:
        return replace(effort, n_near=0, swap_rounds=0, momentum=0.0)
    settles = approach.polish_tol > 0 and effort.n_near == 0 and not original.spherical
    return replace(effort, settles=settles)


def _report_rows(run: Run, n_rows: int, done: int) -> None:
    if done < n_rows:
        run.monitor.report(done)
