"""One measured fit in a process of its own: its seconds, its partition's F~ and its peak of memory.

A process that has done nothing else has no threads that still spin, no warm caches and no memory
that an allocator keeps. What is run, and how often, is up to `bench_fit.py`.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data_sets import load_rows, measure_partition
from fit_systems import SYSTEMS, Fitted
from growth import can_measure_memory
from measuring import REST, forget_peak, peak_kilobytes

# A fit below so many seconds is run again in its process, which is warm then.
SHORT = 1.0
MOST_REPEATS = 3

# Processors that others keep busy, from which on a time tells little; and seconds from which on
# the system's count of busy processors, which ticks a hundred times a second, tells it.
DISTURBED = 0.2
TOLD = 0.1

# Variables that set the threads of OpenMP and of every BLAS before they are loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


class NotMeasured(Exception):
    """A fit has no result; the message says why."""


class TooLong(NotMeasured):
    """A fit did not end within its time; more of an effort will not either."""


@dataclass(frozen=True)
class Task:
    """What a process is to fit: rows of a file, by a system with an effort, within a time."""

    rows: str
    n_clusters: int
    system: str
    effort: str
    n_threads: int
    limit: float


def run_apart(task: Task, folder: Path) -> dict[str, Any]:
    """Run a task in a process of its own; return what it measured."""
    out = folder / "measured.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, __file__, json.dumps(asdict(task)), str(out)]
    environment = {**os.environ, **dict.fromkeys(THREADS, str(task.n_threads))}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    if run.returncode == -signal.SIGALRM:
        raise TooLong(f"did not end within {task.limit:g} s")
    if not out.exists():
        told = run.stderr.strip().splitlines() or ["it wrote nothing"]
        raise NotMeasured(f"ended with exit code {run.returncode}: {shorten(told[-1])}")
    found: dict[str, Any] = json.loads(out.read_text())
    if "error" in found:
        raise NotMeasured(f"raised {found['error']}")
    return found


def measure_fit(task: Task) -> dict[str, Any]:
    """Return the best seconds of a fit, what its peak of memory takes beyond the rows, and its F~.

    Threads start and libraries load in a fit of a few rows before. Free memory goes back to the
    system, then the peak is forgotten, so that it counts all that the fit allocates: copies,
    sketches, labels and centers. Only the first run tells memory, as later ones find some free.
    """
    rows = load_rows(Path(task.rows))
    time_fit(task, rows[: max(1000, 4 * task.n_clusters)].copy())
    before = start_peak()
    fitted, *run = time_fit(task, rows)
    extra = None if before is None else 1024 * (peak_kilobytes() - before)
    runs = [tuple(run)]
    while sum(seconds for seconds, _ in runs) < SHORT and len(runs) < MOST_REPEATS:
        runs.append(time_fit(task, rows)[1:])
    seconds, foreign = min(runs)
    return {
        "seconds": seconds,
        "foreign": foreign,
        "normalized_inertia": measure_partition(rows, fitted.labels),
        "extra_bytes": extra,
        "n_components": fitted.n_components,
    }


def time_fit(task: Task, rows: Any) -> tuple[Fitted, float, float]:
    """Return what a system finds, its seconds, and how many processors others kept busy then.

    Seconds are no more than the limit, or the process ends.
    """
    system = SYSTEMS[task.system]
    options = system.efforts[task.effort]
    time.sleep(REST)
    signal.setitimer(signal.ITIMER_REAL, task.limit)  # reaches native code, too
    others, start = foreign_seconds(), time.perf_counter()
    fitted = system.fit(rows, task.n_clusters, options, task.n_threads)
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return fitted, seconds, max(0.0, foreign_seconds() - others) / seconds


def is_disturbed(run: Mapping[str, Any]) -> bool:
    """Tell whether others worked on the machine during a fit."""
    return bool(run["foreign"] > DISTURBED and run["seconds"] >= TOLD)


def foreign_seconds() -> float:
    """Return for how long other processes have kept processors busy; 0 where nobody tells."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields)
    ticks = user + nice + system + sum(interrupts)
    return ticks / os.sysconf("SC_CLK_TCK") - time.process_time()


def start_peak() -> int | None:
    """Give free memory back and forget the peak; return what is resident, in kilobytes."""
    if not can_measure_memory():
        return None
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # the GNU C library's
    if trim is not None:
        trim(0)
    forget_peak()
    return peak_kilobytes()


def shorten(message: str) -> str:
    """Return the first line of a message without folders of this machine."""
    lines = message.strip().splitlines() or ["nothing"]
    return re.sub(r"/\S*/", "", lines[0]).rstrip(".")


def main() -> None:
    """Measure one fit and write it, or the reason why it has no result."""
    warnings.simplefilter("ignore")  # theirs: that few iterations did not converge
    task = Task(**json.loads(sys.argv[1]))
    try:
        found = measure_fit(task)
    except Exception as error:  # whatever a system raises is the reason, told on the page
        found = {"error": f"{type(error).__name__}: {shorten(str(error))}"}
    Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
