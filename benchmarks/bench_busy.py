"""Time fits of small and ordinary data on an idle machine and beside busy processes.

Run ``python benchmarks/bench_busy.py [--quick]``; it writes results/busy.json. Two processes run a
loop without end. The machine must be idle otherwise. Systems take turns with the same keys; a
time is the median over keys, because the best of some runs would hide waiting.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from measuring import store_results
from numpy.typing import NDArray
from provenance import Origin
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris

from projected_kmeans import ProjectedKMeans, _native

N_BUSY = 2
SMALL_KEYS, LARGE_KEYS = 20, 3

Fit = Callable[[NDArray[Any], int, int], Any]
SYSTEMS: Mapping[str, Fit] = {
    "projected_kmeans": lambda X, k, key: ProjectedKMeans(k, random_state=key).fit(X),
    "scikit-learn, n_init=10": lambda X, k, key: KMeans(k, n_init=10, random_state=key).fit(X),
}


def load_data(*, quick: bool = False) -> dict[str, tuple[NDArray[Any], int, int]]:
    """Return rows, the number of clusters and the number of keys by title."""
    stream = np.random.default_rng(0)
    n = 1000 if quick else 10_000
    means = stream.normal(size=(20, 64))
    mixture = means[stream.integers(20, size=n)] + stream.normal(size=(n, 64))
    small, large = (2, 1) if quick else (SMALL_KEYS, LARGE_KEYS)
    return {
        "iris": (load_iris().data, 3, small),
        "load_digits": (load_digits().data, 10, small),
        "mixture": (mixture.astype(np.float32), 20, large),
    }


@contextmanager
def keep_busy(n_processes: int) -> Iterator[None]:
    """Run processes that use a processor each."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_processes)
    ]
    try:
        time.sleep(0.5 if loops else 0.0)
        yield
    finally:
        for process in loops:
            process.kill()
            process.wait()


def time_fits(X: NDArray[Any], n_clusters: int, n_keys: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds and the inertia of every system with every key; systems take turns."""
    found: dict[str, dict[str, list[float]]] = {
        name: {"seconds": [], "inertia": []} for name in SYSTEMS
    }
    for fit in SYSTEMS.values():
        fit(X, n_clusters, 0)  # loads what a first fit loads
    for key in range(n_keys):
        for name, fit in SYSTEMS.items():
            start = time.perf_counter()
            model = fit(X, n_clusters, key)
            found[name]["seconds"].append(time.perf_counter() - start)
            found[name]["inertia"].append(float(model.inertia_))
    return found


def bench_busy(data: Mapping[str, tuple[NDArray[Any], int, int]]) -> list[dict[str, Any]]:
    """Return one entry for every data set and system."""
    idle, busy = (
        {title: time_fits(*work) for title, work in _under_load(data, n)} for n in (0, N_BUSY)
    )
    return [
        {
            "data": title,
            "shape": list(X.shape),
            "n_clusters": n_clusters,
            "n_keys": n_keys,
            "system": name,
            "idle_seconds": statistics.median(idle[title][name]["seconds"]),
            "busy_seconds": statistics.median(busy[title][name]["seconds"]),
            "longest_busy_seconds": max(busy[title][name]["seconds"]),
            "median_inertia": statistics.median(idle[title][name]["inertia"]),
            "highest_inertia": max(idle[title][name]["inertia"]),
        }
        for title, (X, n_clusters, n_keys) in data.items()
        for name in SYSTEMS
    ]


def _under_load(data: Mapping[str, Any], n_processes: int) -> Iterator[tuple[str, Any]]:
    """Yield the data sets while some processes are busy."""
    with keep_busy(n_processes):
        yield from data.items()


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="few keys and small data; stores nothing"
    )
    quick = parser.parse_args().quick
    origin = Origin.now()
    fits = bench_busy(load_data(quick=quick))
    document = {**origin.describe(_native.max_threads()), "n_busy": N_BUSY, "fits": fits}
    print(document["fits"] if quick else store_results("busy", document))


if __name__ == "__main__":
    main()
