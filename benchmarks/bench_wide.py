"""Time fits of very wide rows beside scikit-learn, and long fits in units of reading their rows.

Run ``python benchmarks/bench_wide.py [--quick]``; it writes results/wide.json, and ``render.py``
draws it. Each fit runs in a process of its own, whose seconds, steps and peak of memory are
measured. scikit-learn's KMeans makes one run from its own seeding.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse
from data_sets import make_mixture
from measuring import RESULTS, store_results
from provenance import Origin, join_rows

N_THREADS = 2

# Of the nonzeros of a sparse row, this share lies in the columns of its group, which has so many.
GROUP_SHARE, GROUP_COLUMNS = 0.5, 1000
# The means of dense groups have this standard deviation in each column; the noise has 1.
MEAN_SPREAD = 0.3

# A quick run divides the numbers of rows by this.
QUICK_SHRINK = 20

# The program of a process. It fits few rows first, so that libraries are loaded.
PROGRAM = """
import json, sys, time
import numpy as np
import scipy.sparse
sys.path.insert(0, sys.argv[1])
from measured_fit import start_peak
from fit_process import peak_kilobytes
from measuring import read_array
from projected_kmeans import ProjectedKMeans, clustering_accuracy
from sklearn.cluster import KMeans
path, k, system, n_threads = json.loads(sys.argv[2])
rows = scipy.sparse.load_npz(path) if path.endswith("npz") else np.load(path)
groups = np.load(path + ".groups.npy")
make = {
    "ours": lambda: ProjectedKMeans(k, random_state=0),
    "scikit-learn": lambda: KMeans(k, n_init=1, random_state=0),
}[system]
make().fit(rows[: 2 * k + 10])
before = start_peak()
begin = time.perf_counter()
model = make().fit(rows)
seconds = time.perf_counter() - begin
extra = None if before is None else 1024 * (peak_kilobytes() - before)
reading = []
for _ in range(5):
    begin = time.perf_counter()
    read_array(rows.data if scipy.sparse.issparse(rows) else rows, n_threads)
    reading.append(time.perf_counter() - begin)
print(json.dumps({
    "system": system, "seconds": seconds, "inertia": float(model.inertia_),
    "accuracy": clustering_accuracy(groups, model.labels_), "extra_bytes": extra,
    "read_seconds": min(reading), "steps": dict(getattr(model, "timings_", {})),
    "reason": getattr(getattr(model, "approach_", None), "reason", None),
}))
"""


@dataclass(frozen=True)
class Work:
    """Rows and the number of clusters; those that are not sparse are dense float32."""

    n: int
    d: int
    k: int
    n_nonzeros: int | None = None
    with_peer: bool = True


WORKS: Mapping[str, Work] = MappingProxyType(
    {
        "sparse": Work(20_000, 1_000_000, 30, n_nonzeros=200),
        "few rows": Work(600, 200_000, 10),
        "some rows": Work(3000, 30_000, 20),
        "like photographs": Work(50_000, 3072, 100, with_peer=False),
        "like digits": Work(60_000, 784, 64, with_peer=False),
    }
)


def make_sparse(work: Work, stream: np.random.Generator) -> tuple[Any, Any]:
    """Return CSR rows of planted groups: entries from 1 to 2 in columns of the group and others."""
    assert work.n_nonzeros is not None
    shape = (work.n, work.n_nonzeros)
    groups = stream.integers(work.k, size=work.n)
    own = np.stack([stream.choice(work.d, GROUP_COLUMNS) for _ in range(work.k)])
    columns = np.where(
        stream.random(shape) < GROUP_SHARE,
        own[groups[:, None], stream.integers(GROUP_COLUMNS, size=shape)],
        stream.integers(work.d, size=shape),
    )
    values = 1 + stream.random(shape, dtype=np.float32)
    starts = np.arange(0, columns.size + 1, work.n_nonzeros)
    rows = scipy.sparse.csr_matrix((values.ravel(), columns.ravel(), starts), (work.n, work.d))
    rows.sum_duplicates()
    return rows, groups


def make_dense(work: Work, stream: np.random.Generator) -> tuple[Any, Any]:
    """Return dense rows of planted groups with much noise; without a peer, of a mixture."""
    if not work.with_peer:
        return make_mixture(1, work.n, work.d), np.zeros(work.n, int)
    groups = stream.integers(work.k, size=work.n)
    means = stream.standard_normal((work.k, work.d), dtype=np.float32) * np.float32(MEAN_SPREAD)
    rows = stream.standard_normal((work.n, work.d), dtype=np.float32)
    for group in range(work.k):
        rows[groups == group] += means[group]
    return rows, groups


def store_work(work: Work, folder: Path) -> Path:
    """Write the rows of a work and their planted groups; return the file of the rows."""
    make = make_dense if work.n_nonzeros is None else make_sparse
    rows, groups = make(work, np.random.default_rng(0))
    path = folder / ("rows.npy" if work.n_nonzeros is None else "rows.npz")
    if work.n_nonzeros is None:
        np.save(path, rows)
    else:
        scipy.sparse.save_npz(path, rows, compressed=False)
    np.save(folder / f"{path.name}.groups.npy", groups)
    return path


def measure(path: Path, work: Work, system: str) -> dict[str, Any]:
    """Fit stored rows in a process of its own; return what it measured."""
    settings = json.dumps([str(path), work.k, system, N_THREADS])
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(works: Mapping[str, Work], rounds: int) -> dict[str, Any]:
    """Measure all works; return the fastest of several rounds of each system."""
    found: dict[str, Any] = {}
    for name, work in works.items():
        with tempfile.TemporaryDirectory() as folder:
            path = store_work(work, Path(folder))
            systems = ["ours", "scikit-learn"] if work.with_peer else ["ours"]
            runs = [measure(path, work, system) for _ in range(rounds) for system in systems]
        best = [min(_of(runs, system), key=lambda one: one["seconds"]) for system in systems]
        found[name] = {"n": work.n, "d": work.d, "k": work.k, "nonzeros": work.n_nonzeros}
        found[name]["rows"] = best
        print(name, *(f"{one['system']} {one['seconds']:.3g} s" for one in best), flush=True)
    return found


def _of(runs: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    return [one for one in runs if one["system"] == system]


def main() -> None:
    """Measure all works and store the results; a quick run prints only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, one round, not stored")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    works = {name: WORKS[name] for name in options.works}
    if options.quick:
        shrunk = {name: shrink(work) for name, work in works.items()}
        run(shrunk, 1)
        return
    path, origin = RESULTS / "wide.json", Origin.now()
    stored = json.loads(path.read_text()) if path.is_file() else {"works": {}}
    new = run(works, options.rounds)
    found = stored["works"] | new
    ordered = {name: found[name] for name in WORKS if name in found}
    described = origin.describe(N_THREADS)
    origins = join_rows(stored, list(ordered.values()), list(new.values()), described)
    store_results("wide", {"benchmark": "wide", **origins, "works": ordered})


def shrink(work: Work) -> Work:
    """Return the work with fewer rows."""
    n = max(work.n // QUICK_SHRINK, 2 * work.k)
    return Work(n, work.d, work.k, work.n_nonzeros, work.with_peer)


if __name__ == "__main__":
    main()
