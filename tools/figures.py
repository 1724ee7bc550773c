"""Measure all published figures anew, one benchmark after another, and draw the pages.

Run ``make figures``, or ``python tools/figures.py`` with options, on a machine with nothing else to
do. Each program runs with options that bound it, and the pages name these. Estimated minutes on 2
cores:

    busy          1    storage        3    certificates   8
    stream        1    files          4    field         19
    workers       1    client         5    fit           36
    sizes         4    many_clusters  7    reproduction  13
    dask          2    projection     4    pages          1
    predict       2    kmeans         6
    wide          3                        all of them  120

``versions`` takes 12 minutes more and ``search`` 20. They run with --before only, because they need
another build.

What a program prints goes to build/figures. A program that fails or takes too long does not stop
the others; the exit code is then 1. To go on after an evening that was cut short, name its start:

    python tools/figures.py --since 2026-11-18T19:00
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from provenance import BUSY, ROOT, list_origins, measure_busy, read_load

from projected_kmeans.choices import EXPERIMENTS

LOGS = ROOT / "build" / "figures"
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"

# A load average above this at the first start says that the machine has other work.
BUSY_LOAD = 0.7
# Seconds between two looks at a busy machine, and those for which one look lasts.
PAUSE, LOOK = 10.0, 2.0
# A program may take this many times its estimate, and this many minutes more.
SLACK, MORE_MINUTES = 1.5, 4
# Seconds in which a program that is ended can remove its files.
GRACE = 20.0


@dataclass(frozen=True)
class Step:
    """One program, the files that it writes, and the minutes that it takes by estimate."""

    name: str
    words: tuple[str, ...]
    files: tuple[Path, ...]
    minutes: float

    @property
    def command(self) -> str:
        """The command as it is typed in the project's folder."""
        program, *words = self.words
        start = [Path(program).name] if Path(program).is_absolute() else ["python", program]
        return " ".join([*start, *words])


@dataclass(frozen=True)
class Outcome:
    """How a step ended: seconds that it took, and what went wrong, if anything did."""

    step: Step
    seconds: float
    problem: str | None = None


def bench(name: str, program: str, *words: str, minutes: float) -> Step:
    """Return the step of a benchmark."""
    return Step(name, (f"benchmarks/{program}.py", *words), (RESULTS / f"{name}.json",), minutes)


# The command line is installed beside the interpreter.
REPRODUCE = (
    *(str(Path(sys.executable).with_name("projected-kmeans")), "reproduce", "all", "--fresh"),
    *("--quiet", "--out", "build/reproduction", "--page", "docs/reproduction.md"),
)
REPRODUCED = tuple(DOCS / "reproduction" / f"{name}.json" for name in EXPERIMENTS)

# An environment with peers that need other versions of packages. `make figures` makes it.
PEERS = "build/peers/bin/python"
HAS_PEERS = (ROOT / PEERS).is_file()
OWN_PYTHON = ("--python", f"fastkmeans={PEERS}", f"k-means-constrained={PEERS}")
SIZES_PEER = ("--peer-python", PEERS, "--peer-seconds", "300")

FIT_LIMITS = ("--rounds", "1", "--limit", "60", "--effort-limit", "10")

# Short ones come first, so that an evening that is cut short has most of the pages.
STEPS = (
    bench("busy", "bench_busy", minutes=1),
    bench("stream", "bench_stream", minutes=1),
    bench("workers", "sleeping_workers", minutes=1),
    bench("dask", "dask_costs", minutes=2),
    bench("predict", "bench_predict", "--repeats", "1", minutes=2),
    bench("wide", "bench_wide", minutes=3),
    bench("sizes", "bench_sizes", *(SIZES_PEER if HAS_PEERS else ()), minutes=4),
    bench("storage", "bench_storage", minutes=3),
    bench("files", "bench_files", minutes=4),
    bench("client", "bench_client", "--passes", "3", minutes=5),
    bench("many_clusters", "bench_many_clusters", "--limit", "60", minutes=7),
    bench("projection", "bench_projection", "--repeats", "3", minutes=4),
    bench("kmeans", "bench_kmeans", "--repeats", "3", minutes=6),
    bench("certificates", "bench_certificates", "--processes", "2", minutes=8),
    bench("field", "bench_field", "--limit", "60", *(OWN_PYTHON if HAS_PEERS else ()), minutes=19),
    bench("fit", "bench_fit", "--anew", *FIT_LIMITS, minutes=36),
    Step("reproduction", REPRODUCE, REPRODUCED, 13),
)
PAGES = (
    Step("benchmark pages", ("benchmarks/render.py",), (), 0.4),
    Step("reductions page", ("tools/reductions_page.py",), (), 0.3),
    Step("reliability page", ("campaigns/reliability_page.py",), (), 0.3),
)


def was_measured_since(step: Step, since: datetime) -> bool:
    """Return whether all figures of a step were measured at or after a time."""
    return bool(step.files) and all(is_new(path, since) for path in step.files)


def is_new(path: Path, since: datetime) -> bool:
    """Return whether all figures of a stored file were measured at or after a time."""
    if not path.is_file():
        return False
    origins = list_origins(json.loads(path.read_text()))
    starts = [(origin.get("measured") or {}).get("start") for origin in origins]
    return all(start is not None and read_time(start) >= since for start in starts)


def read_time(text: str) -> datetime:
    """Return a time that is written as 2026-11-18T19:00, in UTC if it names no other zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def wait_until_quiet(
    minutes: float,
    look: Callable[[], float | None] = lambda: measure_busy(LOOK),
    pause: Callable[[float], None] = time.sleep,
) -> float:
    """Wait until others leave the processors alone, but not longer than some minutes.

    Returns how many processors others use then; 0 if the system does not tell.
    """
    waited, busy = 0.0, look() or 0.0
    if busy > BUSY and minutes:
        print(f"  others use {busy:.1f} processors; waiting up to {minutes:g} minutes", flush=True)
    while busy > BUSY and waited < 60 * minutes:
        pause(PAUSE)
        waited, busy = waited + PAUSE, look() or 0.0
    if busy > BUSY:
        print(f"  warning: others use {busy:.1f} processors, so times are too long", flush=True)
    return busy


def run_step(step: Step, limit: float, logs: Path = LOGS) -> Outcome:
    """Run a program in the project's folder for at most some minutes; a file has its output."""
    logs.mkdir(parents=True, exist_ok=True)
    log, begin = logs / f"{step.name}.log", time.perf_counter()
    with open(log, "w") as lines:
        process = subprocess.Popen(
            [sys.executable, *step.words],
            cwd=ROOT,
            stdout=lines,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        problem = None
        try:
            code = process.wait(60 * limit)
        except subprocess.TimeoutExpired:
            problem = f"ended after {limit:g} minutes"
        finally:
            end_group(process)
    if problem is None and code:
        last = (log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"])[-1]
        problem = f"exit code {code}: {last}"
    return Outcome(step, time.perf_counter() - begin, problem)


def end_group(process: subprocess.Popen[Any]) -> None:
    """End a program and all that it started: first by Ctrl-C, so that it removes its files."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError):  # fits that are in native code hear no Ctrl-C
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_all(steps: Sequence[Step], minutes: float | None, wait: float) -> list[Outcome]:
    """Run steps one after another; print what runs and how long it took."""
    outcomes = []
    for number, step in enumerate(steps, start=1):
        print(f"[{number}/{len(steps)}] {datetime.now(UTC):%H:%M} UTC {step.name}, ", end="")
        print(f"about {step.minutes:g} minutes: {step.command}", flush=True)
        if step.files:
            wait_until_quiet(wait)
        limit = SLACK * step.minutes + MORE_MINUTES
        if minutes is not None and step.files:
            limit = minutes
        outcomes.append(run_step(step, limit))
        ended = outcomes[-1].problem or "done"
        print(f"  {ended} in {outcomes[-1].seconds / 60:.1f} minutes", flush=True)
    return outcomes


def choose_steps(options: argparse.Namespace) -> list[Step]:
    """Return the steps to run: those named, without those that were measured since a time."""
    known = list(STEPS)
    if options.before:
        words = ("--before", options.before)
        versions = bench("versions", "compare_versions", *words, minutes=12)
        known = [versions, *known, bench("search", "bench_search", *words, minutes=20)]
    steps = [step for step in known if not options.only or step.name in options.only]
    if options.since is None:
        return steps
    fresh = [step for step in steps if was_measured_since(step, options.since)]
    for step in fresh:
        print(f"{step.name} was measured since {options.since:%Y-%m-%d %H:%M} UTC", flush=True)
    return [step for step in steps if step not in fresh]


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for step in STEPS]
    parser.add_argument("--only", nargs="+", choices=[*names, "versions", "search"], metavar="NAME")
    parser.add_argument("--since", type=read_time, help="leave out what was measured since (UTC)")
    parser.add_argument("--minutes", type=float, help="end a benchmark after this many minutes")
    parser.add_argument("--wait", type=float, default=5.0, help="minutes to wait while others work")
    parser.add_argument("--before", help="the Python of another build, to compare versions")
    parser.add_argument("--list", action="store_true", help="say what would run, and stop")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, draw, and say what failed; return the exit code."""
    options = read_options(arguments)
    steps = choose_steps(options)
    total = sum(step.minutes for step in (*steps, *PAGES))
    print(f"{len(steps)} programs, about {total:g} minutes", flush=True)
    if options.list:
        for step in steps:
            print(f"{step.name}, {step.minutes:g} minutes: {step.command}")
        return 0
    load = read_load()
    if load is not None and load > BUSY_LOAD:
        print(f"warning: the load average is {load:.1f}; figures need a quiet machine", flush=True)
    outcomes = run_all([*steps, *PAGES], options.minutes, options.wait)
    failed = [outcome for outcome in outcomes if outcome.problem]
    print(f"{sum(outcome.seconds for outcome in outcomes) / 60:.0f} minutes in all")
    for outcome in failed:
        print(f"failed: {outcome.step.name}: {outcome.problem}; see build/figures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
