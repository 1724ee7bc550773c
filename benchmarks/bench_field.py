"""Compare whole fits of this package with today's k-means systems: time against inertia.

Run ``python benchmarks/bench_field.py [--quick] [--only WORDS ...] [--python SYSTEM=PATH ...]``; it
writes results/field.json, and takes about 25 minutes on two processors. With --only, works or
systems whose name has none of the words are left as they were stored. A system that needs other
packages than the rest can have an interpreter of its own.

Every system has all rows and the same threads, and gives a label for every row, which counts. Each
fit runs in a process of its own, after a tiny fit that starts its threads, and may take two
minutes. Inertia is that of the means of the labels in the original space, computed here for all
systems alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from data_sets import NoData, Rows, measure_partition
from field_data import WORKS
from field_systems import SYSTEMS
from measuring import RESULTS, describe_machine, store_results

NAME = "field"
QUICK_SHRINK = 40

# Seconds after which a fit is given up.
TIME_LIMIT = 120.0


@dataclass(frozen=True)
class Places:
    """Where rows and labels are stored for the processes that fit, and the interpreters of these.

    Attributes
    ----------
    folder : Path
        For rows and labels.
    pythons : mapping
        From the name of a system to the interpreter that runs it, if that is not this one.
    n_threads : int
        Of every system.
    """

    folder: Path
    pythons: Mapping[str, str]
    n_threads: int


def store(rows: Rows, folder: Path) -> Path:
    """Write rows to a file; return it."""
    if scipy.sparse.issparse(rows):
        path = folder / "rows.npz"
        scipy.sparse.save_npz(path, rows, compressed=False)
    else:
        path = folder / "rows.npy"
        np.save(path, rows)
    return path


def run_system(name: str, rows: Path, n_clusters: int, key: int, places: Places) -> dict[str, Any]:
    """Return the costs of one fit, or why it failed; its labels lie in a file."""
    labels = places.folder / "labels.npy"
    labels.unlink(missing_ok=True)
    program = [
        places.pythons.get(name, sys.executable),
        str(Path(__file__).with_name("field_systems.py")),
        name,
        *(str(one) for one in (rows, labels, n_clusters, key, places.n_threads)),
    ]
    limit = str(places.n_threads)
    environment = {**os.environ, "OMP_NUM_THREADS": limit, "OPENBLAS_NUM_THREADS": limit}
    try:
        done = subprocess.run(
            program, capture_output=True, text=True, timeout=TIME_LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"more than {TIME_LIMIT:.0f} s"}
    if done.returncode < 0:
        return {"failure": f"ended by signal {-done.returncode}"}
    if done.returncode:
        return {"failure": name_error(done.stderr)}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def name_error(text: str) -> str:
    """Return the kind of error with which a process ended, and the module that it lacks, if any."""
    lines = text.strip().splitlines() or ["no message"]
    kind, _, rest = lines[-1].partition(":")
    return lines[-1] if kind == "ModuleNotFoundError" else kind + ("" if rest else " ended it")


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


def merge_results(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Return stored entries with those that were measured again replaced."""
    fields = ("work", "n_clusters", "system", "key")
    merged = {tuple(one[name] for name in fields): one for one in (*old, *new)}
    return list(merged.values())


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
    parser.add_argument("--quick", action="store_true", help="a fortieth of rows and clusters")
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of fits")
    parser.add_argument("--keys", type=int, default=1, help="fits of each system and work")
    parser.add_argument("--python", nargs="*", default=(), help="SYSTEM=PATH of an interpreter")
    return parser.parse_args()


def main() -> None:
    """Measure and store."""
    options = read_options()
    n_threads = len(os.sched_getaffinity(0))
    path = RESULTS / f"{NAME}.json"
    stored = json.loads(path.read_text())["fits"] if options.only and path.is_file() else []
    pythons = dict(one.split("=", 1) for one in options.python)
    shrink, fits = QUICK_SHRINK if options.quick else 1, []
    packages = sorted({name for system in SYSTEMS.values() for name in system.packages})
    machine = describe_machine(n_threads, packages)
    machine["versions"] |= read_versions(pythons)
    with tempfile.TemporaryDirectory() as folder:
        places = Places(Path(folder), pythons, n_threads)
        for work in WORKS:
            fits += bench_work(work, shrink, options.only, range(options.keys), places)
            document = {"machine": machine, "fits": merge_results(stored, fits)}
            store_results(NAME, document)
    print(path)


if __name__ == "__main__":
    main()
