"""Fits of the systems of field_systems.py in processes that stay alive and wait for work.

Two builds of this package and peers can so take turns on the same rows: load of the machine affects
all of them, and none pays for its start. A process that crashes costs one result and is started
anew. Run as a program, this module is such a process. It imports nothing of this package before the
first fit, because some interpreters have another build of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from field_systems import SYSTEMS, Fit
from fit_process import Rows, load_rows

# A shorter fit is made three times and the fewest seconds count, because threads and caches of a
# process that has waited are cold.
LONG = 0.1
SHORT_REPEATS = 3

# Variables that set the threads of OpenMP and of every BLAS before they are loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


@dataclass(frozen=True)
class Request:
    """One fit: a name of field_systems.SYSTEMS, the files of rows and labels, k and the key."""

    system: str
    rows: str
    labels: str
    n_clusters: int
    key: int


class FitServer:
    """A process of an interpreter that fits what it is asked for."""

    def __init__(self, interpreter: str, n_threads: int) -> None:
        self._interpreter = interpreter
        self._n_threads = n_threads
        self._process: subprocess.Popen[str] | None = None

    def fit(self, request: Request) -> dict[str, Any]:
        """Return the costs of a fit, or why it failed; its labels lie in their file."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # of a process that has ended, which gives no answer
            process.stdin.write(json.dumps(asdict(request)) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if line:
            return dict(json.loads(line))
        code = process.wait()
        self.close()
        return {"failure": f"ended by signal {-code}" if code < 0 else f"exit code {code}"}

    def describe(self) -> dict[str, Any]:
        """Return the version of the interpreter's build, and the folder of its sources."""
        command = [self._interpreter, __file__, "describe"]
        told = subprocess.run(
            command, env=self._environment(), stdout=subprocess.PIPE, text=True, check=True
        )
        return dict(json.loads(told.stdout))

    def close(self) -> None:
        """End the process, if it has been started."""
        if self._process is not None:
            process, self._process = self._process, None
            with suppress(BrokenPipeError), process:
                process.kill()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self._interpreter, __file__, str(self._n_threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment(),
        )

    def _environment(self) -> dict[str, str]:
        # An interpreter may be a script that does not add the folder of a program to the path.
        path = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        threads = dict.fromkeys(THREADS, str(self._n_threads))
        return {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(path)}


def serve(n_threads: int) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what systems print goes to the error stream
    warnings.simplefilter("ignore")  # of the peers
    rows: Rows = None
    path, warm = "", set[str]()
    for line in sys.stdin:
        request = Request(**json.loads(line))
        try:
            if path != request.rows:
                rows, path, warm = load_rows(Path(request.rows)), request.rows, set()
            if request.system not in warm:
                # A first small fit loads libraries and starts threads.
                SYSTEMS[request.system].fit(rows[:300], 2, 0, n_threads)
                warm.add(request.system)
            answer: dict[str, Any] = time_fit(SYSTEMS[request.system].fit, rows, request, n_threads)
        except Exception as error:  # the page tells whatever a system raises
            traceback.print_exc()
            answer = {"failure": type(error).__name__}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def time_fit(fit: Fit, rows: Rows, request: Request, n_threads: int) -> dict[str, Any]:
    """Fit, store the labels and return the fewest seconds and processor seconds."""
    timed: list[tuple[float, float]] = []
    while not timed or (timed[0][0] < LONG and len(timed) < SHORT_REPEATS):
        start, cpu = time.perf_counter(), time.process_time()
        labels = fit(rows, request.n_clusters, request.key, n_threads)
        timed.append((time.perf_counter() - start, time.process_time() - cpu))
    np.save(request.labels, labels.astype(np.int64))
    seconds, cpu_seconds = (min(column) for column in zip(*timed, strict=True))
    return {"seconds": seconds, "cpu_seconds": cpu_seconds}


def main() -> None:
    """Serve, or say which build of the package this interpreter has."""
    if sys.argv[1] == "describe":
        import projected_kmeans

        folder = Path(str(projected_kmeans.__file__)).parents[2]
        print(json.dumps({"version": projected_kmeans.__version__, "folder": str(folder)}))
    else:
        serve(int(sys.argv[1]))


if __name__ == "__main__":
    main()
