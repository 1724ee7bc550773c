"""Time ordinary work with two builds of the package that take turns, and store the ratios.

    python benchmarks/compare_versions.py --before OTHER_CLONE/.venv/bin/python

Each build runs in a process of its own. The processes take turns, so that changes of the machine's
load affect all, and the minimum of each counts. They are started anew several times, because where
a process lies in memory makes it some percent faster or slower for as long as it lives. The other
build runs in two processes: what these two differ by is the noise of the comparison. Results go to
results/versions.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

N_THREADS = 2
# Short works are repeated for this long in each turn.
MIN_TURN_SECONDS = 0.5


def make_rows(folder: Path, shrink: int) -> None:
    """Store the rows of all works, so that both builds read the same ones."""
    rng = np.random.default_rng(0)

    def mixture(n_rows: int, n_columns: int, n_groups: int) -> np.ndarray[Any, Any]:
        centers = rng.normal(size=(n_groups, n_columns))
        rows = centers[rng.integers(n_groups, size=n_rows)]
        return np.asarray(rows + rng.normal(size=rows.shape), dtype=np.float32)

    np.save(folder / "wide.npy", mixture(60_000 // shrink, 784, 100))
    np.save(folder / "wider.npy", mixture(20_000 // shrink, 3072, 40))
    np.save(folder / "small.npy", mixture(2000, 64, 10))
    words = scipy.sparse.random(
        30_000 // shrink, 20_000, density=0.004, format="csr", dtype=np.float32, rng=rng
    )
    scipy.sparse.save_npz(folder / "words.npz", words, compressed=False)


def list_works(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the works by name; called in the process of a build."""
    from projected_kmeans import ProjectedKMeans, certify, open_rows

    wide, wider, small = (np.load(folder / f"{name}.npy") for name in ("wide", "wider", "small"))
    words = scipy.sparse.load_npz(folder / "words.npz")
    fitted = ProjectedKMeans(100, random_state=0, n_threads=N_THREADS).fit(wide)

    def fit(rows: Any, k: int, **parameters: Any) -> Callable[[], object]:
        model = ProjectedKMeans(k, random_state=0, n_threads=N_THREADS, **parameters)
        return lambda: model.fit(rows)

    return {
        "60,000 x 784, k = 100": fit(wide, 100),
        "the same by the paper's signs": fit(wide, 100, projection="sign", polish_iter=0),
        "the same from a file": lambda: fit(open_rows(folder / "wide.npy"), 100)(),
        "its predict": lambda: fitted.predict(wide),
        "20,000 x 3,072, k = 40": fit(wider, 40),
        "20,000 x 3,072, k = 40, cosine": fit(wider, 40, metric="cosine"),
        "30,000 x 20,000 CSR, k = 20": fit(words, 20),
        "2,000 x 64, k = 10": fit(small, 10),
        "certify 2,000 x 64": lambda: certify(
            small, fitted_labels(small), method="spectral", random_state=0
        ),
    }


def fitted_labels(rows: Any) -> Any:
    """Return any partition of the rows into ten clusters."""
    return np.arange(len(rows)) % 10


def serve(folder: Path, turn_seconds: float) -> None:
    """Do the works that standard input names; print the fewest seconds and processor seconds."""
    works = list_works(folder)
    print(json.dumps(list(works)), flush=True)
    for line in sys.stdin:
        work = works[json.loads(line)]
        timed = [_time(work)]
        while sum(seconds for seconds, _ in timed) < turn_seconds:
            timed.append(_time(work))
        print(json.dumps([min(column) for column in zip(*timed, strict=True)]), flush=True)


def _time(work: Callable[[], object]) -> tuple[float, float]:
    start, cpu_start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu_start


class Build:
    """One build of the package in a process that waits for work."""

    def __init__(self, interpreter: str, folder: Path, turn_seconds: float) -> None:
        threads = {"OMP_NUM_THREADS": str(N_THREADS), "OPENBLAS_NUM_THREADS": str(N_THREADS)}
        self._process = subprocess.Popen(
            [interpreter, __file__, "--serve", str(folder), "--turn-seconds", str(turn_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads},
        )
        self.works: list[str] = json.loads(self._read())

    def time(self, work: str) -> tuple[float, float]:
        """Return the seconds and the processor seconds of one work."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(work) + "\n")
        self._process.stdin.flush()
        seconds, cpu_seconds = json.loads(self._read())
        return seconds, cpu_seconds

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a build ended with exit code {self._process.wait()}")
        return line


def compare(
    before: str,
    launches: int,
    rounds: int,
    folder: Path,
    only: str,
    turn_seconds: float = MIN_TURN_SECONDS,
) -> list[dict[str, Any]]:
    """Return the seconds of the builds, and their ratios, for works whose names have this text."""
    interpreters = {"before": before, "now": sys.executable, "again": before}
    best: dict[str, dict[str, tuple[float, float]]] = {}
    for _ in range(launches):
        builds = {
            name: Build(interpreter, folder, turn_seconds)
            for name, interpreter in interpreters.items()
        }
        for work in (name for name in builds["now"].works if only in name):
            known = best.setdefault(work, dict.fromkeys(builds, (math.inf, math.inf)))
            for turn in range(rounds):
                for name in list(builds)[:: 1 if turn % 2 else -1]:
                    timed = builds[name].time(work)
                    known[name] = (min(known[name][0], timed[0]), min(known[name][1], timed[1]))
        for build in builds.values():
            build.close()
    return [_compare_work(work, known) for work, known in best.items()]


def _compare_work(work: str, known: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    before, now, again = known["before"], known["now"], known["again"]
    # The two processes of the other build together have had twice as many turns, so that only one
    # of them is compared.
    row = {
        "work": work,
        "before": before[0],
        "now": now[0],
        "ratio": now[0] / before[0],
        "cpu_ratio": now[1] / before[1],
        "noise": again[0] / before[0],
    }
    print(
        f"{work}: {before[0]:.4f} s, now {now[0]:.4f} s, ratio {row['ratio']:.3f}, of processor "
        f"time {row['cpu_ratio']:.3f}; noise {row['noise']:.3f}",
        flush=True,
    )
    return row


def main() -> None:
    """Compare two builds, or serve as one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", help="the Python interpreter of the other build")
    parser.add_argument("--launches", type=int, default=10, help="times that builds are started")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each build in a launch")
    parser.add_argument("--quick", action="store_true", help="few rows, one launch, two rounds")
    parser.add_argument("--only", default="", help="a text in the names of works; stores nothing")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--turn-seconds", type=float, default=MIN_TURN_SECONDS, help=argparse.SUPPRESS
    )
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.turn_seconds)
        return
    if not given.before:
        parser.error("name the interpreter of the other build with --before")
    from measuring import store_results
    from provenance import Origin

    origin = Origin.now()
    launches, rounds = (1, 2) if given.quick else (given.launches, given.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_rows(folder, shrink=20 if given.quick else 1)
        table = compare(given.before, launches, rounds, folder, given.only)
    if not given.quick and not given.only:
        counts = {"launches": launches, "rounds": rounds, "works": table}
        print(store_results("versions", {**origin.describe(N_THREADS), **counts}))


if __name__ == "__main__":
    main()
