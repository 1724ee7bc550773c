"""Measure one fit in a process of its own: its seconds, its F~ and its peak of memory.

A fresh process has no spinning threads, no warm caches and no memory that an allocator keeps.
``bench_fit.py`` decides what is run and how often.
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

from data_sets import measure_partition
from fit_process import forget_peak, load_rows, peak_kilobytes
from fit_systems import SYSTEMS, Fitted
from growth import can_measure_memory
from measuring import REST

# A fit is repeated in its process until all runs together took this many seconds.
SHORT = 1.0
MAX_REPEATS = 3

# A fit is disturbed if other processes kept more than this many processors busy. The system counts
# busy time in ticks of 10 ms, so that shorter fits than MIN_COUNTED seconds are not judged.
DISTURBED = 0.2
MIN_COUNTED = 0.1

# Variables that set the threads of OpenMP and of every BLAS before they are loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


class NotMeasured(Exception):
    """A fit gave no result; the message says why."""


class TooLong(NotMeasured):
    """A fit did not end within its time limit; greater efforts will not end either."""


@dataclass(frozen=True)
class Task:
    """The fit of a process: a file of rows, the system, its effort, and the time limit."""

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
    """Return the minimum seconds of a fit, its peak of memory beyond the rows, and its F~.

    A fit of a few rows comes first, so that threads have started and libraries are loaded. Then
    free memory is returned to the system and the peak is reset, so that it counts all that the fit
    allocates: copies, sketches, labels and centers. Memory is measured in the first run only,
    because later runs reuse memory that was freed.
    """
    rows = load_rows(Path(task.rows))
    time_fit(task, rows[: max(1000, 4 * task.n_clusters)].copy())
    before = start_peak()
    fitted, *run = time_fit(task, rows)
    extra = None if before is None else 1024 * (peak_kilobytes() - before)
    runs = [tuple(run)]
    while sum(seconds for seconds, _ in runs) < SHORT and len(runs) < MAX_REPEATS:
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
    """Return the result of a fit, its seconds, and the processors that others kept busy.

    A signal ends the process if the fit takes longer than its limit.
    """
    system = SYSTEMS[task.system]
    options = system.efforts[task.effort]
    time.sleep(REST)
    signal.setitimer(signal.ITIMER_REAL, task.limit)  # ends native code, too
    others, start = foreign_seconds(), time.perf_counter()
    fitted = system.fit(rows, task.n_clusters, options, task.n_threads)
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return fitted, seconds, max(0.0, foreign_seconds() - others) / seconds


def is_disturbed(run: Mapping[str, Any]) -> bool:
    """Return whether other processes disturbed a fit."""
    return bool(run["foreign"] > DISTURBED and run["seconds"] >= MIN_COUNTED)


def foreign_seconds() -> float:
    """Return the processor seconds of all other processes so far; 0 if the system has no count."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields)
    ticks = user + nice + system + sum(interrupts)
    return ticks / os.sysconf("SC_CLK_TCK") - time.process_time()


def start_peak() -> int | None:
    """Return free memory to the system and reset the peak; return the resident kilobytes."""
    if not can_measure_memory():
        return None
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # the GNU C library's
    if trim is not None:
        trim(0)
    forget_peak()
    return peak_kilobytes()


def shorten(message: str) -> str:
    """Return the first line of a message, without folders of this machine."""
    lines = message.strip().splitlines() or ["nothing"]
    return re.sub(r"/\S*/", "", lines[0]).rstrip(".")


def main() -> None:
    """Measure one fit and write it, or the reason why it has no result."""
    warnings.simplefilter("ignore")  # of peers, whose few iterations do not converge
    task = Task(**json.loads(sys.argv[1]))
    try:
        found = measure_fit(task)
    except Exception as error:  # the page tells whatever a system raises
        found = {"error": f"{type(error).__name__}: {shorten(str(error))}"}
    Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
