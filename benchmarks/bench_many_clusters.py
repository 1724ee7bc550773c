"""Time fits with thousands of clusters: the solver "cells", Lloyd's method over all centers, peers.

Run ``python benchmarks/bench_many_clusters.py [--quick] [--only WORDS ...]``; it writes
results/many_clusters.json. With --only, works or systems whose name has none of the words are left
as they were stored. Every system has all rows and the same threads, and gives a label for every
row, which counts. Each fit runs in a process of its own, because some systems crash, and may take
two minutes, or what --limit says. Inertia is that of the means of the labels in the original space,
computed here for all systems alike. Seconds are wall time; CPU seconds tell how much of it the
machine gave.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data_sets import NoData, Rows, make_digits
from measuring import RESULTS, store_results
from numpy.typing import NDArray
from provenance import Origin, join_rows, replace_rows
from separate_fits import TIME_LIMIT, Places, run_system, store

NAME = "many_clusters"
PEERS = ("superkmeans", "faiss-cpu")
QUICK_SHRINK = 40

# Groups around each place of a tree, and the deviation of rows from their group. The deviation of
# groups from their place is half that of places from the origin.
GROUPS_PER_PLACE, ROW_DEVIATION = 64, 0.4


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


# What the page calls a system, and its name in field_systems.py.
SYSTEMS: Mapping[str, str] = {
    "default": "projected_kmeans",
    'solver="lloyd"': 'projected_kmeans, solver="lloyd"',
    "superkmeans hierarchical": "superkmeans hierarchical",
    "FAISS Kmeans": "FAISS Kmeans",
}

# The most products n k d for which slow systems are run: they would take many minutes.
MAX_PRODUCTS = {'solver="lloyd"': 3e11, "FAISS Kmeans": 5e10}


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


def bench_work(rows: Rows, path: Path, work: Work, system: str, places: Places) -> dict[str, Any]:
    """Return what one system takes for one work, and what it finds, or why it failed."""
    entry: dict[str, Any] = {
        "rows": work.rows,
        "shape": rows.shape,
        "n_clusters": work.n_clusters,
        "system": system,
    }
    entry |= run_system(SYSTEMS[system], path, work.n_clusters, 0, places)
    if "failure" not in entry:
        labels = np.load(places.folder / "labels.npy")
        entry["inertia"] = measure_labels(rows, labels, work.n_clusters)
    return entry


def is_chosen(words: Sequence[str], work: Work, system: str) -> bool:
    """Return whether a fit is to be measured: all words are in its name, if there are any."""
    name = f"{work.rows}, {work.n_clusters}, {system}"
    return all(word in name for word in words)


def make_rows(name: str, shrink: int) -> Rows | None:
    """Return rows by their name, or None if their file is missing."""
    try:
        return ROWS[name](shrink)
    except NoData as absent:
        print(f"{name}: left out, because {absent}")
        return None


def bench_all(shrink: int, words: Sequence[str], places: Places) -> Iterator[dict[str, Any]]:
    """Yield an entry for every chosen work and system, one set of rows after another."""
    rows, made = None, ""
    for work in WORKS:
        n_clusters = max(2, work.n_clusters // shrink)
        for system in SYSTEMS:
            if not is_chosen(words, work, system):
                continue
            if made != work.rows:
                made, rows = work.rows, make_rows(work.rows, shrink)
                path = None if rows is None else store(rows, places.folder)
            if rows is None or path is None:
                continue
            products = float(rows.size) * n_clusters
            if products <= MAX_PRODUCTS.get(system, np.inf):
                entry = bench_work(rows, path, Work(work.rows, n_clusters), system, places)
                print(entry, flush=True)
                yield entry


def main() -> None:
    """Measure and store after each fit; a whole run leaves no fit of an earlier one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a fortieth of rows and clusters; stores nothing"
    )
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of fits")
    parser.add_argument("--limit", type=float, default=TIME_LIMIT, help="maximum seconds of a fit")
    options = parser.parse_args()
    n_threads, origin = len(os.sched_getaffinity(0)), Origin.now()
    path = RESULTS / f"{NAME}.json"
    nothing: dict[str, Any] = {"fits": []}
    stored = json.loads(path.read_text()) if path.is_file() else nothing
    shrink, fits = QUICK_SHRINK if options.quick else 1, []
    with tempfile.TemporaryDirectory() as folder:
        places = Places(Path(folder), {}, n_threads, options.limit)
        for entry in bench_all(shrink, options.only, places):
            fits.append(entry)
            if not options.quick:
                store_fits(stored, fits, origin.describe(n_threads, PEERS))
    if not (options.only or options.quick):
        store_fits(nothing, fits, origin.describe(n_threads, PEERS))
    print(path)


def store_fits(
    stored: Mapping[str, Any], fits: list[dict[str, Any]], described: Mapping[str, Any]
) -> None:
    """Write the fits that were measured so far, and those that are stored and not measured yet."""
    rows = replace_rows(stored["fits"], fits, ("rows", "n_clusters", "system"))
    store_results(NAME, {**join_rows(stored, rows, fits, described), "fits": rows})


if __name__ == "__main__":
    main()
