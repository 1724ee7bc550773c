"""Measure how low and how fast the default search ends, beside another build and beside peers.

    python benchmarks/bench_search.py [--before OTHER_CLONE/.venv/bin/python] [--only WORDS ...]

It writes results/search.json, and ``render.py`` draws it. The builds and the peers fit the same
rows on the same two threads with the same keys. Each has a process of its own that stays alive, and
they take turns, so that load of the machine affects all. Inertia is that of the means of the labels
in the original space, computed here for all systems alike. What cannot be measured stays as it was
stored: the other build without --before, rows without their file, peers that are not installed,
and with --only all fits whose names lack one of the words. F is the median inertia over that of the
other build, T the median seconds over its seconds; search_works.py has the goals.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from bench_many_clusters import measure_labels
from data_sets import NoData, Rows, measure_partition
from field_systems import SYSTEMS
from fit_server import FitServer, Request
from fit_systems import DEFAULT, OURS
from growth import can_measure_memory
from measured_fit import NotMeasured, Task, run_apart
from measuring import REST, RESULTS, store_results
from numpy.typing import NDArray
from provenance import Origin, describe, join_rows, read_commit, replace_rows
from search_goals import BEFORE, NOW, Goal, compare, judge, limit_memory, tell, tell_memory
from search_tables import render_search
from search_works import MEMORY_WORKS, N_KEYS, N_SMALL_KEYS, ROWS, WORKS, Work

NAME = "search"
N_THREADS = 2
PEERS = ("superkmeans",)
QUICK_SHRINK = 40

# What the two builds are called in field_systems.py.
BUILD = "projected_kmeans"
# The name by which --only chooses measurements of memory, and the most seconds of their fits.
MEMORY, MEMORY_SECONDS = "memory", 600.0


@dataclass(frozen=True)
class Run:
    """The processes that fit, by system, the folder of their files, and what is measured.

    ``build`` has the version and the commit of the other build, if there is one.
    """

    servers: Mapping[str, FitServer]
    folder: Path
    build: Mapping[str, Any] | None
    words: Sequence[str]
    quick: bool

    def chooses(self, work: Work, system: str) -> bool:
        """Return whether a fit is to be measured: its name has all words, if there are any."""
        name = f"{work.group}: {work.name}, {system}"
        known = system in self.servers or (system == MEMORY and work.name in MEMORY_WORKS)
        return known and all(word in name for word in self.words)

    def count_clusters(self, work: Work) -> int:
        """Return k, which is smaller in a quick run."""
        shrunk = self.quick and not work.small
        return max(2, work.n_clusters // QUICK_SHRINK) if shrunk else work.n_clusters

    def list_keys(self, work: Work) -> range:
        """Return the keys of the fits of a work."""
        return range(1 if self.quick else N_SMALL_KEYS if work.small else N_KEYS)


def measure_inertia(rows: Rows, labels: NDArray[Any], n_clusters: int) -> float:
    """Return the inertia of a partition of dense or sparse rows, in float64."""
    if scipy.sparse.issparse(rows):
        squares = float(np.sum(rows.data.astype(np.float64) ** 2))
        return measure_partition(rows, labels) * squares
    return measure_labels(rows, labels, n_clusters)


def make_rows(name: str, shrink: int) -> Rows | None:
    """Return rows by their name, or None if their file is missing."""
    try:
        return ROWS[name](shrink)
    except NoData as absent:
        print(f"{name}: left as stored, because {absent}", flush=True)
        return None


def store_rows(rows: Rows, folder: Path, number: int) -> Path:
    """Write rows to a file; return it."""
    sparse = scipy.sparse.issparse(rows)
    path = folder / f"rows-{number}.{'npz' if sparse else 'npy'}"
    if sparse:
        scipy.sparse.save_npz(path, rows, compressed=False)
    else:
        np.save(path, rows)
    return path


def describe_work(work: Work, rows: Rows, system: str, run: Run) -> dict[str, Any]:
    """Return what says of which fits an entry is."""
    entry = {
        "group": work.group,
        "work": work.name,
        "shape": [int(size) for size in rows.shape],
        "n_clusters": run.count_clusters(work),
        "system": system,
    }
    return {**entry, "build": run.build} if system == BEFORE else entry


def bench_work(work: Work, rows: Rows, path: Path, run: Run) -> list[dict[str, Any]]:
    """Return an entry for each chosen system: its seconds and its inertia with every key."""
    systems = [name for name in work.systems if run.chooses(work, name)]
    entries = {name: describe_work(work, rows, name, run) for name in systems}
    labels = run.folder / "labels.npy"
    for key in run.list_keys(work):
        for name in systems[:: -1 if key % 2 else 1]:
            entry = entries[name]
            if "failure" in entry:
                continue
            time.sleep(0.0 if run.quick else REST)
            system = BUILD if name in (NOW, BEFORE) else name
            request = Request(system, str(path), str(labels), entry["n_clusters"], key)
            costs = run.servers[name].fit(request)
            if "failure" in costs:
                entry |= costs
                continue
            costs["inertia"] = measure_inertia(rows, np.load(labels), entry["n_clusters"])
            for measure, value in costs.items():
                entry.setdefault(measure, []).append(value)
            entry.setdefault("keys", []).append(key)
    return list(entries.values())


def bench_memory(work: Work, rows: Rows, path: Path, run: Run) -> list[dict[str, Any]]:
    """Return the memory of a fit of this build beyond its rows, if it is to be measured."""
    if not run.chooses(work, MEMORY):
        return []
    if not can_measure_memory():
        print(f"{work.name}: memory left as stored, because this system does not tell a peak")
        return []
    entry = describe_work(work, rows, MEMORY, run)
    task = Task(str(path), entry["n_clusters"], OURS, DEFAULT, N_THREADS, MEMORY_SECONDS)
    try:
        found = run_apart(task, run.folder)
    except NotMeasured as problem:
        return [{**entry, "failure": str(problem)}]
    entry |= {name: found[name] for name in ("n_components", "extra_bytes")}
    n, d = entry["shape"]
    entry["limit_bytes"] = limit_memory(n, d, entry["n_clusters"], found["n_components"] or 0)
    entry["met"] = entry["extra_bytes"] <= entry["limit_bytes"]
    return [entry]


def bench_rows(
    works: Sequence[Work], number: int, run: Run
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the fits, and the memory, of all works on the same rows, which are made once."""
    chosen = [
        work for work in works if any(run.chooses(work, name) for name in (*work.systems, MEMORY))
    ]
    shrink = QUICK_SHRINK if run.quick else 1
    rows = make_rows(works[0].rows, shrink) if chosen else None
    fits: list[dict[str, Any]] = []
    memory: list[dict[str, Any]] = []
    if rows is None:
        return fits, memory
    path = store_rows(rows, run.folder, number)
    for work in chosen:
        new = bench_work(work, rows, path, run)
        fits += new
        peaks = bench_memory(work, rows, path, run)
        memory += peaks
        for line in tell_work(work, [*new, *peaks], fits):
            print(line, flush=True)
    path.unlink()
    return fits, memory


def tell_work(
    work: Work, new: Sequence[Mapping[str, Any]], fits: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return lines on the fits of a work that were just measured, among all on the same rows."""
    failures = [f"  {fit['system']} failed: {fit['failure']}" for fit in new if "failure" in fit]
    verdicts = judge_work(work, {(fit["work"], fit["system"]): fit for fit in fits})["goals"]
    known = [tell(one) for one in verdicts if one["found"] is not None]
    known += [tell_memory(one) for one in new if "extra_bytes" in one]
    return [f"{work.name}: {'; '.join(known) or 'no goal to compare with'}", *failures]


def judge_work(work: Work, fits: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    """Return F and T of a work, and its goals with what was found."""
    own, before = fits.get((work.name, NOW)), fits.get((work.name, BEFORE))
    goals = []
    for goal in work.goals:
        k = work.n_clusters if goal.n_clusters is None else goal.n_clusters
        other = fits.get((Work(work.group, work.rows, k, ()).name, goal.system or ""))
        goals.append(judge(goal, own, other))
    return {
        "group": work.group,
        "work": work.name,
        "F": compare(Goal("inertia", BEFORE, np.inf), own, before),
        "T": compare(Goal("seconds", BEFORE, np.inf), own, before),
        "goals": goals,
    }


def merge(stored: Iterable[dict[str, Any]], new: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return stored and new entries in the order of the works, without works that are gone."""
    places = {work.name: place for place, work in enumerate(WORKS)}
    rows = replace_rows(list(stored), list(new), ("work", "system"))
    return sorted(
        (row for row in rows if row["work"] in places), key=lambda row: places[row["work"]]
    )


def join(
    stored: Mapping[str, Any],
    fits: Sequence[dict[str, Any]],
    memory: Sequence[dict[str, Any]],
    described: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the document: what was measured so far, what is stored of others, and all verdicts."""
    rows, peaks = merge(stored.get("fits", ()), fits), merge(stored.get("memory", ()), memory)
    known = {(row["work"], row["system"]): row for row in rows}
    names = {row["work"] for row in rows}
    return {
        "benchmark": NAME,
        **join_rows(stored, [*rows, *peaks], [*fits, *memory], described),
        "works": [judge_work(work, known) for work in WORKS if work.name in names],
        "fits": rows,
        "memory": peaks,
    }


def start_servers(before: str | None, stack: ExitStack) -> dict[str, FitServer]:
    """Return a process for each system that can be measured, and say which cannot."""
    servers = {NOW: FitServer(sys.executable, N_THREADS)}
    if before is None:
        print("The other build is left as stored, because --before names no interpreter.")
    else:
        servers[BEFORE] = FitServer(before, N_THREADS)
    peers = FitServer(sys.executable, N_THREADS)
    for name in sorted({name for work in WORKS for name in work.systems} - {NOW, BEFORE}):
        missing = [package for package in SYSTEMS[name].packages if not is_installed(package)]
        if missing:
            print(f"{name} is left as stored, because {missing[0]} is not installed.")
        else:
            servers[name] = peers
    for server in servers.values():
        stack.callback(server.close)
    return servers


def is_installed(package: str) -> bool:
    """Return whether a package is installed for this interpreter."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def describe_build(server: FitServer) -> dict[str, Any]:
    """Return the version and the commit of another build."""
    found = server.describe()
    return {"version": found["version"], "commit": read_commit(Path(found["folder"]))}


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", help="the Python interpreter of the other build")
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of fits")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a fortieth of rows and clusters, one key; stores only with --folder",
    )
    parser.add_argument("--folder", type=Path, help="where search.json is stored")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, store after each set of rows, and print the tables."""
    options = read_options(arguments)
    folder = options.folder or (None if options.quick else RESULTS)
    path = None if folder is None else folder / f"{NAME}.json"
    stored = json.loads(path.read_text()) if path is not None and path.is_file() else {}
    origin = Origin.now(arguments)
    fits: list[dict[str, Any]] = []
    memory: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        servers = start_servers(options.before, stack)
        build = describe_build(servers[BEFORE]) if BEFORE in servers else None
        run = Run(servers, Path(temporary), build, options.only, options.quick)
        document = stored
        for number, (_, works) in enumerate(groupby(WORKS, lambda work: work.rows)):
            new_fits, new_memory = bench_rows(list(works), number, run)
            if not new_fits and not new_memory:
                continue
            fits, memory = fits + new_fits, memory + new_memory
            document = join(stored, fits, memory, origin.describe(N_THREADS, PEERS))
            if folder is not None:
                store_results(NAME, document, folder)
    if document:
        print(render_search(document, describe(document)))
    if path is not None:
        print(path)


if __name__ == "__main__":
    main()
