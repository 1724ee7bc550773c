"""Compare whole fits of this package with today's k-means systems: time against inertia.

Run ``python benchmarks/bench_field.py [--quick] [--only WORDS ...] [--python SYSTEM=PATH ...]``; it
writes results/field.json, and takes about 20 minutes on two processors. With --only, works or
systems whose name has none of the words are left as they were stored. A system that needs other
packages than the rest can have an interpreter of its own.

Every system has all rows and the same threads, and gives a label for every row, which counts. Each
fit runs in a process of its own, after a tiny fit that starts its threads, and may take two
minutes, or what --limit says. Inertia is that of the means of the labels in the original space,
computed here for all systems alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from data_sets import NoData, measure_partition
from field_data import WORKS
from field_systems import SYSTEMS
from measuring import RESULTS, store_results
from provenance import Origin, join_rows, replace_rows
from separate_fits import TIME_LIMIT, Places, run_system, store

NAME = "field"
QUICK_SHRINK = 40

# What tells fits apart.
FIELDS = ("work", "n_clusters", "system", "key")


def is_chosen(words: Sequence[str], work: str, n_clusters: int, system: str) -> bool:
    """Return whether a fit is to be measured: all words are in its name, if there are any."""
    return all(word in f"{work}, {n_clusters}, {system}" for word in words)


def bench_work(
    work: str, shrink: int, words: Sequence[str], keys: Sequence[int], places: Places
) -> list[dict[str, Any]]:
    """Return an entry for every fit of one set of rows."""
    counts = [max(2, k // shrink) for k in WORKS[work].n_clusters]
    chosen = [(k, name) for k in counts for name in SYSTEMS if is_chosen(words, work, k, name)]
    if not chosen:
        return []
    try:
        rows = WORKS[work].make(shrink)
    except NoData as absent:
        print(f"{work}: left out, because {absent}")
        return []
    sparse, path = scipy.sparse.issparse(rows), store(rows, places.folder)
    found: list[dict[str, Any]] = []
    size = rows.nnz if sparse else rows.size
    for n_clusters, name in chosen:
        system = SYSTEMS[name]
        if float(size) * n_clusters > system.max_products or (sparse and not system.sparse):
            continue
        for key in keys:
            entry: dict[str, Any] = {
                "work": work,
                "shape": [int(one) for one in rows.shape],
                "n_clusters": n_clusters,
                "system": name,
                "key": key,
            }
            entry |= run_system(name, path, n_clusters, key, places)
            if "failure" not in entry:
                labels = np.load(places.folder / "labels.npy")
                entry["normalized_inertia"] = measure_partition(rows, labels)
            print(entry, flush=True)
            found.append(entry)
            if "failure" in entry:
                break
    path.unlink()
    return found


def read_versions(pythons: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of the packages of systems that have an interpreter of their own."""
    program = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    found = {}
    for name, python in pythons.items():
        for package in SYSTEMS[name].packages:
            command = [python, "-c", program, package]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[package] = done.stdout.strip()
    return found


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a fortieth of rows and clusters; stores nothing"
    )
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of fits")
    parser.add_argument("--keys", type=int, default=1, help="fits of each system and work")
    parser.add_argument("--limit", type=float, default=TIME_LIMIT, help="maximum seconds of a fit")
    parser.add_argument("--python", nargs="*", default=(), help="SYSTEM=PATH of an interpreter")
    return parser.parse_args()


def name_fit(fit: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells a fit from others."""
    return tuple(fit[name] for name in FIELDS)


def find_place(fit: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what orders fits as they are measured; works and systems of earlier days come last."""
    places = {name: place for place, name in enumerate((*WORKS, *SYSTEMS))}
    work, system = (places.get(fit[name], len(places)) for name in ("work", "system"))
    return work, fit["n_clusters"], system, fit["key"]


def lacks_package(fit: Mapping[str, Any]) -> bool:
    """Return whether a fit failed because a package is not installed here."""
    return str(fit.get("failure", "")).startswith("ModuleNotFoundError")


def find_unmeasured(stored: Sequence[Any], fits: Sequence[Any]) -> list[dict[str, Any]]:
    """Return stored fits that cannot be measured here: rows or a package are missing."""
    works = {fit["work"] for fit in fits}
    lacking = {name_fit(fit) for fit in fits if lacks_package(fit)}
    return [
        fit
        for fit in stored
        if fit["work"] not in works or (name_fit(fit) in lacking and "failure" not in fit)
    ]


def store_fits(
    stored: Mapping[str, Any],
    fits: Sequence[dict[str, Any]],
    described: dict[str, Any],
    options: argparse.Namespace,
    *,
    whole: bool = False,
) -> Path:
    """Write the fits that were measured so far, and those that are stored and were not measured.

    At the end of a whole run, only what cannot be measured here stays of an earlier one.
    """
    unmeasured = find_unmeasured(stored["fits"], fits)
    known = {name_fit(fit) for fit in unmeasured}
    new = [fit for fit in fits if name_fit(fit) not in known]
    rows = replace_rows(unmeasured if whole else stored["fits"], new, FIELDS)
    rows.sort(key=find_place)
    origins = join_rows(stored, rows, new, described)
    return store_results(NAME, {**origins, "limit": options.limit, "fits": rows})


def main() -> None:
    """Measure and store after each work."""
    options = read_options()
    n_threads = len(os.sched_getaffinity(0))
    path = RESULTS / f"{NAME}.json"
    stored = json.loads(path.read_text()) if path.is_file() else {"fits": []}
    pythons = dict(one.split("=", 1) for one in options.python)
    shrink, fits = QUICK_SHRINK if options.quick else 1, []
    packages = sorted({name for system in SYSTEMS.values() for name in system.packages})
    origin, versions = Origin.now(), read_versions(pythons)

    def describe() -> dict[str, Any]:
        found = origin.describe(n_threads, packages)
        found["machine"]["versions"] |= versions
        return found

    with tempfile.TemporaryDirectory() as folder:
        places = Places(Path(folder), pythons, n_threads, options.limit)
        for work in WORKS:
            fits += bench_work(work, shrink, options.only, range(options.keys), places)
            if not options.quick:
                store_fits(stored, fits, describe(), options)
    if not (options.only or options.quick):
        store_fits(stored, fits, describe(), options, whole=True)
    print(path)


if __name__ == "__main__":
    main()
