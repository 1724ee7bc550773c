"""PLAN: what an approach will cost on this machine: seconds of each step, and megabytes.

Predicts from sizes and from a few milliseconds of measured speed. It decides nothing, and no fit
needs it: the machine is timed when a forecast is asked for, once a process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from projected_kmeans import _native
from projected_kmeans.passes.pruned_search import count_share, is_worthwhile
from projected_kmeans.projections.hashed_columns import count_hashed_columns
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.projections.spectral import count_sample_rows
from projected_kmeans.search.approach import Approach, choose_approach
from projected_kmeans.search.kmeans_plus_plus import MIN_CLUSTERS, count_cells, count_held_rows
from projected_kmeans.search.memory_plan import count_bytes
from projected_kmeans.search.settings import Settings, Sizes, limits_sizes
from projected_kmeans.search.swaps import SPLIT_PASSES

# Passes until a level ends: on a sample, on all of the sketch, and on the original rows. Rounds of
# swaps on each, on digits, mixtures and embeddings.
SAMPLE_PASSES, SKETCH_PASSES, ORIGINAL_PASSES = 15, 15, 3
SWAP_ROUNDS = 2

# Passes of a start inside a kernel, where a product takes this factor longer: one thread, float64.
KERNEL_PASSES, KERNEL_FACTOR = 60, 4.0

# The time of a pass among near centers over that of its products alone.
LISTED_OVERHEAD = 2.0

# Passes with limits of sizes; in each, how often rows choose clusters at prices. Seconds of a
# choice for a row and a cluster, a row, and a cluster.
LIMITED_PASSES, PRICE_STEPS = 15, 5
SECONDS_PER_COST, SECONDS_PER_CHOICE, SECONDS_PER_SIZE = 3e-10, 1e-7, 1e-5

# Seconds beside those for distances: a center of a seeding, a row of a pass, a call of a pass over
# the sketch with any number of rows, and a step of the fit.
SECONDS_PER_CENTER, SECONDS_PER_ROW = 1e-4, 2e-9
SECONDS_PER_PASS, SECONDS_PER_STEP = 5e-4, 3e-3

# Adding an entry to the exact sum of its cluster takes as long as this many operations of products.
OPERATIONS_PER_SUM = 70

# A product of sparse rows with centers takes this factor longer, because it reads scattered memory.
SPARSE_FACTOR = 12.0

# How many times faster than a matrix product the map of this name is; the other maps that do not
# learn take no longer than reading the rows twice.
PRODUCT_SPEEDUP = {"sign": 2.5, "gaussian": 0.8}


@dataclass(frozen=True)
class Forecast:
    """What an approach will cost."""

    seconds: dict[str, float]  # of each step on this machine, by the name of the step
    megabytes: float  # of memory beyond the rows themselves, in units of 2**20 bytes

    @property
    def total(self) -> float:
        """Seconds of all steps together."""
        return sum(self.seconds.values())


def forecast_fit(settings: Settings, sizes: Sizes) -> Forecast:
    """Return what a fit will cost, as far as sizes tell; the first call times the machine."""
    approach, limited = choose_approach(settings, sizes), limits_sizes(settings)
    speed = measure_speed(settings.n_threads or 0)
    summing = sizes.n_entries / (speed.products / OPERATIONS_PER_SUM)
    met = approach.n_near // 2 or sizes.n_clusters
    polish_pass = 2.0 * sizes.n_entries * met / speed.products + summing + SECONDS_PER_STEP
    row_seconds = _row_seconds(sizes, approach, speed, sizes.n_clusters)
    seconds = {
        "check": sizes.data_bytes / speed.reads,
        "reduce": _reduce_seconds(sizes, approach, speed),
        "seed": _seed_seconds(sizes, approach, row_seconds, speed),
        "cluster": _cluster_seconds(sizes, approach, speed),
        "lift": 0.0 if approach.projection is None else summing + SECONDS_PER_STEP,
        "polish": 0.0,
    }
    if approach.polish_iter:  # some passes, and the nearest of all centers in the end
        k, d, n_compared = sizes.n_clusters, sizes.n_columns, float(sizes.n_clusters)
        if not sizes.sparse and is_worthwhile(sizes.n_rows, k, d):
            n_compared *= count_share(k, d)
        labelling = 2.0 * sizes.n_entries * n_compared / speed.products
        n_passes = min(approach.polish_iter, ORIGINAL_PASSES)
        seconds["polish"] = n_passes * polish_pass + labelling + summing
    if limited:
        # A pass finds prices and moves rows, with distances given.
        n, k = sizes.n_rows, sizes.n_clusters
        choosing = n * k * SECONDS_PER_COST + n * SECONDS_PER_CHOICE + k * SECONDS_PER_SIZE
        choosing *= PRICE_STEPS
        seconds["cluster"] += LIMITED_PASSES * (n * (row_seconds + SECONDS_PER_ROW) + choosing)
        seconds["polish"] += min(approach.polish_iter, ORIGINAL_PASSES) * choosing
    n_bytes = count_bytes(sizes, approach, approach.n_components, limited=limited).total
    return Forecast(seconds, n_bytes / 2**20)


@dataclass(frozen=True)
class Speed:
    """How fast the machine is: operations of a matrix product and bytes read in a second."""

    products: float
    reads: float


@cache
def measure_speed(n_threads: int = 0) -> Speed:
    """Return how fast this machine is: the best of four timings, a few milliseconds in all."""
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
    return Speed(operations / _best_seconds(multiply), large.nbytes / _best_seconds(read))


def _best_seconds(work: Callable[[], None]) -> float:
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _row_seconds(sizes: Sizes, approach: Approach, speed: Speed, n_centers: int) -> float:
    """Return the seconds of the distances of one row to so many centers."""
    if approach.projection is None and sizes.sparse:
        entries = sizes.n_entries / sizes.n_rows
        return 2.0 * n_centers * entries / speed.products * SPARSE_FACTOR
    return 2.0 * n_centers * approach.n_components / speed.products


def _seed_seconds(sizes: Sizes, approach: Approach, row_seconds: float, speed: Speed) -> float:
    """Return the seconds of first centers of all starts."""
    rows, k, t = approach.level_rows[0], sizes.n_clusters, approach.n_components
    if approach.in_kernel:
        return approach.n_init * KERNEL_PASSES * KERNEL_FACTOR * rows * row_seconds
    if k >= MIN_CLUSTERS:
        n_cells, held = count_cells(k), count_held_rows(rows, k)
        # Four trials a center meet the rows of a cell, by differences: three operations a number.
        racing = 12.0 * k * held / n_cells * t / speed.products
        return 2.0 * rows * n_cells * t / speed.products + racing + SECONDS_PER_STEP
    return approach.n_init * (2 * rows * row_seconds + k * SECONDS_PER_CENTER)


def _cluster_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> float:
    """Return the seconds of passes and swaps on all levels of the sketch."""
    met = approach.n_near or sizes.n_clusters
    overhead = LISTED_OVERHEAD if approach.n_near else 1.0
    row_seconds = overhead * _row_seconds(sizes, approach, speed, met) + SECONDS_PER_ROW
    split = 3 * SPLIT_PASSES * approach.n_components / speed.products
    total, last = 0.0, len(approach.level_rows) - 1
    for number, rows in enumerate(approach.level_rows):
        n_passes = SKETCH_PASSES if number == last else SAMPLE_PASSES
        n_passes *= approach.n_init if number == 0 and not approach.in_kernel else 1
        total += n_passes * (rows * row_seconds + SECONDS_PER_PASS)
        if approach.swap_rounds:
            total += SWAP_ROUNDS * rows * (row_seconds + split)
    return total


def _reduce_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> float:
    """Return the seconds of learning the map and of projecting all rows."""
    if approach.projection is None:
        return 0.0
    reading = sizes.data_bytes / speed.reads
    product = 2.0 * sizes.n_entries * approach.n_components / speed.products
    if approach.projection == "svd":
        n_hashed = count_hashed_columns(sizes.n_columns, approach.n_components, sparse=sizes.sparse)
        n_columns, share = n_hashed or sizes.n_columns, 1.0
        if n_hashed:
            # Hashing takes as long as reading three times. Of dense rows few entries are left.
            share = 1.0 if sizes.sparse else n_hashed / sizes.n_columns
            reading *= 4
        width = sketch_width(approach.n_components, n_columns)
        sampled = count_sample_rows(sizes.n_rows, approach.n_components) / sizes.n_rows
        sketching = 8.0 * sampled * share * sizes.n_entries * width / speed.products
        decomposing = 60.0 * n_columns * width * width / speed.products
        return reading + 1.5 * share * product + 2 * sketching + decomposing + SECONDS_PER_STEP
    speedup = PRODUCT_SPEEDUP.get(approach.projection, math.inf)
    return max(2 * reading, product / speedup) + SECONDS_PER_STEP
