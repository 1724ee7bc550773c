"""Measure what the client of a Dask cluster keeps and gets during fits of more and more rows.

Run ``python benchmarks/bench_client.py [--quick]``; it writes results/client.json. A file of 5 GB
is written to a temporary folder and removed. The scheduler and two workers are processes of their
own, and so is each client, whose peak memory is measured. All messages that it gets and sends are
counted in bytes, those of Dask itself included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_storage import save_rows
from measuring import store_results
from provenance import Origin

N_ROWS = (1_250_000, 5_000_000, 20_000_000)
N_COLUMNS, N_CLUSTERS, BLOCK_ROWS = 64, 100, 250_000
N_WORKERS = 2

# Passes over all rows, the same number for all sizes.
N_PASSES = 10

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )
    print(cluster.scheduler_address, flush=True)
    input()
"""

CLIENT = """
import json, re, sys, time
from pathlib import Path
import dask.array as da
import distributed.comm.tcp as tcp
import numpy as np
from dask.delayed import delayed
from distributed import Client
from projected_kmeans import ProjectedKMeans

path, address, n_rows, n_columns, n_clusters, block_rows, max_iter = json.loads(sys.argv[1])
status, moved = Path("/proc/self/status"), [0, 0]


def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1])


def count(frames, place):
    moved[place] += sum(memoryview(frame).nbytes for frame in frames)
    return frames


from_frames, to_frames = tcp.from_frames, tcp.to_frames


async def received(frames, *rest, **options):
    return await from_frames(count(frames, 0), *rest, **options)


async def sent(*rest, **options):
    return count(await to_frames(*rest, **options), 1)


tcp.from_frames, tcp.to_frames = received, sent


def read(path, start, stop):
    return np.array(np.load(path, mmap_mode="r")[start:stop])


passes = []


def note(state):
    if state.step == "cluster":
        passes.append((state.total, state.iteration, *moved, time.perf_counter()))


with Client(address) as client:
    parts = [
        da.from_delayed(
            delayed(read)(path, start, min(start + block_rows, n_rows)),
            (min(block_rows, n_rows - start), n_columns),
            np.float32,
        )
        for start in range(0, n_rows, block_rows)
    ]
    X = da.concatenate(parts)
    ProjectedKMeans(2, random_state=0).fit(np.eye(64, dtype=np.float32))
    base, begin = peak(), time.perf_counter()
    model = ProjectedKMeans(n_clusters, random_state=0, max_iter=max_iter, callback=note)
    model.fit(X, client=client)
    seconds = time.perf_counter() - begin
    fitted = peak()
    document = {
        "n": n_rows, "blocks": X.numblocks[0], "seconds": seconds, "base_bytes": base,
        "peak_bytes": fitted, "received": moved[0], "sent": moved[1],
        "passes": model.n_iter_, "inertia": model.inertia_, "steps": model.timings_,
        "last": passes[-model.n_iter_:],
        "rows_labelled": int((model.labels_ >= 0).sum().compute()),
    }
print(json.dumps(document))
"""


@contextmanager
def start_cluster(n_workers: int) -> Iterator[tuple[str, int]]:
    """Start a scheduler and workers as processes; yield the scheduler's address and process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "cluster.py"
        program.write_text(CLUSTER)
        with subprocess.Popen(
            [sys.executable, str(program), str(n_workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            try:
                yield process.stdout.readline().strip(), process.pid
            finally:
                process.stdin.close()
                process.wait(60)


def measure(
    path: Path, sizes: Sequence[int], n_clusters: int, block_rows: int, n_passes: int
) -> list[Any]:
    """Return what a client kept and moved in a fit of the first rows of a file, for each size."""
    found = []
    for n_rows in sizes:
        with start_cluster(N_WORKERS) as (address, scheduler):
            base = read_peak(scheduler)
            job = [str(path), address, n_rows, N_COLUMNS, n_clusters, block_rows, n_passes]
            ended = subprocess.run(
                [sys.executable, "-c", CLIENT, json.dumps(job)],
                capture_output=True,
                text=True,
                check=True,
            )
            kept = {"scheduler_base": base, "scheduler_peak": read_peak(scheduler)}
        document = json.loads(ended.stdout.splitlines()[-1])
        passes = describe_passes(document.pop("last"))
        found.append(document | kept | passes)
    return found


def read_peak(process: int) -> int:
    """Return the largest memory that a process has had so far, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return 1024 * int(lines["VmHWM"].split()[0])


def describe_passes(last: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return the bytes that the client got and sent in a pass over all rows, on average."""
    n_passes = len(last) - 1
    return {
        "received_a_pass": (last[-1][2] - last[0][2]) / n_passes,
        "sent_a_pass": (last[-1][3] - last[0][3]) / n_passes,
        "seconds_a_pass": (last[-1][4] - last[0][4]) / n_passes,
    }


def run(
    sizes: Sequence[int], n_clusters: int, block_rows: int, n_passes: int = N_PASSES
) -> dict[str, Any]:
    """Return the sizes of the fits, and what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        save_rows(path, max(sizes), N_COLUMNS)
        fits = measure(path, sizes, n_clusters, block_rows, n_passes)
    return {
        "columns": N_COLUMNS,
        "clusters": n_clusters,
        "block_rows": block_rows,
        "workers": N_WORKERS,
        "passes": n_passes,
        "fits": fits,
    }


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="measure small sizes and store nothing"
    )
    parser.add_argument("--passes", type=int, default=N_PASSES, help="passes over all rows, > 1")
    options = parser.parse_args()
    if options.quick:
        print(json.dumps(run((40_000, 80_000), 20, 10_000), indent=1))
        return
    origin = Origin.now()
    document = run(N_ROWS, N_CLUSTERS, BLOCK_ROWS, options.passes)
    store_results("client", origin.describe(N_WORKERS, ("dask", "distributed")) | document)


if __name__ == "__main__":
    main()
