"""Fit rows from a file under a memory limit, beside the fit of the same rows in memory.

Run ``python benchmarks/bench_storage.py [--quick]``; it writes results/storage.json. A file of 4 GB
is written to a temporary folder and removed. Each fit runs in a process of its own, whose time and
peak memory are measured, and the memory that it had before it read the first row.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import store_results
from provenance import Origin

N_CLUSTERS = 100
N_COLUMNS = 1024
# Rows in memory (None), and rows in a file under limits, with the default map and with signs.
LIMITS = (None, "1GB", "300MB")
PROJECTIONS = ("auto", "sign")
PART_ROWS = 20_000

# Fewer rows under lower limits, of which only the peaks are of interest.
SMALL_ROWS = 100_000
SMALL_LIMITS = {"auto": (None, "200MB", "80MB"), "sign": ("80MB", "40MB")}

# The program of a process. The peak is VmHWM, which includes mapped pages of files. The peak of
# getrusage would include that of the parent process.
PROGRAM = """
import json, re, sys, time
from pathlib import Path
import numpy as np
from projected_kmeans import ProjectedKMeans
from projected_kmeans.sources.open_rows import open_rows
path, limit, projection, n_clusters = json.loads(sys.argv[1])
status = Path("/proc/self/status")
peak = lambda: 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1])
ProjectedKMeans(2, random_state=0).fit(np.eye(64, dtype=np.float32))
base = peak()
begin = time.perf_counter()
X = np.load(path) if limit is None else open_rows(path)
model = ProjectedKMeans(n_clusters, projection=projection, memory_limit=limit, random_state=0)
model.fit(X)
print(json.dumps({
    "limit": limit, "projection": projection, "seconds": time.perf_counter() - begin,
    "base_bytes": base, "peak_bytes": peak(), "inertia": model.inertia_,
    "steps": model.timings_, "n_components": model.n_components_,
}))
"""


def save_rows(path: Path, n_rows: int, n_columns: int) -> None:
    """Write clustered float32 rows, a part at a time."""
    stream = np.random.default_rng(0)
    means = stream.standard_normal((N_CLUSTERS, n_columns), dtype=np.float32)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n_columns))
    for start in range(0, n_rows, PART_ROWS):
        stop = min(start + PART_ROWS, n_rows)
        homes = stream.integers(N_CLUSTERS, size=stop - start)
        noise = stream.standard_normal((stop - start, n_columns), dtype=np.float32)
        rows[start:stop] = means[homes] + 2 * noise
    rows.flush()


def measure(path: Path, limit: str | None, projection: str, n_clusters: int) -> dict[str, Any]:
    """Fit the rows of a file in a process of its own; return its time, memory and inertia."""
    settings = json.dumps([str(path), limit, projection, n_clusters])
    command = [sys.executable, "-c", PROGRAM, settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(
    n_rows: int,
    n_columns: int,
    n_clusters: int,
    projections: Sequence[str] = PROJECTIONS,
    limits: Sequence[str | None] = LIMITS,
) -> list[dict[str, Any]]:
    """Return one measurement for each map and limit; raise if the disk has no room for the rows."""
    with tempfile.TemporaryDirectory(prefix="projected-kmeans-") as folder:
        needed = 5 * n_rows * n_columns  # the rows, and the sketch in a file
        if shutil.disk_usage(folder).free < needed:
            raise SystemExit(f"{folder} has less than {needed / 1e9:.1f} GB left; set TMPDIR")
        path = Path(folder) / "rows.npy"
        save_rows(path, n_rows, n_columns)
        return [
            measure(path, limit, projection, n_clusters)
            for projection in projections
            for limit in limits
        ]


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows; stores nothing")
    if parser.parse_args().quick:
        print(run(SMALL_ROWS, N_COLUMNS, N_CLUSTERS))
        return
    n_rows, origin = 1_000_000, Origin.now()
    small = [
        fit
        for projection, limits in SMALL_LIMITS.items()
        for fit in run(SMALL_ROWS, N_COLUMNS, N_CLUSTERS, [projection], limits)
    ]
    fits = run(n_rows, N_COLUMNS, N_CLUSTERS)
    sizes = {"n": n_rows, "d": N_COLUMNS, "k": N_CLUSTERS}
    document = {**origin.describe(os.cpu_count() or 1), **sizes, "fits": fits}
    store_results("storage", {**document, "small": {"n": SMALL_ROWS, "fits": small}})


if __name__ == "__main__":
    main()
