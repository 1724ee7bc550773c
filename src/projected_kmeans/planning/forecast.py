"""What an approach will cost on this machine: seconds of each step, and memory.

Predicts from sizes and a few milliseconds of measured speed; it decides nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from projected_kmeans import _native
from projected_kmeans.planning.approach import Approach, Sizes
from projected_kmeans.projections.spectral import MIN_SAMPLE, SAMPLE_A_DIRECTION

# Passes of Lloyd's method to a plateau, in a subsample and after it, and the share of distances
# that bounds leave to be measured, as on digits and mixtures.
SUBSAMPLE_PASSES, PASSES, MEASURED_SHARE = 35, 30, 0.35

# A product of sparse rows with centers gathers them from far; seconds that a center of a seeding
# and a row of a pass take beside their distances; what local search costs in runs of Lloyd's.
SPARSE_PENALTY = 12.0
SECONDS_A_CENTER, SECONDS_A_ROW = 1e-4, 2e-9
BREATHS = 6
PASSES_A_BREATH = 13

# What a pass over the sketch and a step take however few rows there are; passes of a local search
# to its end for one of Lloyd's method, as on a few hundred rows.
SECONDS_A_PASS, SECONDS_A_STEP = 2.5e-4, 3e-3
SEARCHED_PASSES = 4


@dataclass(frozen=True)
class Forecast:
    """What an approach will cost.

    Attributes
    ----------
    seconds : dict
        From step to its time on this machine.
    megabytes : float
        Beyond the rows themselves.
    """

    seconds: dict[str, float]
    megabytes: float

    @property
    def total(self) -> float:
        """Seconds in all."""
        return sum(self.seconds.values())


def forecast(sizes: Sizes, approach: Approach, n_threads: int = 0) -> Forecast:
    """Return what an approach will cost on this machine."""
    speed = measure_speed(n_threads)
    n, d, k, t = sizes.n_rows, sizes.n_columns, sizes.n_clusters, approach.n_components
    seen = approach.subsample_rows or n
    pair = 2.0 * k * t / speed.products
    if approach.projection is None and sizes.n_nonzeros is not None:
        pair = 2.0 * k * sizes.n_entries / n / speed.products * SPARSE_PENALTY
    searched, projected = approach.solver == "breathing", approach.projection is not None
    rehearsed = approach.n_init if approach.subsample_rows else approach.n_init - 1
    n_passes = rehearsed * SUBSAMPLE_PASSES + PASSES
    passes = rehearsed * SUBSAMPLE_PASSES * seen + PASSES * n
    if math.isfinite(approach.min_breathing_gain):
        n_passes += PASSES_A_BREATH
        passes += PASSES_A_BREATH * seen
    breaths = BREATHS * approach.n_init if searched else 1
    calls = n_passes * (SEARCHED_PASSES if searched else 1) * SECONDS_A_PASS
    sums = sizes.n_entries / speed.sums
    looked = 3 * approach.polish_candidates or k
    polish = 2.0 * sizes.n_entries * looked / speed.products + sums + SECONDS_A_STEP
    seconds = {
        "check": sizes.data_bytes / speed.reads,
        "reduce": _reduce_seconds(sizes, approach, speed),
        "seed": approach.n_init * (2 * seen * pair + k * SECONDS_A_CENTER),
        "cluster": passes * pair * MEASURED_SHARE * breaths + passes * SECONDS_A_ROW + calls,
        "lift": (sums + SECONDS_A_STEP) * projected,
        "polish": approach.polish_iter * polish,
    }
    row_bytes = t * min(sizes.itemsize * 4, 8 if sizes.itemsize == 8 else 4) + 60
    row_bytes += 2 * approach.polish_candidates
    width = 0 if approach.projection is None else 2 * t
    return Forecast(seconds, (n * row_bytes + 8.0 * d * (6 * k + 3 * width)) / 2**20)


@dataclass(frozen=True)
class Speed:
    """How fast the machine is: operations of a product, bytes read, entries summed, a second."""

    products: float
    reads: float

    @property
    def sums(self) -> float:
        """Entries that are summed over clusters in a second, exactly."""
        return self.products / 70


@cache
def measure_speed(n_threads: int = 0) -> Speed:
    """Return how fast this machine is, from a few milliseconds of work; best of four."""
    stream = np.random.default_rng(0)
    rows = stream.standard_normal((8192, 64), dtype=np.float32)
    centers = rows[:192].copy()
    labels = np.zeros(len(rows), dtype=np.int32)
    near, next_ = np.empty(len(rows), np.float32), np.empty(len(rows), np.float32)
    origin, exact = np.zeros(64, np.float32), centers.astype(np.float64)
    large = np.ones((4096, 1024), np.float32)
    low, high, norm = np.zeros(1024), np.zeros(1024), np.zeros(1)

    def multiply() -> None:
        _native.nearest_center(
            rows, origin, 1.0, centers, exact, False, labels, near, next_, n_threads
        )

    def read() -> None:
        _native.scan_columns(large, low, high, norm, n_threads)

    operations = 2.0 * rows.size * len(centers)
    return Speed(operations / _best(multiply), large.nbytes / _best(read))


def _best(work: Callable[[], None]) -> float:
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _reduce_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> float:
    if approach.projection is None:
        return 0.0
    read = sizes.data_bytes / speed.reads
    product = 2.0 * sizes.n_entries * approach.n_components / speed.products
    if approach.projection == "svd":
        width = 2 * approach.n_components
        wanted = max(MIN_SAMPLE, SAMPLE_A_DIRECTION * approach.n_components)
        sampled = min(1.0, wanted / sizes.n_rows)
        found = 8.0 * sampled * sizes.n_entries * width / speed.products
        tidy = 60.0 * sizes.n_columns * width * width / speed.products
        return read + 1.5 * product + 2 * found + tidy + SECONDS_A_STEP
    cheaper = {"sign": 2.5, "gaussian": 0.8}.get(approach.projection, math.inf)
    return max(2 * read, product / cheaper) + SECONDS_A_STEP
