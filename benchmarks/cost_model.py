"""A model of the costs of a default fit on a Dask cluster: bytes read, bytes moved, seconds.

Computes the costs of every step from sizes and constants; ``dask_costs.py`` measures the constants.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from projected_kmeans.search.swaps import choose_split_rows

ITEMSIZE = 4

# The planner takes 64 principal directions from 20 clusters on; they are found and judged from a
# sample of this many rows.
N_COMPONENTS = 64
SAMPLE_ROWS = 80 * N_COMPONENTS + 1024

# Walks over the sketch in a round of swaps: distances to the second nearest centers, what removals
# cost, the farthest rows, labels, and what all rows say of halves.
WALKS_OF_SWAPS = 6

# Near centers that a pass over the original rows compares each row with.
N_CANDIDATES = 32

# Bytes of messages of Dask through the client for each block of a walk, both ways, as
# `bench_client.py` measures them.
MESSAGE_BYTES = 2_400

# Tasks of a block and pass that the scheduler remembers, so that it can make lost labels and bounds
# again, and bytes of each. Measured for 300 blocks: 5 kB a task.
REMEMBERED_TASKS, TASK_BYTES = 4, 5_000


@dataclass(frozen=True)
class Constants:
    """Rates of a machine, in bytes of rows per second unless stated otherwise.

    Attributes
    ----------
    read : float
        Bytes that a machine reads from its disk.
    reduce, lift, polish : float
        Bytes that one core sketches; sums by cluster; or assigns to the nearest candidate and sums.
    lloyd : float
        Products of coordinates of rows and centers per second of one core, in a pass on the sketch.
    directions : float
        Seconds to find the directions from the sample.
    walk, block : float
        Seconds of a walk over one block, and of the scheduler for each further block.
    network : float
        Bytes that the client sends or receives.
    """

    read: float
    reduce: float
    lift: float
    polish: float
    lloyd: float
    directions: float
    walk: float
    block: float
    network: float


@dataclass(frozen=True)
class Job:
    """The sizes of a fit, and the machines that compute it.

    Attributes
    ----------
    n, d, k : int
        Rows, columns, clusters. The model holds from 128 clusters on, which have candidates.
    machines, cores : int
        Machines with workers, and cores of each.
    block_bytes : float
        Bytes of a block of rows.
    passes, polish_passes : int
        Passes of Lloyd's method on the sketch, and on the rows.
    sampled : int
        Rows of the sketch on the levels before the last.
    swap_rounds : int
        Rounds of swaps on all rows of the sketch.
    gathered : bool
        Whether the sketch is brought to the client rather than kept by the workers.
    client_cores : int
        Cores of the client.
    """

    n: int
    d: int
    k: int
    machines: int = 1
    cores: int = 2
    block_bytes: float = 2**26
    passes: int = 30
    polish_passes: int = 1
    sampled: int = 0
    swap_rounds: int = 0
    gathered: bool = True
    client_cores: int = 2

    @property
    def data_bytes(self) -> int:
        """Bytes of all rows."""
        return self.n * self.d * ITEMSIZE

    @property
    def n_blocks(self) -> int:
        """Blocks of rows."""
        return -int(-self.data_bytes // self.block_bytes)

    @property
    def label_bytes(self) -> int:
        """Bytes of all labels when they are sent."""
        return self.n * (1 if self.k <= 2**8 else 2 if self.k <= 2**16 else 4)

    @property
    def client_bytes(self) -> int:
        """Bytes in the client's memory beside the program: samples, sums and sets of centers.

        With the sketch at the client also the sketch, labels, bounds, and what is sent of each row.
        """
        samples = SAMPLE_ROWS * self.d + self.sampled * N_COMPONENTS
        state = 8 + 34
        of_rows = self.n * (N_COMPONENTS * ITEMSIZE + state) if self.gathered else 0
        return samples * ITEMSIZE + 8 * 8 * self.k * self.d + of_rows

    @property
    def scheduler_bytes(self) -> int:
        """Bytes of what the scheduler remembers of all passes over labels."""
        n_passes = self.polish_passes + (0 if self.gathered else self.passes)
        return self.n_blocks * n_passes * REMEMBERED_TASKS * TASK_BYTES


@dataclass(frozen=True)
class Cost:
    """What a step reads from files and moves to or from the client, in bytes, and its seconds."""

    step: str
    read: float
    moved: float
    seconds: float


def predict(job: Job, constants: Constants) -> list[Cost]:
    """Return the cost of every step.

    Workers read a block while they compute on another, so that the slower of both counts.
    """
    return list(_predict(job, constants))


def _predict(job: Job, rates: Constants) -> Iterator[Cost]:
    sums = 16 * job.k * (job.d + 2)
    sample = SAMPLE_ROWS * job.d * ITEMSIZE
    sketch = job.n * N_COMPONENTS * ITEMSIZE
    brought = sketch if job.gathered else 0
    extra = rates.directions + 2 * rates.walk
    yield _predict_walk(job, rates, "reduce", rates.reduce, sample + brought, extra)
    yield _predict_cluster(job, rates)
    labels = job.label_bytes if job.gathered else 0
    references = job.k * job.d * ITEMSIZE
    yield _predict_walk(job, rates, "lift", rates.lift, references + labels + sums)
    # The passes, and the last labelling, which measures a row about as often as a pass.
    passes = (job.polish_passes + 1) * (2 * labels + sums)
    walks = [
        _predict_walk(job, rates, "polish", rates.polish, passes / (job.polish_passes + 1))
        for _ in range(job.polish_passes + 1)
    ]
    yield Cost("polish", *(sum(column) for column in zip(*map(_numbers, walks), strict=True)))


def _numbers(cost: Cost) -> tuple[float, float, float]:
    return cost.read, cost.moved, cost.seconds


def _predict_walk(
    job: Job, rates: Constants, step: str, rate: float, moved: float, extra: float = 0.0
) -> Cost:
    """Return the cost of a walk over the rows.

    The scheduler hands out blocks while workers read and compute, so that the slowest counts.
    """
    cores = job.machines * job.cores
    working = max(
        job.data_bytes / rate / cores,
        job.data_bytes / rates.read / job.machines,
        rates.block * job.n_blocks,
    )
    moved += MESSAGE_BYTES * job.n_blocks
    seconds = rates.walk + working + moved / rates.network + extra
    return Cost(step, job.data_bytes, moved, seconds)


def _predict_cluster(job: Job, rates: Constants) -> Cost:
    """Return the cost of Lloyd's passes. Bounds, which save some of it, are left out.

    If the sketch stays on the workers, samples of it come to the client: those of the first levels,
    and in every round of swaps one on which clusters are divided.
    """
    products = job.n * N_COMPONENTS * job.k
    if job.gathered:
        return Cost("cluster", 0, 0, job.passes * products / rates.lloyd / job.client_cores)
    sums = 16 * job.k * (N_COMPONENTS + 2)
    row = N_COMPONENTS * ITEMSIZE
    walks = job.passes + 6 + WALKS_OF_SWAPS * job.swap_rounds
    sampled = job.sampled + job.swap_rounds * len(choose_split_rows(job.n, job.k))
    moved = job.passes * sums + sampled * row + walks * MESSAGE_BYTES * job.n_blocks
    handing_out = rates.block * job.n_blocks
    working = max(products / rates.lloyd / (job.machines * job.cores), handing_out)
    seconds = job.passes * working + 6 * handing_out + walks * rates.walk + moved / rates.network
    return Cost("cluster", 0, moved, seconds)


@dataclass(frozen=True)
class Network:
    """Who hands blocks out, and how long messages take.

    Attributes
    ----------
    scheduler, client : float
        Processor time for each block of a walk, in seconds.
    latency : float
        Seconds that a message takes.
    spread : float
        How much the times of blocks differ: the standard deviation of their logarithms.
    """

    scheduler: float
    client: float
    latency: float
    spread: float = 0.3


def simulate_walk(n_blocks: int, n_cores: int, seconds: float, network: Network) -> float:
    """Return the seconds of a walk, from the client's first message to its last.

    Every event of the walk is followed: the client describes all blocks; the scheduler hands one to
    each core and hears of its end, one message after the other; a core waits for its next block
    from the end of one to the arrival of the other. Totals are merged eight at a time in the end.

    Parameters
    ----------
    n_blocks, n_cores : int
        Blocks, and cores of all workers.
    seconds : float
        What a core takes for a block, on average.
    network : Network
        Who hands them out.
    """
    stream = random.Random(0)
    begin = n_blocks * network.client + network.latency
    half = network.scheduler / 2  # to hand a block out, and to hear of its end
    free, ends, left = begin, list[float](), n_blocks
    waiting = min(n_cores, n_blocks)
    while left or ends:
        if waiting and left:
            free, waiting, left = free + half, waiting - 1, left - 1
            took = seconds * stream.lognormvariate(-(network.spread**2) / 2, network.spread)
            heapq.heappush(ends, free + 2 * network.latency + took)
        else:
            free, waiting = max(free, heapq.heappop(ends)) + half, waiting + 1
    n_merges = math.ceil(math.log(max(n_blocks, 2), 8))
    return free + n_merges * (2 * network.latency + network.scheduler)
