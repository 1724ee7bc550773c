"""A model of the costs of a default fit on a Dask cluster: bytes read, bytes moved, seconds.

Computes the costs of every step from sizes and constants; ``dask_costs.py`` measures the constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ITEMSIZE = 4

# The planner takes 64 principal directions from 20 clusters on; they are found and judged from a
# sample of this many rows.
N_COMPONENTS = 64
SAMPLE_ROWS = 80 * N_COMPONENTS + 1024

# Candidates that a polish pass compares each row with, of two bytes each, and number of passes.
N_CANDIDATES = 16
POLISH_PASSES = 1


# Centers that seeding draws in one walk, and how often it brings rows to the client to judge them.
SEEDED_TOGETHER = 80
JUDGED = 3


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
        Seconds of a walk over one block, and of each further block.
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
    passes : int
        Passes of Lloyd's method on the sketch.
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
        """Bytes in the client's memory: two sets of labels, candidates, and the gathered sketch."""
        state = self.n * (8 + 2 * N_CANDIDATES)
        return state + (self.n * (N_COMPONENTS * ITEMSIZE + 34) if self.gathered else 0)


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
    all_cores = job.machines * job.cores
    overhead = rates.walk + rates.block * job.n_blocks
    sums = 16 * job.k * (job.d + 2)

    def cost(step: str, rate: float, moved: float, extra: float = 0.0) -> Cost:
        working = max(job.data_bytes / rate / all_cores, job.data_bytes / rates.read / job.machines)
        return Cost(step, job.data_bytes, moved, overhead + working + moved / rates.network + extra)

    sample = SAMPLE_ROWS * job.d * ITEMSIZE
    sketch = job.n * N_COMPONENTS * ITEMSIZE
    brought = sketch if job.gathered else 0
    yield cost("reduce", rates.reduce, sample + brought, rates.directions + 2 * rates.walk)
    yield _predict_cluster(job, rates)
    references = job.k * job.d * ITEMSIZE
    yield cost("lift", rates.lift, references + job.label_bytes + sums)
    lists = job.n * 2 * N_CANDIDATES
    moved = lists + 2 * job.label_bytes + sums
    for _ in range(POLISH_PASSES):
        yield cost("polish", rates.polish, moved + (0 if job.gathered else lists))


def _predict_cluster(job: Job, rates: Constants) -> Cost:
    """Return the cost of Lloyd's passes. Bounds, which save some of it on the client, are left out.

    If the sketch stays on the workers, seeding also moves the distances of all rows and some rows.
    """
    products = job.passes * job.n * N_COMPONENTS * job.k
    if job.gathered:
        return Cost("cluster", 0, 0, products / rates.lloyd / job.client_cores)
    passes = job.passes * (3 * job.label_bytes + 16 * job.k * (N_COMPONENTS + 2))
    rounds = -(-job.k // SEEDED_TOGETHER) + 1
    seeding = rounds * 2 * ITEMSIZE * job.n + JUDGED * max(4000, 10 * job.k) * 4 * N_COMPONENTS
    overhead = (job.passes + 2 * rounds) * (rates.walk + rates.block * job.n_blocks)
    working = products / rates.lloyd / (job.machines * job.cores)
    moved = passes + seeding
    return Cost("cluster", 0, moved, overhead + working + moved / rates.network)
