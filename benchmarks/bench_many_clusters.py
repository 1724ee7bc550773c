"""Time fits with thousands of clusters: the solver "cells", Lloyd's method over all centers, peers.

Run ``python benchmarks/bench_many_clusters.py [--quick] [--only WORDS ...]``; it writes
results/many_clusters.json. With --only, works or systems whose name has none of the words are left
as they were stored. Every system has all rows and the same threads, and gives a label for every
row, which counts. Inertia is that of the means of these labels in the original space, computed here
for all systems alike. Seconds are wall time; CPU seconds tell how much of it the machine gave.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from data_sets import Rows, make_digits
from measuring import RESULTS, describe_machine, store_results
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans

NAME = "many_clusters"
PEERS = ("superkmeans", "faiss-cpu")
QUICK_SHRINK = 40

# Groups around each place of a tree, and the deviation of rows from their group. The deviation of
# groups from their place is half that of places from the origin.
GROUPS_PER_PLACE, ROW_DEVIATION = 64, 0.4

Fit = Callable[[Rows, int, int], NDArray[Any]]


def make_tree(n: int, d: int, n_places: int) -> Rows:
    """Return rows around groups around places, with very unequal numbers of rows a group."""
    stream = np.random.default_rng(0)
    places = stream.standard_normal((n_places, 1, d), dtype=np.float32)
    spread = stream.standard_normal((n_places, GROUPS_PER_PLACE, d), dtype=np.float32)
    groups = (places + spread / 2).reshape(-1, d)
    sizes = stream.dirichlet(np.full(len(groups), 0.3))
    home = stream.choice(len(groups), n, p=sizes)
    rows = stream.standard_normal((n, d), dtype=np.float32)
    rows *= ROW_DEVIATION
    for first in range(0, n, 10_000):  # in parts, because a copy of the groups is large
        rows[first : first + 10_000] += groups[home[first : first + 10_000]]
    return rows


def make_noise(n: int, d: int) -> Rows:
    """Return rows of a normal distribution, which has no clusters."""
    return np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)


def make_tails(n: int, d: int) -> Rows:
    """Return rows of a multivariate t distribution with two degrees of freedom."""
    stream = np.random.default_rng(2)
    lengths = np.sqrt(stream.chisquare(2, (n, 1)) / 2)
    return (stream.standard_normal((n, d)) / lengths).astype(np.float32)


@dataclass(frozen=True)
class Work:
    """Rows, by the function that makes them for a factor by which they shrink, and clusters."""

    rows: str
    n_clusters: int


ROWS: Mapping[str, Callable[[int], Rows]] = {
    "tree 500,000 x 384": lambda shrink: make_tree(500_000 // shrink, 384, 128),
    "tree 200,000 x 256": lambda shrink: make_tree(200_000 // shrink, 256, 64),
    "shifted digits": make_digits,
    "noise 50,000 x 512": lambda shrink: make_noise(50_000 // shrink, 512),
    "heavy tails 50,000 x 300": lambda shrink: make_tails(50_000 // shrink, 300),
}

WORKS = (
    Work("tree 200,000 x 256", 4096),
    *(Work("tree 500,000 x 384", k) for k in (1000, 8192, 16_384, 65_536)),
    *(Work(name, k) for name in list(ROWS)[2:] for k in (500, 1000)),
)


def fit_default(rows: Rows, n_clusters: int, n_threads: int) -> NDArray[Any]:
    """Fit with all parameters as they are by default."""
    model = ProjectedKMeans(n_clusters, random_state=0, n_threads=n_threads)
    return np.asarray(model.fit(rows).labels_)


def fit_flat(rows: Rows, n_clusters: int, n_threads: int) -> NDArray[Any]:
    """Fit by Lloyd's method over all centers."""
    model = ProjectedKMeans(n_clusters, random_state=0, n_threads=n_threads, solver="lloyd")
    return np.asarray(model.fit(rows).labels_)


def fit_superkmeans(rows: Rows, n_clusters: int, n_threads: int) -> NDArray[Any]:
    """Fit by superkmeans in its hierarchical form, and label all rows."""
    import superkmeans

    model = superkmeans.SuperKMeans(
        n_clusters, rows.shape[1], hierarchical=True, n_threads=n_threads, seed=0
    )
    centers = model.train(rows)
    return np.asarray(model.assign_training_points(rows, centers))


def fit_faiss(rows: Rows, n_clusters: int, n_threads: int) -> NDArray[Any]:
    """Fit by FAISS's Kmeans with all rows and its usual 25 iterations, and label all rows."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    limits = {"max_points_per_centroid": len(rows), "min_points_per_centroid": 1}
    model = faiss.Kmeans(rows.shape[1], n_clusters, niter=25, seed=0, **limits)
    model.train(rows)
    return np.asarray(model.index.search(rows, 1)[1]).ravel()


SYSTEMS: Mapping[str, Fit] = {
    "default": fit_default,
    'solver="lloyd"': fit_flat,
    "superkmeans hierarchical": fit_superkmeans,
    "FAISS Kmeans": fit_faiss,
}

# The most products n k d for which slow systems are run: they would take many minutes.
MAX_PRODUCTS = {'solver="lloyd"': 2e12, "FAISS Kmeans": 5e10}


def measure_labels(rows: Rows, labels: NDArray[Any], n_clusters: int) -> float:
    """Return the inertia of a partition in float64, by its clusters one after another."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))
    total = 0.0
    for part in np.split(order, ends[:-1]):
        if len(part):
            inside = rows[part].astype(np.float64)
            total += float(np.sum((inside - inside.mean(axis=0)) ** 2))
    return total


def bench_work(rows: Rows, work: Work, system: str, n_threads: int) -> dict[str, Any]:
    """Return what one system takes for one work, and what it finds."""
    start, cpu = time.perf_counter(), time.process_time()
    labels = SYSTEMS[system](rows, work.n_clusters, n_threads)
    return {
        "rows": work.rows,
        "shape": rows.shape,
        "n_clusters": work.n_clusters,
        "system": system,
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "inertia": measure_labels(rows, labels, work.n_clusters),
    }


def is_chosen(words: Sequence[str], work: Work, system: str) -> bool:
    """Return whether a fit is to be measured: all words are in its name, if there are any."""
    name = f"{work.rows}, {work.n_clusters}, {system}"
    return all(word in name for word in words)


def bench_all(shrink: int, words: Sequence[str], n_threads: int) -> list[dict[str, Any]]:
    """Return an entry for every chosen work and system, one set of rows after another."""
    found, rows, made = [], None, ""
    for work in WORKS:
        n_clusters = max(2, work.n_clusters // shrink)
        for system in SYSTEMS:
            if not is_chosen(words, work, system):
                continue
            if made != work.rows:
                rows, made = ROWS[work.rows](shrink), work.rows
            assert rows is not None
            products = float(rows.size) * n_clusters
            if products <= MAX_PRODUCTS.get(system, np.inf):
                found.append(bench_work(rows, Work(work.rows, n_clusters), system, n_threads))
                print({name: found[-1][name] for name in ("rows", "n_clusters", "system")}, end=" ")
                print(f"{found[-1]['seconds']:.2f} s, inertia {found[-1]['inertia']:.5g}")
    return found


def merge_results(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Return stored entries with those that were measured again replaced."""
    merged = {(one["rows"], one["n_clusters"], one["system"]): one for one in (*old, *new)}
    return list(merged.values())


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fortieth of rows and clusters")
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of fits")
    options = parser.parse_args()
    n_threads = len(os.sched_getaffinity(0))
    path = RESULTS / f"{NAME}.json"
    stored = json.loads(path.read_text())["fits"] if options.only and path.is_file() else []
    fits = bench_all(QUICK_SHRINK if options.quick else 1, options.only, n_threads)
    document = {
        "machine": describe_machine(n_threads, PEERS),
        "fits": merge_results(stored, fits),
    }
    print(store_results(NAME, document))


if __name__ == "__main__":
    main()
