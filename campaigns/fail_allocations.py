"""Let every allocation of a fit fail once: each ends in a MemoryError, and the next fit is right.

A small library (failing_malloc.cpp) is loaded before all others. It counts the allocations of the
kernels, or those of NumPy for arrays, and lets the n-th fail; once alone, and once with all that
follow. A kernel says in a sentence what it asked for; NumPy does so for arrays. Fits run in a child
process, and in another if one of them ends it, which is found. Other libraries always get their
memory: OpenMP's runtime ends the process if a few hundred bytes of its own are refused, which
cannot be prevented.

    python campaigns/fail_allocations.py --limit 200
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SHIM = Path(__file__).with_name("failing_malloc.cpp")
LIBRARIES = {
    "kernels": (b"projected_kmeans/_native",),
    "numpy": (b"_multiarray_umath",),
}
# NumPy 2.4 ends the process, or raises SystemError, if it gets no memory for its own buffers:
# ``np.ones(9999) * np.ones(9999, "f4")`` alone does. Such ends are counted apart, because nothing
# here can prevent them. Most of its small allocations are of this kind and always succeed.
INSIDE_NUMPY = ("ended -11: ", "ended 1: ['SystemError")
LEAST_BYTES = {"kernels": 0, "numpy": 4096}
NEVER = 2**60


def fits() -> dict[str, Callable[[], bytes]]:
    """Return small fits, by name; each gives the bits of its result."""
    import numpy as np
    import scipy.sparse

    from projected_kmeans import ProjectedKMeans

    stream = np.random.default_rng(0)
    dense = stream.normal(size=(600, 40)) + 4 * stream.integers(3, size=(600, 1))
    sparse = scipy.sparse.csr_array(np.where(stream.random((600, 40)) < 0.2, dense, 0.0))
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "float32": (dense.astype(np.float32), {}),
        "float64, moves": (dense, {"solver": "hartigan"}),
        "sparse": (sparse, {}),
        "sparse, cosine": (sparse, {"metric": "cosine"}),
        "directions": (dense, {"projection": "svd"}),
        "transform": (dense.astype(np.float32), {"projection": "hadamard"}),
    }

    def fit(rows: Any, extra: dict[str, Any]) -> bytes:
        model = ProjectedKMeans(8, n_components=6, n_threads=2, random_state=0, **extra).fit(rows)
        found: bytes = model.labels_.tobytes() + model.cluster_centers_.tobytes()
        return found

    return {name: lambda kind=kind: fit(*kind) for name, kind in kinds.items()}


def compile_shim(folder: Path) -> Path | None:
    """Compile the library; None if there is no C++ compiler."""
    names = (os.environ.get("CXX", "c++"), "g++", "clang++")
    compiler = next((found for name in names if (found := shutil.which(name))), None)
    if compiler is None:
        return None
    library = folder / "failing_malloc.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SHIM)], check=True)
    return library


@dataclass(frozen=True)
class Task:
    """A fit, whose allocations fail, and whether all that follow fail as well."""

    fit: str
    caller: str
    lasting: bool


class Shim:
    """The library, as it is loaded in this process."""

    def __init__(self, libraries: tuple[bytes, ...], least_bytes: int) -> None:
        self._least_bytes = least_bytes
        self._library = ctypes.CDLL(None)
        self._library.begin_failing.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_size_t]
        self._library.end_failing.restype = ctypes.c_long
        self._names = (ctypes.c_char_p * (len(libraries) + 1))(*libraries, None)
        assert self._library.watch_libraries(self._names) >= len(libraries)

    def run(self, work: Callable[[], bytes], n: int, lasting: bool) -> tuple[str, bytes, int]:
        """Run a fit whose n-th allocation fails; return the error, the bits and the calls."""
        error, bits = "", b""
        self._library.begin_failing(n, int(lasting), self._least_bytes)
        try:
            bits = work()
        except MemoryError as failed:
            calls = self._library.end_failing()
            error = str(failed) or "no sentence"
        else:
            calls = self._library.end_failing()
        return error, bits, calls


def run_child(tasks: Sequence[Task], first: int, limit: int) -> None:
    """Let allocations fail in this process; print a line before and after each try.

    The first task begins with its allocation ``first``, because another process ended before it.
    """
    works = fits()
    for place, task in enumerate(tasks):
        work = works[task.fit]
        right = work()
        shim = Shim(LIBRARIES[task.caller], LEAST_BYTES[task.caller])
        _, again, total = shim.run(work, NEVER, task.lasting)
        assert again == right
        print(json.dumps({"place": place, "total": total}), flush=True)
        for n in choose(total, limit):
            if place == 0 and n < first:
                continue
            line = {"place": place, "n": n}
            print(json.dumps(line), flush=True)
            error, bits, _ = shim.run(work, n, task.lasting)
            wrong = "" if error or bits == right else "other bits where an allocation failed"
            if task.caller == "kernels" and error and not error.startswith("a kernel asked for "):
                wrong = f"a MemoryError that says {error!r}"
            if not wrong and work() != right:
                wrong = "other bits in the next fit"
            print(json.dumps({**line, "error": error, "wrong": wrong}), flush=True)


def choose(total: int, limit: int) -> list[int]:
    """Return up to ``limit`` of the numbers 1, ..., total, evenly spaced."""
    count = min(total, limit)
    return sorted({1 + i * total // count for i in range(count)})


def try_tasks(
    library: Path, tasks: Sequence[Task], limit: int
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Yield what each failed allocation led to; a process that ends is followed by another."""
    first, ended = 1, False
    while not ended:
        given = json.dumps([asdict(task) for task in tasks])
        child = subprocess.run(
            [
                *(sys.executable, __file__, "--tasks", given),
                *("--first", str(first), "--limit", str(limit)),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"LD_PRELOAD": str(library)},
        )
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        assert lines, child.stderr
        for line in lines:
            if "n" not in line or "wrong" in line:
                yield tasks[line.pop("place")], line
        ended = child.returncode == 0
        if not ended:
            assert "n" in lines[-1], child.stderr
            tasks, first = tasks[lines[-1]["place"] :], lines[-1]["n"] + 1
            last = child.stderr.strip().splitlines()[-1:]
            wrong = f"ended {child.returncode}: {last}"
            yield tasks[0], {"n": first - 1, "error": "", "wrong": wrong}


def run_campaign(limit: int, names: Sequence[str] = ()) -> dict[str, Any] | None:
    """Try all fits, or those named; return what was found, or None if there is no C++ compiler."""
    counts: dict[str, Any] = {"allocations": {}, "failures": []}
    counts |= {"tried": 0, "memory_errors": 0, "ended inside NumPy": 0}
    tasks = [
        Task(name, caller, lasting)
        for name in names or fits()
        for caller in LIBRARIES
        for lasting in (False, True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        library = compile_shim(Path(folder))
        if library is None:
            return None
        for task, line in try_tasks(library, tasks, limit):
            if "total" in line:
                counts["allocations"][f"{task.fit}, {task.caller}"] = line["total"]
                continue
            counts["tried"] += 1
            counts["memory_errors"] += bool(line["error"])
            if task.caller == "numpy" and line["wrong"].startswith(INSIDE_NUMPY):
                counts["ended inside NumPy"] += 1
            elif line["wrong"]:
                counts["failures"].append(asdict(task) | line)
    return counts


def main() -> None:
    """Read the arguments, run the campaign and store what it found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--limit", type=int, default=500, help="failures for each fit, caller and kind of failure"
    )
    parser.add_argument("--tasks", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.tasks:
        tasks = [Task(**one) for one in json.loads(arguments.tasks)]
        run_child(tasks, arguments.first, arguments.limit)
        return
    from recording import store_campaign  # notes the start

    counts = run_campaign(arguments.limit)
    if counts is None:
        sys.exit("no C++ compiler was found; install one, such as g++, or name it in CXX")
    command = f"python campaigns/fail_allocations.py --limit {arguments.limit}"
    print(store_campaign("fail_allocations", command, counts).read_text())
    sys.exit(1 if counts["failures"] else 0)


if __name__ == "__main__":
    main()
