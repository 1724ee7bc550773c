"""Time whole runs of Lloyd's method beside peers: the same rows, first centers and passes.

``kmeans_tables.py`` draws the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from measuring import Effort
from peers import Rows, Runner, pick_runners
from sketches import draw_centers, measure_inertia, open_problem, sketch_rows

from projected_kmeans.passes.nearest import NearestSearch
from projected_kmeans.results import Clustering
from projected_kmeans.search import lloyd

N_PASSES = 25

# Two runs are equally good if their inertia differs by less than this share.
SAME = 1e-3

# Maximum number of our passes to reach the inertia of a peer.
MAX_PASSES = 300


def bench_whole_runs(
    digits: Rows,
    sizes: Sequence[tuple[int, int]],
    absent: Mapping[str, str],
    effort: Effort,
) -> list[dict[str, Any]]:
    """Time whole runs on sketches of the digits, for each (t, k)."""
    rows: list[dict[str, Any]] = []
    for t in sorted({t for t, _ in sizes}):
        sketch = sketch_rows(digits, t)
        for k in (k for size, k in sizes if size == t):
            runners = pick_runners(absent, k)
            rows += compare_runs(sketch, draw_centers(sketch, k), runners, effort)
    return rows


def compare_runs(
    sketch: Rows,
    centers: Rows,
    runners: Mapping[str, Runner],
    effort: Effort,
) -> list[dict[str, Any]]:
    """Time all systems over the same passes, then ours until it is as good as each peer."""
    found: dict[str, Any] = {}
    works = {
        name: partial(_keep, found, name, runner, sketch, centers, N_PASSES, effort.n_threads)
        for name, runner in runners.items()
    }
    works["projected_kmeans"] = partial(
        _keep, found, "projected_kmeans", run_ours, sketch, centers, N_PASSES, effort.n_threads
    )
    seconds = effort.time(works)
    inertia = {name: measure_inertia(sketch, ends) for name, ends in found.items()}
    size = {"n": len(sketch), "t": sketch.shape[1], "k": len(centers)}
    goals = {name: inertia[name] * (1 + SAME) for name in runners}
    more = reach_all(sketch, centers, goals, effort)
    more["projected_kmeans"] = {"distances": count_distances(sketch, centers, effort.n_threads)}
    return [
        {**size, "system": name, "seconds": seconds[name], "inertia": inertia[name], **more[name]}
        for name in works
    ]


def reach_all(
    sketch: Rows,
    centers: Rows,
    goals: Mapping[str, float],
    effort: Effort,
) -> dict[str, dict[str, Any]]:
    """Return the time and the passes of ours until it reaches the inertia of each peer."""
    found: dict[str, Clustering] = {}
    works = {
        name: partial(_keep, found, name, reach, sketch, centers, goal, effort.n_threads)
        for name, goal in goals.items()
    }
    seconds = effort.time(works)
    return {
        name: {
            "our_seconds": seconds[name] if found[name].inertia <= goal else None,
            "our_passes": found[name].n_iter,
        }
        for name, goal in goals.items()
    }


def run_ours(sketch: Rows, centers: Rows, n_passes: int, n_threads: int) -> Any:
    """Run Lloyd's method, starting from an array as the peers do."""
    problem = open_problem(sketch, n_threads)
    return lloyd.run_lloyd(problem, centers.astype(np.float64), max_iter=n_passes).centers


def reach(sketch: Rows, centers: Rows, goal: float, n_threads: int) -> Clustering:
    """Run Lloyd's method until its inertia is at most the goal."""
    problem = open_problem(sketch, n_threads)
    return lloyd.run_lloyd(
        problem,
        centers.astype(np.float64),
        max_iter=MAX_PASSES,
        on_pass=lambda _, inertia: inertia <= goal,
    )


def count_distances(sketch: Rows, centers: Rows, n_threads: int) -> float:
    """Return the share of all distances that our passes compute; bounds exclude the others.

    A pass that is undone, or that moves no row, counts, too.
    """
    problem = open_problem(sketch, n_threads)
    search = CountedSearch(problem, len(centers))
    lloyd.run_lloyd(problem, centers.astype(np.float64), max_iter=N_PASSES, search=search)
    return float(search.n_distances / search.n_assigned / len(sketch) / len(centers))


class CountedSearch(NearestSearch):
    """The search of Lloyd's method, which also counts its passes."""

    n_assigned = 0

    def assign(self, *arguments: Any, **options: Any) -> None:
        """Assign rows as usual and count the pass."""
        super().assign(*arguments, **options)
        self.n_assigned += 1


def _keep(found: dict[str, Any], name: str, work: Callable[..., Any], *arguments: Any) -> None:
    """Remember the last result of a work that is timed."""
    found[name] = work(*arguments)
