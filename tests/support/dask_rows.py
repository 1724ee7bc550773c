"""Rows for tests of Dask: some arrays, their fits in memory, and clusters that are quick to start.

Nothing here is tested itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.dask.clusters import SLOW_STARTS
from tests.support.stored_rows import draw_eighths

# Enough rows that principal directions are found from a sample.
N, D, K = 13_000, 48, 5
ROWS = draw_eighths(1, N, D, K).astype(np.float32)
SIGN = {"projection": "sign", "n_components": 16, "solver": "lloyd", "n_init": 1}

# Parameters of fits, by name.
OPTIONS: dict[str, dict[str, Any]] = {
    "sign": SIGN,
    "sparse-sign": {**SIGN, "projection": "sparse-sign"},
    "default": {},
    "none": {"projection": None, "solver": "lloyd", "n_init": 1, "max_iter": 5},
    "finalists": {"projection": "sign", "n_components": 16, "solver": "lloyd", "n_init": 2},
    "k-means||": {**SIGN, "init": "k-means||"},
    "cosine": {"metric": "cosine", **SIGN},
}

# Even blocks; uneven ones, one of them empty; and blocks of some columns each.
CHUNKS: dict[str, Any] = {
    "even": (2000, D),
    "uneven": ((700, 5300, 0, 1, 6999), (D,)),
    "columns": (4000, 20),
}


def fit(X: Any, options: dict[str, Any] | None = None, **others: Any) -> ProjectedKMeans:
    """Return a fit with a fixed key."""
    given = {name: others.pop(name) for name in ("client", "sample_weight") if name in others}
    return ProjectedKMeans(K, random_state=3, **(options or SIGN), **others).fit(X, **given)


def sparse_blocks(rows: NDArray[Any], n_rows: int) -> Any:
    """Return the Dask array of some rows as CSR blocks."""
    return da.from_array(rows, chunks=(n_rows, -1)).map_blocks(scipy.sparse.csr_matrix)


def forget_lengths(array: Any) -> Any:
    """Return the same rows in blocks of which nobody knows the lengths."""
    found = array.map_blocks(lambda block: block)
    found._chunks = ((np.nan,) * array.numblocks[0], *array.chunks[1:])
    return found


@contextmanager
def open_cluster(n_workers: int, *, processes: bool = False) -> Iterator[Client]:
    """Start workers, as threads of this process or as processes, and yield their client."""
    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address="127.0.0.1:0",
    )
    with (
        dask.config.set(SLOW_STARTS),
        cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


# Starts a scheduler with one worker of its own process, and prints where it is.
SCHEDULER = """
from distributed import LocalCluster
cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
print(cluster.scheduler_address, flush=True)
input()
"""


@contextmanager
def start_scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process with a scheduler that can be killed; yield the process and the address."""
    with subprocess.Popen(
        [sys.executable, "-c", SCHEDULER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()
