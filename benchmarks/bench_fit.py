"""Time whole fits beside those of peers: seconds, quality and memory.

Run ``python benchmarks/bench_fit.py``; ``render.py`` draws the page from results/fit.json. Results
are stored after every data set. A run that was stopped continues with the next data set; data sets
that were measured with other sources of the package are measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data_sets import DATA_SETS, QUICK_SHRINK, DataSet, NoData, store_rows
from fit_process import load_rows
from fit_systems import SYSTEMS, System
from fit_tables import fits_table, name_data_set
from measured_fit import NotMeasured, Task, TooLong, is_disturbed, run_apart
from measuring import RESULTS, describe_machine, store_results
from peers import MODULES, load_peers
from provenance import Origin

# Additional rounds for fits that other processes disturbed in every round so far.
MORE_ROUNDS = 2

SOURCE = Path(__file__).parents[1] / "src"


Measure = tuple[str, str]  # the names of a system and of its effort


@dataclass(frozen=True)
class Plan:
    """How fits are measured.

    Attributes
    ----------
    n_threads : int
        Threads of every system.
    rounds : int
        Rounds over all systems; a long fit runs in the first round only.
    limit : float
        Maximum seconds of a fit.
    effort_limit : float or None
        Maximum seconds of a fit that is not the main effort of its system; None for ``limit``.
    long : float
        Seconds from which on a fit is long.
    quick : bool
        Whether to measure few rows and one effort of each system.
    """

    n_threads: int = 2
    rounds: int = 2
    limit: float = 300.0
    effort_limit: float | None = None
    long: float = 10.0
    quick: bool = False

    def limit_of(self, measure: Measure) -> float:
        """Return the maximum seconds of a system with an effort."""
        system, effort = measure
        is_main = system not in SYSTEMS or effort == SYSTEMS[system].main
        return self.limit if is_main or self.effort_limit is None else self.effort_limit


def measure_data_set(
    path: Path, n_clusters: int, measures: Sequence[Measure], plan: Plan, folder: Path
) -> dict[str, Any]:
    """Return a row for every measure, or a sentence that says why it has no result.

    Systems take turns, so that changes of the machine's load affect all of them.
    """
    runs: dict[Measure, list[dict[str, Any]]] = {measure: [] for measure in measures}
    left_out: dict[Measure, str] = {}
    slow: dict[str, float] = {}
    for turn in range(plan.rounds + MORE_ROUNDS):
        for measure, found in runs.items():
            if measure in left_out or not wants_run(found, turn, plan):
                continue
            task = Task(str(path), n_clusters, *measure, plan.n_threads, plan.limit_of(measure))
            try:
                if task.limit <= slow.get(task.system, 0.0):
                    raise TooLong("left out, as less of an effort took too long")
                found.append(run_apart(task, folder))
                print(f"{task.system}, {task.effort}: {found[-1]['seconds']:.4g} s", flush=True)
            except NotMeasured as reason:
                left_out[measure] = f"{task.system}, {task.effort}: {reason}."
                if isinstance(reason, TooLong):
                    slow[task.system] = max(task.limit, slow.get(task.system, 0.0))
    rows = [keep_best(measure, found) for measure, found in runs.items() if found]
    return {"rows": rows, "left_out": list(left_out.values())}


def wants_run(runs: Sequence[Mapping[str, Any]], turn: int, plan: Plan) -> bool:
    """Return whether a fit runs in a turn: a long fit once, a disturbed fit again."""
    if not runs or turn >= plan.rounds:
        return all(map(is_disturbed, runs))
    return bool(runs[0]["seconds"] <= plan.long)


def keep_best(measure: Measure, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fastest of several runs, with the largest peak of memory of all."""
    best = min(runs, key=lambda run: (is_disturbed(run), run["seconds"]))
    peaks = [run["extra_bytes"] for run in runs if run["extra_bytes"] is not None]
    system, effort = measure
    return {
        "system": system,
        "effort": effort,
        **best,
        "extra_bytes": max(peaks, default=None),
        "runs": len(runs),
    }


def pick_systems(
    sparse: bool, absent: Mapping[str, str], chosen: Sequence[str] | None
) -> dict[str, System]:
    """Return the systems that are installed and take such rows."""
    return {
        name: system
        for name, system in SYSTEMS.items()
        if system.package not in absent
        and (system.sparse if sparse else system.dense)
        and (chosen is None or name in chosen)
    }


def list_measures(systems: Mapping[str, System], quick: bool) -> Iterator[Measure]:
    """Yield every system with each of its efforts; if quick, with its main effort only."""
    for name, system in systems.items():
        for effort in [system.main] if quick else system.efforts:
            yield name, effort


def bench_data_set(
    data_set: DataSet,
    absent: Mapping[str, str],
    chosen: Sequence[str] | None,
    plan: Plan,
    folder: Path,
) -> dict[str, Any]:
    """Measure all systems on a data set, or say that its file is missing."""
    entry = {"title": data_set.title, "k": data_set.n_clusters}
    try:
        path = store_rows(data_set.source, folder, QUICK_SHRINK if plan.quick else 1)
    except NoData as reason:
        return {**entry, "no_data": f"{data_set.title} are left out: {reason}."}
    rows = load_rows(path)
    n, d = rows.shape
    sparse = path.suffix == ".npz"
    entry |= {"n": n, "d": d, "sparse": sparse, "nonzeros": int(rows.nnz) if sparse else None}
    del rows
    systems = pick_systems(sparse, absent, chosen)
    measures = list(list_measures(systems, plan.quick))
    return {**entry, **measure_data_set(path, data_set.n_clusters, measures, plan, folder)}


def run_all(
    names: Sequence[str],
    chosen: Sequence[str] | None,
    plan: Plan,
    out: Path | None,
    anew: bool,
    words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Measure data sets one by one and store each with the words of the command line.

    Returns the whole document.
    """
    absent = load_peers()
    stamp = {
        "machine": describe_machine(plan.n_threads, tuple(MODULES)),
        "parameters": asdict(plan),
        "source": hash_source(),
    }
    document = read_stored(RESULTS if out is None else out)
    document["absent"] = list(absent.values())
    stored = document["data_sets"]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if not anew and name in stored and stamp.items() <= stored[name].items():
                print(f"{name} is stored already", flush=True)
                continue
            origin = Origin.now(words)
            entry = bench_data_set(DATA_SETS[name], absent, chosen, plan, Path(folder))
            stored[name] = {**entry, **stamp, "measured": origin.stamp()}
            document["data_sets"] = {key: stored[key] for key in DATA_SETS if key in stored}
            if not is_partial(chosen, plan, out):
                store_results("fit", document, out)
            print(name_data_set(entry), fits_table(entry), *entry.get("left_out", ()), sep="\n")
            print(flush=True)
    return document


def is_partial(chosen: Sequence[str] | None, plan: Plan, out: Path | None) -> bool:
    """Return whether this run is partial, so that it must not replace the stored results."""
    return out is None and (plan.quick or chosen is not None)


def read_stored(folder: Path) -> dict[str, Any]:
    """Return the stored document of a folder, or an empty one."""
    path = folder / "fit.json"
    document: dict[str, Any] = {"benchmark": "fit", "data_sets": {}}
    return json.loads(path.read_text()) if path.is_file() else document


def hash_source(folder: Path = SOURCE) -> str:
    """Return a digest of the package's sources, on which our results depend."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".py", ".cpp", ".hpp"}:
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen data sets, by default all that are not stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=Plan.n_threads)
    parser.add_argument("--rounds", type=int, default=Plan.rounds)
    parser.add_argument("--limit", type=float, default=Plan.limit, help="maximum seconds of a fit")
    parser.add_argument(
        "--effort-limit", type=float, help="maximum seconds of fits that are no main effort"
    )
    parser.add_argument(
        "--only", choices=tuple(DATA_SETS), action="append", help="measure this data set only"
    )
    parser.add_argument(
        "--system",
        choices=tuple(SYSTEMS),
        action="append",
        help="measure this system only; needs --out",
    )
    parser.add_argument("--anew", action="store_true", help="measure stored data sets again")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure few rows and one effort; stored with --out only",
    )
    parser.add_argument("--out", type=Path, default=None, help="folder of the JSON")
    options = parser.parse_args(arguments)
    plan = Plan(
        n_threads=options.threads,
        rounds=1 if options.quick else options.rounds,
        limit=min(options.limit, 30.0) if options.quick else options.limit,
        effort_limit=options.effort_limit,
        quick=options.quick,
    )
    names = options.only or tuple(DATA_SETS)
    run_all(names, options.system, plan, options.out, options.anew, arguments)


if __name__ == "__main__":
    main()
