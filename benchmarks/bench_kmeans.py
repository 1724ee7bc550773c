"""Time k-means on sketches beside FAISS, superkmeans, scikit-learn and scikit-learn-intelex.

Run ``python benchmarks/bench_kmeans.py``; ``render.py`` draws the page from results/kmeans.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from growth import bench_growth, can_measure_memory, measure_memory
from kmeans_tables import assignment_table, growth_table, memory_sentence, runs_table, seeding_table
from measuring import REST, Effort, store_results
from peers import MODULES, Rows, limit_threads, load_peers, open_flat_search
from provenance import Origin
from sketches import (
    DIGITS,
    draw_centers,
    find_digits,
    make_cloud,
    measure_inertia,
    open_problem,
    shift_digits,
    sketch_rows,
)
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits
from whole_runs import bench_whole_runs

from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.seeding import seed_centers

# Seconds of rest in a quick run, after which threads have mostly stopped spinning.
QUICK_REST = 0.05

# (t, k) of one pass, and the goal there: our speed divided by that of FAISS.
ASSIGNMENTS = {(32, 40): 1.5, (64, 100): 1.5, (64, 1000): 1.15, (128, 1000): 1.15}
RUNS = ((64, 100), (64, 1000), (128, 100), (128, 1000))
SEEDS = {"n": 100_000, "t": 64, "k": 1000}


def bench_assignment(
    n: int, sizes: Mapping[tuple[int, int], float], absent: Mapping[str, str], effort: Effort
) -> list[dict[str, Any]]:
    """Time one assignment pass; ours also finds the distance to the second nearest center."""
    rows = []
    for (t, k), goal in sizes.items():
        sketch = make_cloud(n, t)
        centers = draw_centers(sketch, k)
        works = assignment_works(sketch, centers, absent, effort.n_threads)
        for name, seconds in effort.time(works).items():
            rows.append({"n": n, "t": t, "k": k, "system": name, "seconds": seconds, "goal": goal})
    return rows


def assignment_works(
    sketch: Rows, centers: Rows, absent: Mapping[str, str], n_threads: int
) -> dict[str, Callable[[], object]]:
    """Return one assignment pass of each system that offers it."""
    problem = open_problem(sketch, n_threads)
    labels = np.zeros(len(sketch), dtype=np.int32)
    points = centers.astype(np.float64)
    works: dict[str, Callable[[], object]] = {
        "projected_kmeans": partial(problem.assign, points, labels, keep_ties=False),
        "scikit-learn": partial(pairwise_distances_argmin, sketch, centers),
    }
    if "faiss-cpu" not in absent:
        works["FAISS"] = partial(open_flat_search(centers), sketch)
    return works


def bench_seeding(sketches: Mapping[str, Rows], k: int, effort: Effort) -> list[dict[str, Any]]:
    """Time greedy k-means++ beside one iteration, and compare its inertia with scikit-learn's."""
    rows = []
    for name, sketch in sketches.items():
        problem = open_problem(sketch, effort.n_threads)
        first = draw_centers(sketch, k).astype(np.float64)
        lloyd = {"first": partial(run_lloyd, problem, first, max_iter=1)}
        iteration = effort.time(lloyd)["first"]
        size = {"rows": name, "n": len(sketch), "t": sketch.shape[1], "k": k}
        rows += [
            {**size, "system": system, **time_seeding(sketch, *work), "iteration": iteration}
            for system, work in seeding_works(problem, sketch, k, effort).items()
        ]
    return rows


def seeding_works(
    problem: Problem, sketch: Rows, k: int, effort: Effort
) -> dict[str, tuple[Effort, Callable[[int], Any]]]:
    """Return how often and how each system seeds; scikit-learn is slow and seeds once."""
    return {
        "projected_kmeans": (
            effort,
            lambda key: seed_centers("k-means++", problem, k, open_stream(key, SEEDING)),
        ),
        "scikit-learn": (
            replace(effort, repeats=1),
            lambda key: kmeans_plusplus(sketch, k, random_state=key)[0],
        ),
        "random rows": (effort, lambda key: draw_centers(sketch, k, key)),
    }


def time_seeding(sketch: Rows, effort: Effort, seed: Callable[[int], Any]) -> dict[str, float]:
    """Return the minimum time of a seeding over several keys, and its mean inertia."""
    seconds, inertia = [], []
    for key in range(effort.repeats):
        time.sleep(effort.rest)
        start = time.perf_counter()
        centers = seed(key)
        seconds.append(time.perf_counter() - start)
        inertia.append(measure_inertia(sketch, centers))
    return {"seconds": min(seconds), "inertia": float(np.mean(inertia))}


def open_seeding_rows(n: int, t: int, shrink: int) -> dict[str, Rows]:
    """Return the rows to seed: a cloud, and digits if their file is there."""
    sketches = {"cloud": make_cloud(n // shrink, t)}
    path = find_digits()
    if path is not None:
        sketches["digits"] = sketch_rows(shift_digits(path, 10, n // shrink // 10), t)
    return sketches


def bench_digits(absent: Mapping[str, str], effort: Effort, quick: bool) -> dict[str, Any]:
    """Time whole runs on sketches of digits, or say that their file is missing."""
    path = find_digits()
    if path is None:
        return {"no_runs": f"Whole runs need {DIGITS}; set PROJECTED_KMEANS_DATA to its folder."}
    digits = shift_digits(path, 9, 1000 if quick else None)
    return {"runs": bench_whole_runs(digits, RUNS[:1] if quick else RUNS, absent, effort)}


def run_all(effort: Effort, quick: bool, parts: Sequence[str]) -> dict[str, Any]:
    """Measure the chosen parts; return the document to store."""
    absent = load_peers()
    shrink = 10 if quick else 1
    few = replace(effort, repeats=min(effort.repeats, 3))  # for work that takes many seconds
    found: dict[str, Any] = {"absent": list(absent.values())}
    limit_threads(effort.n_threads, absent)
    with threadpool_limits(effort.n_threads):
        if "assignment" in parts:
            found["assignment"] = bench_assignment(100_000 // shrink, ASSIGNMENTS, absent, effort)
            print(assignment_table(found["assignment"]), flush=True)
        if "runs" in parts:
            found |= bench_digits(absent, effort, quick)
            print(runs_table(found["runs"]) if "runs" in found else found["no_runs"], flush=True)
        if "seeding" in parts:
            sketches = open_seeding_rows(SEEDS["n"], SEEDS["t"], shrink)
            found["seeding"] = bench_seeding(sketches, SEEDS["k"] // shrink, few)
            print(seeding_table(found["seeding"]), flush=True)
        if "growth" in parts:
            found["growth"] = bench_growth(few, shrink)
            print(growth_table(found["growth"]), flush=True)
            if can_measure_memory():
                found["memory"] = measure_memory(effort.n_threads, shrink)
                print(*memory_sentence(found), flush=True)
    return found


def main() -> None:
    """Run all cases and store them."""
    parts = ("assignment", "runs", "seeding", "growth")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--quick", action="store_true", help="measure a tenth of the rows; stored with --out only"
    )
    parser.add_argument("--only", choices=parts, action="append", help="measure this part only")
    parser.add_argument("--out", type=Path, default=None, help="folder of the JSON")
    options = parser.parse_args()
    effort = Effort(options.threads, options.repeats, REST)
    if options.quick:
        effort = Effort(options.threads, min(options.repeats, 2), QUICK_REST)
    origin = Origin.now()
    found = run_all(effort, options.quick, options.only or parts)
    document = {
        "benchmark": "kmeans",
        **origin.describe(options.threads, tuple(MODULES)),
        "parameters": {"repeats": options.repeats, "quick": options.quick},
        **found,
    }
    # A partial run must not replace the stored results of a whole run.
    if options.out is not None or not (options.quick or options.only):
        print("stored in", store_results("kmeans", document, options.out).name)


if __name__ == "__main__":
    main()
