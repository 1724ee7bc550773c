"""Measure how the time of one iteration grows with n, k and t, and the memory of a run.

Measures our own passes only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fit_process import forget_peak, peak_kilobytes
from measuring import Effort
from sketches import draw_centers, make_cloud, open_problem

from projected_kmeans.search.lloyd import run_lloyd

N_PASSES = 10

# The size that grows, the sizes that are fixed, and the values of the growing one.
SERIES = (
    ("n", {"t": 32, "k": 100}, (10_000, 100_000, 1_000_000)),
    ("k", {"n": 100_000, "t": 64}, (50, 100, 200, 400, 800)),
    ("t", {"n": 50_000, "k": 100}, (16, 32, 64, 128, 256)),
)
MEMORY = (1_000_000, 32, 100)


def bench_growth(effort: Effort, shrink: int) -> list[dict[str, Any]]:
    """Time the first pass, which computes all distances, and the mean of ten passes."""
    rows = []
    for name, fixed, values in SERIES:
        for value in values:
            size = {**fixed, name: value}
            size["n"] //= shrink
            seconds = time_iterations(size, effort)
            rows.append({"grows": name, **size, **seconds})
    return rows


def time_iterations(size: dict[str, int], effort: Effort) -> dict[str, float]:
    """Return the seconds of the first pass, and the mean seconds of ten passes."""
    sketch = make_cloud(size["n"], size["t"])
    problem = open_problem(sketch, effort.n_threads)
    centers = draw_centers(sketch, size["k"]).astype(np.float64)
    passes = {"first": 1, "mean": N_PASSES}
    works = {
        name: partial(run_lloyd, problem, centers, max_iter=number)
        for name, number in passes.items()
    }
    seconds = effort.time(works)
    return {name: seconds[name] / number for name, number in passes.items()}


def measure_memory(n_threads: int, shrink: int) -> dict[str, float]:
    """Return the peak of resident memory during a run, beyond the sketch, in bytes per row.

    The run has a process of its own, which returns freed memory to the system at once. Otherwise
    memory that was freed after making the sketch would hide some memory of the run.
    """
    command = [sys.executable, __file__, str(n_threads), str(shrink)]
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    output = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    n, t, k = MEMORY
    return {"n": n // shrink, "t": t, "k": k, "bytes_a_row": float(output)}


def run_in_memory(n_threads: int, shrink: int) -> float:
    """Return the growth of this process's peak memory in a run, in bytes per row."""
    n, t, k = MEMORY
    sketch = make_cloud(n // shrink, t)
    problem = open_problem(sketch, n_threads)
    centers = draw_centers(sketch, k).astype(np.float64)
    # Threads and libraries allocate memory once, whatever n is.
    run_lloyd(open_problem(sketch[:1000], n_threads), centers, max_iter=3)
    forget_peak()
    before = peak_kilobytes()
    run_lloyd(problem, centers, max_iter=N_PASSES)
    return (peak_kilobytes() - before) * 1024 / len(sketch)


def can_measure_memory() -> bool:
    """Return whether this system lets a process reset its peak of resident memory."""
    return Path("/proc/self/clear_refs").exists()


if __name__ == "__main__":
    print(run_in_memory(int(sys.argv[1]), int(sys.argv[2])))
