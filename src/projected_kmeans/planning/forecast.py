"""What an approach will cost on this machine: seconds of each step, and megabytes.

Predicts from sizes and from a few milliseconds of measured speed. It decides nothing, and no fit
needs it: the machine is timed when a forecast is asked for, once a process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from projected_kmeans import _native
from projected_kmeans.passes.pruned_search import count_share, is_worthwhile
from projected_kmeans.planning.approach import Approach
from projected_kmeans.planning.fit_bytes import count_bytes
from projected_kmeans.planning.size_race import N_FINALISTS, count_race_rows, count_starts
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.projections.direction_sample import count_sample_rows
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.solvers.cell_passes import SWAP_ROUNDS
from projected_kmeans.solvers.cell_seeding import count_cells
from projected_kmeans.solvers.near_centers import count_neighbours
from projected_kmeans.solvers.swaps import SPLIT_PASSES


class _Passes(NamedTuple):
    """Passes of Lloyd's method until it converges, on digits and mixtures.

    Those of a restart, on a subsample or on all rows; those of the run that follows on all rows;
    and the time of a pass as a share of measuring all distances.
    """

    restart: int
    final: int
    share: float


PLAIN_PASSES, PASSES_WITH_MOMENTUM = _Passes(35, 30, 0.35), _Passes(17, 14, 1.0)

# Passes that breathing adds after Lloyd's method.
BREATHING_PASSES = 13
# solver="breathing": distances as of 6 runs of Lloyd's method, and 4 calls of a pass for one.
SEARCH_RUNS, SEARCH_CALLS = 6, 4

# Restarts inside a kernel: passes of each, without bounds, and passes of Lloyd's method after them.
SCOUT_PASSES, PASSES_AFTER_SCOUTS = 60, 4

# solver="cells": passes until a plateau, and the time of a pass over that of its products alone.
CELL_PASSES, CELL_OVERHEAD = 14, 2.0

# Passes with limits of sizes until a plateau; in each, how often rows choose clusters at prices.
LIMITED_PASSES, PRICE_STEPS = 15, 5
# Seconds of a choice for a row and a cluster, a row, and a cluster.
SECONDS_PER_COST, SECONDS_PER_CHOICE, SECONDS_PER_SIZE = 3e-10, 1e-7, 1e-5

# Seconds beside those for distances: a center of a seeding, a row of a pass, a call of a pass over
# the sketch with any number of rows, and a step of the fit.
SECONDS_PER_CENTER, SECONDS_PER_ROW = 1e-4, 2e-9
SECONDS_PER_PASS, SECONDS_PER_STEP = 2.5e-4, 3e-3

# A product of sparse rows with centers takes this factor longer, because it reads scattered memory.
SPARSE_FACTOR = 12.0

# How many times faster than a matrix product the map of this name is; the other maps that do not
# learn take no longer than reading the rows twice.
PRODUCT_SPEEDUP = {"sign": 2.5, "gaussian": 0.8}


@dataclass(frozen=True)
class Forecast:
    """What an approach will cost.

    Attributes
    ----------
    seconds : dict
        From the name of a step to its time on this machine.
    megabytes : float
        Memory beyond the rows themselves, in units of 2**20 bytes.
    """

    seconds: dict[str, float]
    megabytes: float

    @property
    def total(self) -> float:
        """Seconds of all steps together."""
        return sum(self.seconds.values())


def forecast(sizes: Sizes, approach: Approach, n_threads: int = 0) -> Forecast:
    """Return what an approach will cost on this machine; the first call times the machine."""
    speed = measure_speed(n_threads)
    summing = sizes.n_entries / speed.sums
    # A product with candidates of the row itself takes three times as long as one with many rows.
    each = 1 if approach.solver == "cells" else 3
    examined = each * approach.polish_candidates or sizes.n_clusters
    polish_pass = 2.0 * sizes.n_entries * examined / speed.products + summing + SECONDS_PER_STEP
    row_seconds = _row_seconds(sizes, approach, speed)
    competing = approach.subsample_rows or sizes.n_rows
    seeding = 2 * competing * row_seconds + sizes.n_clusters * SECONDS_PER_CENTER
    seconds = {
        "check": sizes.data_bytes / speed.reads,
        "reduce": _reduce_seconds(sizes, approach, speed),
        "seed": approach.n_init * seeding,
        "cluster": _cluster_seconds(sizes, approach, row_seconds),
        "lift": 0.0 if approach.projection is None else summing + SECONDS_PER_STEP,
        "polish": approach.polish_iter * polish_pass,
    }
    if approach.polish_iter:  # the nearest of all centers, in the end
        labelling = 2.0 * sizes.n_entries * _count_labelling(sizes) / speed.products
        seconds["polish"] += labelling + summing
    if approach.limits_sizes:
        n_polish, a_pass = approach.polish_iter, _choice_seconds(sizes)
        seconds["cluster"] += _limited_seconds(sizes, row_seconds)
        seconds["polish"] = n_polish * (polish_pass + a_pass) if n_polish else 0.0
    if approach.solver == "cells":
        seconds.update(_cell_seconds(sizes, approach, speed))
    return Forecast(seconds, count_bytes(sizes, approach).total / 2**20)


def _count_labelling(sizes: Sizes) -> float:
    """Return how many centers a row is compared with for its final label, in original columns."""
    k, d = sizes.n_clusters, sizes.n_columns
    if not sizes.sparse and is_worthwhile(sizes.n_rows, k, d):
        return k * count_share(k, d)
    return float(k)


@dataclass(frozen=True)
class Speed:
    """How fast the machine is.

    Attributes
    ----------
    products : float
        Operations of a matrix product a second.
    reads : float
        Bytes read a second.
    """

    products: float
    reads: float

    @property
    def sums(self) -> float:
        """Entries that are summed exactly over clusters in a second."""
        return self.products / 70


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


def _row_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> float:
    """Return the seconds of the distances of one row to all centers, in the space clustered in."""
    k = sizes.n_clusters
    if approach.projection is None and sizes.sparse:
        entries = sizes.n_entries / sizes.n_rows
        return 2.0 * k * entries / speed.products * SPARSE_FACTOR
    return 2.0 * k * approach.n_components / speed.products


def _cluster_seconds(sizes: Sizes, approach: Approach, row_seconds: float) -> float:
    """Return the seconds of the solver in all restarts."""
    if approach.scouts:
        scouting = approach.n_init * SCOUT_PASSES * sizes.n_rows * row_seconds
        return scouting + PASSES_AFTER_SCOUTS * (sizes.n_rows * row_seconds + SECONDS_PER_PASS)
    competing = approach.subsample_rows or sizes.n_rows
    passes = PASSES_WITH_MOMENTUM if approach.momentum > 0 else PLAIN_PASSES
    searches = approach.solver == "breathing"
    # Without a subsample the last restart is the final run.
    restarts = approach.n_init if approach.subsample_rows else approach.n_init - 1
    n_passes = restarts * passes.restart + passes.final
    row_passes = restarts * passes.restart * competing + passes.final * sizes.n_rows
    if math.isfinite(approach.min_breathing_gain):
        n_passes += BREATHING_PASSES
        row_passes += BREATHING_PASSES * competing
    runs = SEARCH_RUNS * approach.n_init if searches else 1
    distances = row_passes * row_seconds * passes.share * runs
    calls = n_passes * (SEARCH_CALLS if searches else 1) * SECONDS_PER_PASS
    return distances + row_passes * SECONDS_PER_ROW + calls


def _choice_seconds(sizes: Sizes) -> float:
    """Return the seconds in which a pass finds prices and moves rows, with distances given."""
    n, k = sizes.n_rows, sizes.n_clusters
    return PRICE_STEPS * (n * k * SECONDS_PER_COST + n * SECONDS_PER_CHOICE + k * SECONDS_PER_SIZE)


def _limited_seconds(sizes: Sizes, row_seconds: float) -> float:
    """Return the seconds of passes that keep limits of cluster sizes, of all starts."""
    n, k = sizes.n_rows, sizes.n_clusters
    n_starts, n_racing = count_starts(n, k), count_race_rows(n, k)
    n_passes = LIMITED_PASSES * min(n_starts, N_FINALISTS)
    if n_racing < n or n_starts > 1:
        n_passes += math.ceil(LIMITED_PASSES * n_starts * n_racing / n)
    return n_passes * (n * (row_seconds + SECONDS_PER_ROW) + _choice_seconds(sizes))


def _cell_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> dict[str, float]:
    """Return the seconds of seeding and passes if clusters are found in cells."""
    n, k, t, held = sizes.n_rows, sizes.n_clusters, approach.n_components, approach.subsample_rows
    n_cells = count_cells(k)
    assigning = 2.0 * n * n_cells * t / speed.products
    # Four trials a center meet the rows of a cell, by differences: three operations a number.
    racing = 12.0 * k * held / n_cells * t / speed.products
    products = 2.0 * n * count_neighbours(k) * t / speed.products
    summing = n * t / speed.sums
    passes = CELL_PASSES * (CELL_OVERHEAD * products + summing / 2)
    splitting = SWAP_ROUNDS * SPLIT_PASSES * (products + summing / 2)
    return {
        "seed": approach.n_init * (assigning + racing + SECONDS_PER_STEP),
        "cluster": approach.n_init * (passes + splitting + SECONDS_PER_STEP),
    }


def _reduce_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> float:
    """Return the seconds of learning the map and of projecting all rows."""
    if approach.projection is None:
        return 0.0
    reading = sizes.data_bytes / speed.reads
    product = 2.0 * sizes.n_entries * approach.n_components / speed.products
    if approach.projection == "svd":
        n_hashed = sizes.count_hashed_columns(approach.n_components)
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
