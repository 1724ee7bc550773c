"""Time fits with limits of cluster sizes beside k-means-constrained.

Run ``python benchmarks/bench_sizes.py [--quick] [--peer-python PYTHON]``; it writes
results/sizes.json, and ``render.py`` draws it. Sizes are within 20 % of even. Each fit runs in a
process of its own. The peer makes one run (``n_init=1``), and may be installed for another Python,
because it needs OR-tools. Without ``--peer-python``, what is stored of the peer stays.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS, store_results
from provenance import Origin, join_rows

N_THREADS = 2
# Clusters have this share of the even size at least, and this one at most.
LOW, HIGH = 0.8, 1.2
# The standard deviation of the means of groups in each column; the noise has 1.
MEAN_SPREAD = 1.0
# n, d, k.
WORKS = ((10_000, 50, 10), (20_000, 100, 50), (60_000, 300, 100))
# A quick run divides the numbers of rows by this.
QUICK_SHRINK = 10
# The programs of processes. Each fits few rows first, so that libraries are loaded.
PROGRAM = """
import json, sys, time
import numpy as np
path, k, low, high, system = json.loads(sys.argv[1])
rows = np.load(path)
few = rows[:60]
if system == "k-means-constrained":
    from k_means_constrained import KMeansConstrained
    from importlib.metadata import version
    number = version(system)
    make = lambda k, low, high: KMeansConstrained(
        k, size_min=low, size_max=high, n_init=1, random_state=0)
else:
    from projected_kmeans import ProjectedKMeans
    number = None
    limits = lambda low, high: {} if system == "free" else {
        "min_cluster_size": low, "max_cluster_size": high}
    make = lambda k, low, high: ProjectedKMeans(k, random_state=0, **limits(low, high))
make(3, 10, 40).fit(few)
begin = time.perf_counter()
model = make(k, low, high).fit(rows)
seconds = time.perf_counter() - begin
sizes = np.bincount(model.labels_, minlength=k)
means = np.stack([rows[model.labels_ == one].mean(axis=0, dtype=float) for one in range(k)])
inertia = sum(
    float(((rows[model.labels_ == one] - means[one]) ** 2).sum()) for one in range(k))
print(json.dumps({"system": system, "seconds": seconds, "inertia": inertia, "version": number,
                  "smallest": int(sizes.min()), "largest": int(sizes.max())}))
"""


def make_rows(n: int, d: int, k: int) -> Any:
    """Return float32 rows of k Gaussian groups of unequal sizes."""
    stream = np.random.default_rng(0)
    means = MEAN_SPREAD * stream.standard_normal((k, d), dtype=np.float32)
    groups = stream.choice(k, n, p=stream.dirichlet(np.full(k, 5.0)))
    return means[groups] + stream.standard_normal((n, d), dtype=np.float32)


def measure(python: str, settings: list[Any], time_limit: float | None) -> dict[str, Any]:
    """Run one fit in a process of its own; return what it measured."""
    command = [python, "-c", PROGRAM, json.dumps(settings)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=time_limit
        )
    except subprocess.TimeoutExpired:
        return {"system": settings[-1], "seconds": time_limit, "ended": True}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(
    works: list[tuple[int, int, int]], rounds: int, peer: str | None, peer_seconds: float
) -> list[dict[str, Any]]:
    """Measure all works; return the fastest of several rounds, and one round of the peer."""
    found = []
    for n, d, k in works:
        low, high = int(np.ceil(LOW * n / k)), int(HIGH * n / k)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "rows.npy")
            np.save(path, make_rows(n, d, k))
            given = [path, k, low, high]
            best = []
            for system in ("free", "limited"):
                runs = [measure(sys.executable, [*given, system], None) for _ in range(rounds)]
                best.append(min(runs, key=lambda one: one["seconds"]))
            if peer is not None:
                best.append(measure(peer, [*given, "k-means-constrained"], peer_seconds))
        found.append({"n": n, "d": d, "k": k, "low": low, "high": high, "rows": best})
        print(n, d, k, *(f"{one['system']} {one['seconds']:.3g} s" for one in best), flush=True)
    return found


def keep_peers(found: list[dict[str, Any]], known: list[dict[str, Any]]) -> None:
    """Add what was stored of the peer to works that were measured without it: it takes minutes."""
    for one in found:
        for other in known:
            if all(one[name] == other[name] for name in ("n", "d", "k")):
                one["rows"] += [row for row in other["rows"] if row.get("version") is not None]


def main() -> None:
    """Measure all works and store the results; a quick run prints only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, one round, not stored")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--works", type=int, nargs="+", default=list(range(len(WORKS))))
    parser.add_argument("--peer-python", default=None, help="a Python with k-means-constrained")
    parser.add_argument(
        "--peer-seconds", type=float, default=900, help="end the peer after this time"
    )
    options = parser.parse_args()
    works = [WORKS[index] for index in options.works]
    if options.quick:
        run([(n // QUICK_SHRINK, d, k) for n, d, k in works], 1, options.peer_python, 60)
        return
    path, origin = RESULTS / "sizes.json", Origin.now()
    stored = json.loads(path.read_text()) if path.is_file() else {"works": []}
    found = run(works, options.rounds, options.peer_python, options.peer_seconds)
    new = [row for one in found for row in one["rows"]]
    if options.peer_python is None:
        keep_peers(found, stored["works"])
    sizes = {(one["n"], one["d"], one["k"]) for one in found}
    found += [one for one in stored["works"] if (one["n"], one["d"], one["k"]) not in sizes]
    found.sort(key=lambda one: int(one["n"]))
    rows = [row for one in found for row in one["rows"]]
    origins = join_rows(stored, rows, new, origin.describe(N_THREADS))
    store_results("sizes", {"benchmark": "sizes", **origins, "works": found})


if __name__ == "__main__":
    main()
