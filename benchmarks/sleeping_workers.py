"""Measure walks over workers that only sleep: what Dask's scheduler and client take for a block.

Run ``python benchmarks/sleeping_workers.py [--quick]``; it writes results/workers.json. Scheduler,
workers and client are those of Dask, in three processes that talk over the loopback. All workers
share one process. In place of kernels they sleep, and each of their messages waits before it is
sent, as in a network. The processor time of the scheduler and of the client, for each block, goes
into the simulation of 100 machines in ``cost_model.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from dask.delayed import delayed
from distributed import Client
from measuring import store_results
from numpy.typing import NDArray
from provenance import Origin

from projected_kmeans.blocks.dask.blocks import DaskBlocks
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.blocks.tasks import Block, Task, add, update

N_WORKERS, N_BLOCKS = 10, (100, 400, 800)

# Seconds that a worker takes for a block, and that a message waits before it is sent.
WORK, LATENCY = 0.05, 1e-3

SCHEDULER = """
import asyncio
from distributed import Scheduler


async def serve():
    async with Scheduler(host="127.0.0.1", dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, input)


asyncio.run(serve())
"""

WORKERS = """
import asyncio, sys
import distributed.comm.tcp as tcp
from distributed import Worker

address, n_workers, latency = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
write = tcp.TCP.write


async def write_late(self, *words, **options):
    await asyncio.sleep(latency)
    return await write(self, *words, **options)


tcp.TCP.write = write_late


async def serve():
    made = [
        Worker(address, nthreads=1, dashboard=False, memory_limit=0, host="127.0.0.1")
        for _ in range(n_workers)
    ]
    await asyncio.gather(*made)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, input)
    await asyncio.gather(*(one.close() for one in made))


asyncio.run(serve())
"""


@contextmanager
def _start(program: str, *words: object) -> Iterator[tuple[str, int]]:
    """Start a program; yield the line that it prints and its process."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _read_seconds(process: int) -> float:
    """Return the processor time that a process has taken."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sleep(seconds: float, block: Block, labels: NDArray[Any], total: NDArray[Any]) -> None:
    """Take time in place of a kernel, with an array that stays and a total that is merged."""
    time.sleep(seconds)
    labels += 1
    total += 1


def time_walks(client: Any, scheduler: int, n_blocks: int, work: float) -> dict[str, float]:
    """Return the seconds of a walk, and the processor time of the scheduler and of the client."""
    part = delayed(np.zeros)((4, 2), np.float32)
    source = DaskBlocks(
        [part] * n_blocks, [4] * n_blocks, 2, np.dtype(np.float32), Workers.find(client)
    )
    labels, total = source.new_row_array(np.dtype(np.int32), 0), np.zeros(1)
    task = Task(partial(sleep, work), (update(labels), add(total)))
    source.walk(task)
    before = _read_seconds(scheduler), time.process_time(), time.perf_counter()
    source.walk(task)
    after = _read_seconds(scheduler), time.process_time(), time.perf_counter()
    assert total[0] == 2 * n_blocks
    spent = dict(
        zip(("scheduler", "client", "seconds"), np.subtract(after, before).tolist(), strict=True)
    )
    return {"blocks": n_blocks} | spent


def run(n_workers: int, sizes: Sequence[int], work: float, latency: float) -> dict[str, Any]:
    """Return what walks over some numbers of blocks take."""
    with (
        _start(SCHEDULER) as (address, scheduler),
        _start(WORKERS, address, n_workers, latency),
        Client(address) as client,
    ):
        client.wait_for_workers(n_workers)
        walks = [time_walks(client, scheduler, n_blocks, work) for n_blocks in sizes]
    return {"workers": n_workers, "work": work, "latency": latency, "walks": walks}


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="measure small sizes and store nothing"
    )
    if parser.parse_args().quick:
        print(json.dumps(run(4, (20, 80), WORK, LATENCY), indent=1))
        return
    origin = Origin.now()
    document = run(N_WORKERS, N_BLOCKS, WORK, LATENCY)
    store_results("workers", origin.describe(N_WORKERS, ("dask", "distributed")) | document)


if __name__ == "__main__":
    main()
