"""Measure the constants of the cost model on this machine, and compare the model with fits.

Run ``python benchmarks/dask_costs.py [--quick]``; it writes results/dask.json. Files are written to
a temporary folder and removed. The cluster has two processes of one thread each.
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from bench_storage import save_rows
from cost_model import N_CANDIDATES, N_COMPONENTS, Constants, Job, predict
from dask.delayed import delayed
from distributed import Client, LocalCluster
from measuring import store_results, time_together
from provenance import Origin

from projected_kmeans import ProjectedKMeans, SpectralProjection
from projected_kmeans.blocks.column_scan import CheckedBlocks, scan_columns
from projected_kmeans.blocks.dask.blocks import DaskBlocks
from projected_kmeans.blocks.dask.walks import Arrays
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.tasks import Block, Task
from projected_kmeans.passes.nearest import NearestSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import sketch_rows
from projected_kmeans.search import level, memory_plan
from projected_kmeans.search.swaps import Swaps
from projected_kmeans.sources.open_rows import open_rows

N_COLUMNS = 1024
N_CLUSTERS = 1000
BLOCK_ROWS = 16_384
MANY_BLOCKS = 200

# The fits that the model is compared with. The sketch of the last one stays on the workers, too.
CHECKED_ROWS = (40_000, 80_000, 160_000)
CHECKED_CLUSTERS = 200
N_WORKERS = 2

# Ten gigabits per second: an assumption, because one machine has no network to measure.
NETWORK = 1.25e9


def measure_rates(n_rows: int, n_columns: int, n_clusters: int, repeats: int) -> dict[str, float]:
    """Return the bytes per second of one core in each step, and the seconds of directions."""
    stream = np.random.default_rng(0)
    rows = stream.standard_normal((n_rows, n_columns), dtype=np.float32)
    source = ArrayBlocks(rows)
    learnt = SpectralProjection(N_COMPONENTS, sample_rows=n_rows // 3, random_state=0, n_threads=1)
    learnt.fit(rows)
    sketch = sketch_rows(learnt, source)
    labels = stream.integers(n_clusters, size=n_rows).astype(np.int32)
    problem = Problem(source, scan_columns(source), n_threads=1)
    small = Problem(ArrayBlocks(sketch), scan_columns(ArrayBlocks(sketch)), n_threads=1)
    centers, near = rows[:n_clusters].astype(float), sketch[:n_clusters].astype(float)

    def polish() -> None:
        search, now = NearestSearch(problem, n_clusters, N_CANDIDATES), labels.copy()
        adding = problem.open_sums(centers).adding(now)
        search.assign(centers, now, keep_ties=True, then=[adding])

    def pass_over() -> None:
        now = labels.copy()
        adding = small.open_sums(near).adding(now)
        search = NearestSearch(small, n_clusters, min_work=np.inf)  # without bounds
        search.assign(near, now, keep_ties=True, then=[adding])

    works: dict[str, Callable[[], object]] = {
        "reduce": lambda: sketch_rows(learnt, CheckedBlocks(source, 1)),
        "lift": lambda: problem.sum(labels, centers),
        "polish": polish,
        "lloyd": pass_over,
        "directions": lambda: learnt.learn(source, None),
    }
    seconds = time_together(works, repeats)
    rates = {name: rows.nbytes / seconds[name] for name in ("reduce", "lift", "polish")}
    products = n_rows * N_COMPONENTS * n_clusters
    return rates | {"lloyd": products / seconds["lloyd"], "directions": seconds["directions"]}


def measure_read(path: Path) -> float:
    """Return the bytes per second read from a file that is not in the page cache."""
    with open(path, "rb", buffering=0) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        buffer, begin = bytearray(2**24), time.perf_counter()
        while file.readinto(buffer):
            pass
        return path.stat().st_size / (time.perf_counter() - begin)


def measure_walks(client: Any, n_blocks: int) -> dict[str, float]:
    """Return the seconds of a walk over one block, and of each further block."""
    part = delayed(np.zeros)((4, 2), np.float32)

    def time_walk(n_parts: int) -> float:
        source = DaskBlocks(
            [part] * n_parts, [4] * n_parts, 2, np.dtype(np.float32), Workers.find(client)
        )
        begin = time.perf_counter()
        source.walk(Task(_do_nothing))
        return time.perf_counter() - begin

    time_walk(2)
    one, many = (min(time_walk(size) for _ in range(3)) for size in (1, n_blocks))
    return {"walk": one, "block": max(many - one, 0.0) / max(1, n_blocks - 1)}


def _do_nothing(block: Block) -> None:
    """Do nothing with a block, so that only the overhead of a walk is measured."""


def measure_loopback(client: Any, n_bytes: int) -> float:
    """Return the bytes per second that a worker process of this machine sends to the client."""
    future = client.submit(np.ones, n_bytes, dtype=np.uint8)
    future.result()
    begin = time.perf_counter()
    future.result()
    return n_bytes / (time.perf_counter() - begin)


@contextmanager
def count_moved() -> Iterator[list[int]]:
    """Count the bytes of all that is sent to blocks and brought back while inside."""
    moved: list[int] = []
    send, results_of = Arrays.send, Workers.results_of

    def send_counted(arrays: Arrays, index: int, span: slice) -> list[Any]:
        parts = send(arrays, index, span)
        moved.append(sum(part.nbytes for part in parts if isinstance(part, np.ndarray)))
        return parts

    def results_counted(workers: Workers, futures: Any) -> Iterator[tuple[int, Any]]:
        for place, result in results_of(workers, futures):
            moved.append(len(pickle.dumps(result, protocol=5)))
            yield place, result

    with (
        mock.patch.object(Arrays, "send", send_counted),
        mock.patch.object(Workers, "results_of", results_counted),
    ):
        yield moved


@contextmanager
def count_rounds(n_rows: int) -> Iterator[list[int]]:
    """List the rounds of swaps that divide clusters of all rows while inside."""
    rounds: list[int] = []
    propose = level.propose_swaps

    def propose_counted(problem: Problem, *known: Any) -> Swaps:
        if problem.source.shape[0] == n_rows and known[-1] is not None:
            rounds.append(1)
        return propose(problem, *known)

    with mock.patch.object(level, "propose_swaps", propose_counted):
        yield rounds


def check_fit(
    client: Any, path: Path, n_clusters: int, constants: Constants, *, gathered: bool = True
) -> dict[str, Any]:
    """Return the measured and the predicted costs of a fit of a file."""
    rows = open_rows(path)
    n_rows, n_columns = rows.shape
    model = ProjectedKMeans(n_clusters, projection="svd", polish_iter=1, random_state=0)
    largest = 2**40 if gathered else 0  # by itself a fit counts with the largest t
    with (
        count_moved() as moved,
        count_rounds(n_rows) as rounds,
        mock.patch.object(memory_plan, "MAX_SKETCH_BYTES", largest),
    ):
        model.fit(rows, client=client)
    approach = model.approach_
    job = Job(
        n_rows,
        n_columns,
        n_clusters,
        passes=model.n_iter_,
        polish_passes=approach.polish_iter,
        sampled=sum(approach.level_rows[:-1]),
        swap_rounds=sum(rounds),
        gathered=gathered,
    )
    # The file was written just before and is in the page cache.
    costs = predict(job, replace(constants, read=float("inf")))
    return {
        "n": n_rows,
        "gathered": gathered,
        "passes": model.n_iter_,
        "moved": sum(moved),
        "predicted_moved": sum(cost.moved for cost in costs),
        "steps": {
            cost.step: {"seconds": model.timings_[cost.step], "predicted": cost.seconds}
            for cost in costs
        },
    }


def run(
    sizes: tuple[int, ...], n_columns: int, n_clusters: int, block_rows: int, n_blocks: int
) -> dict[str, Any]:
    """Return the constants of this machine, and fits of several sizes beside the model."""
    rates = measure_rates(block_rows, n_columns, min(N_CLUSTERS, block_rows // 4), 3)
    cluster = LocalCluster(
        n_workers=N_WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with tempfile.TemporaryDirectory() as folder, cluster, Client(cluster) as client:
        paths = [Path(folder) / f"{n_rows}.npy" for n_rows in sizes]
        for n_rows, path in zip(sizes, paths, strict=True):
            save_rows(path, n_rows, n_columns)
        walks = measure_walks(client, n_blocks)
        loopback = measure_loopback(client, 2**26)
        here = Constants(read=measure_read(paths[-1]), network=loopback, **rates, **walks)
        check_fit(client, paths[0], n_clusters, here)  # the workers import their modules
        checks = [check_fit(client, path, n_clusters, here) for path in paths]
        checks.append(check_fit(client, paths[-1], n_clusters, here, gathered=False))
    return {
        "columns": n_columns,
        "clusters": n_clusters,
        "constants": asdict(here),
        "assumed_network": NETWORK,
        "checks": checks,
    }


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="measure small sizes and store nothing"
    )
    if parser.parse_args().quick:
        run((12_000,), 64, 130, 2048, 20)
        return
    origin = Origin.now()
    document = run(CHECKED_ROWS, N_COLUMNS, CHECKED_CLUSTERS, BLOCK_ROWS, MANY_BLOCKS)
    store_results("dask", origin.describe(N_WORKERS, ("dask", "distributed")) | document)


if __name__ == "__main__":
    main()
