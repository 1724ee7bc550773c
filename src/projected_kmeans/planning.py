"""What to do with rows of a given size, and what that costs: the planner.

Decides by sizes alone, so that the same call does the same work on every machine; only the seconds
that it predicts follow from how fast this machine is. It looks at no row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from projected_kmeans import _native
from projected_kmeans.dimensions import RULES, target_dimension

# Dimensions of a spectral sketch beyond which digits (90,000 x 784, k = 100) gain next to nothing.
MOST_DIRECTIONS = 64
# The eps that rules use where the caller names none.
PLAIN_EPS = 0.3

# Restarts are rehearsed on a sample with so many rows a cluster, where it spares two thirds of all
# rows: on digits and mixtures the best of three then ends lower than one run on all rows, sooner.
ROWS_A_CLUSTER = 256
LEAST_REHEARSAL = 4096
MOST_RESTARTS, FEW_RESTARTS = 8, 3

# Distances of a pass, times dimensions, up to which local search costs less than a second, and up
# to which three restarts do without a sample.
LITTLE_WORK, SOME_WORK = 1e7, 1e9

# On digits, 16 candidates from a sketch gain 97 to 99 % of what full polish passes gain, in the
# time of about 50 centers; with fewer clusters that saves too little to pay for it.
CANDIDATES, CANDIDATES_FROM = 16, 128

# Lloyd stops where a pass gains less of the inertia: beyond, digits gain 0.1 % in twice the passes.
# With fewer clusters than a hundred passes cost less, and the share is less in proportion.
PLATEAU_A_CLUSTER, PLATEAU = 3e-7, 3e-5

# Bytes that finding directions may take.
WORKING_BYTES = 2**31

# Passes of Lloyd's method to a plateau, in a rehearsal and after it, and the share of distances
# that bounds leave to be measured, as on digits and mixtures.
REHEARSED_PASSES, PASSES, MEASURED_SHARE = 35, 30, 0.35


@dataclass(frozen=True)
class Sizes:
    """What the planner knows of a job.

    Attributes
    ----------
    n_rows, n_columns, n_clusters : int
        n, d, k.
    itemsize : int
        Bytes of an entry.
    n_nonzeros : int or None
        Stored entries of sparse rows; None for dense ones.
    """

    n_rows: int
    n_columns: int
    n_clusters: int
    itemsize: int
    n_nonzeros: int | None = None

    @classmethod
    def of(cls, rows: Any, n_clusters: int) -> Sizes:
        """Return the sizes of clustering an array, a sparse matrix or blocks of them."""
        nonzeros = getattr(rows, "nnz", None)
        stored = None if nonzeros is None else int(nonzeros)
        n_rows, n_columns = rows.shape
        return cls(n_rows, n_columns, n_clusters, rows.dtype.itemsize, stored)

    @property
    def n_entries(self) -> int:
        """Entries that a pass over the rows reads."""
        return self.n_rows * self.n_columns if self.n_nonzeros is None else self.n_nonzeros

    @property
    def data_bytes(self) -> int:
        """Bytes that a pass over the rows reads."""
        return self.n_entries * (self.itemsize + (0 if self.n_nonzeros is None else 4))


@dataclass(frozen=True)
class Approach:
    """What is to be done, nothing left open.

    Attributes
    ----------
    projection : str or None
        The name of a map; None for the original space.
    n_components : int
        t, d where nothing is projected.
    solver : str
        "lloyd", "hartigan" or "breathing".
    n_init, rehearsal_rows : int
        Restarts, and the rows of the sample on which they compete; 0 lets them compete on all.
    inertia_tol : float
        Where a pass gains less, Lloyd stops.
    polish_iter, polish_candidates : int
        Passes in the original space, and how many centers they look at for each row, 0 for all.
    reason : str
        Why this projection.
    """

    projection: str | None
    n_components: int
    solver: str
    n_init: int
    rehearsal_rows: int
    inertia_tol: float
    polish_iter: int
    polish_candidates: int
    reason: str


def choose_projection(sizes: Sizes, eps: float | None) -> tuple[str | None, int, str]:
    """Return the map, its dimensions and the reason for them.

    Examples
    --------
    >>> choose_projection(Sizes(90_000, 784, 100, 4), None)[:2]
    ('svd', 64)
    >>> choose_projection(Sizes(90_000, 50, 100, 4), None)
    (None, 50, '50 columns are too few for a sketch to save work')
    """
    n, d, k = sizes.n_rows, sizes.n_columns, sizes.n_clusters
    name = "svd" if _directions_fit(sizes) else "sign"
    t = choose_components(name, k, d, eps)
    if eps is not None and t == d:
        rule = RULES[rule_of(name)].source.split(":")[0]
        return None, d, f"eps={eps:g} asks for no fewer than all {d} columns ({rule})"
    if 2 * t > d or k == 1:
        return None, d, f"{d} columns are too few for a sketch to save work"
    if name == "sign":
        return name, t, f"{d} columns are too many for principal directions in little memory"
    kind = "sparse rows" if sizes.n_nonzeros is not None else "rows"
    return name, t, f"{t} principal directions keep what clusters of {n} {kind} need of {d} columns"


def rule_of(projection: str) -> str:
    """Return the name of the rule for the dimensions of a map."""
    return "cohen2015-svd" if projection == "svd" else "makarychev2019"


def choose_components(projection: str, n_clusters: int, n_features: int, eps: float | None) -> int:
    """Return t: what the theorem asks for where eps is named, else what has proven enough."""
    t = target_dimension(
        n_clusters,
        eps=PLAIN_EPS if eps is None else eps,
        rule=rule_of(projection),
        n_features=n_features,
    )
    return min(t, MOST_DIRECTIONS) if eps is None and projection == "svd" else t


def choose_effort(
    sizes: Sizes, projection: str | None, n_components: int, reason: str, *, drawn: bool = True
) -> Approach:
    """Return the approach for a map that is chosen: restarts, solver, tolerance, polishing.

    Parameters
    ----------
    sizes : Sizes
        Of the job.
    projection, n_components, reason
        As in `Approach`.
    drawn : bool, default=True
        Whether first centers are drawn; where they are given, restarts would all be the same.
    """
    work = float(sizes.n_rows) * sizes.n_clusters * n_components
    bare = projection is None and sizes.n_nonzeros is not None  # sparse rows as they are
    little = work <= LITTLE_WORK and not bare
    rehearsal = max(LEAST_REHEARSAL, ROWS_A_CLUSTER * sizes.n_clusters)
    if 3 * rehearsal > sizes.n_rows or not drawn or bare:
        rehearsal = 0
    if rehearsal:
        n_init = min(MOST_RESTARTS, max(FEW_RESTARTS, sizes.n_rows // rehearsal))
    else:
        n_init = FEW_RESTARTS if drawn and work <= SOME_WORK else 1
    many = sizes.n_clusters >= CANDIDATES_FROM
    polish = 0 if projection is None else 4 if little else 1 if projection == "svd" else 2
    return Approach(
        projection=projection,
        n_components=n_components,
        solver="breathing" if little and drawn else "lloyd",
        n_init=n_init,
        rehearsal_rows=rehearsal,
        inertia_tol=0.0 if little else min(PLATEAU, PLATEAU_A_CLUSTER * sizes.n_clusters),
        polish_iter=polish,
        polish_candidates=CANDIDATES if many and projection is not None else 0,
        reason=reason,
    )


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
    seen = approach.rehearsal_rows or n
    pair = 2.0 * k * t / speed.products
    if approach.projection is None and sizes.n_nonzeros is not None:
        pair = 2.0 * k * sizes.n_entries / n / speed.products * SPARSE_PENALTY
    rehearsed = approach.n_init if approach.rehearsal_rows else approach.n_init - 1
    passes = rehearsed * REHEARSED_PASSES * seen + PASSES * n
    breaths = BREATHS * approach.n_init if approach.solver == "breathing" else 1
    sums = sizes.n_entries / speed.sums
    looked = 3 * approach.polish_candidates or k
    seconds = {
        "check": sizes.data_bytes / speed.reads,
        "reduce": _reduce_seconds(sizes, approach, speed),
        "seed": approach.n_init * (2 * seen * pair + k * SECONDS_A_CENTER),
        "cluster": passes * pair * MEASURED_SHARE * breaths + passes * SECONDS_A_ROW,
        "lift": sums * (approach.projection is not None),
        "polish": approach.polish_iter * (2.0 * sizes.n_entries * looked / speed.products + sums),
    }
    row_bytes = t * min(sizes.itemsize * 4, 8 if sizes.itemsize == 8 else 4) + 60
    row_bytes += 2 * approach.polish_candidates
    width = 0 if approach.projection is None else 2 * t
    return Forecast(seconds, (n * row_bytes + 8.0 * d * (6 * k + 3 * width)) / 2**20)


# A product of sparse rows with centers gathers them from far; seconds that a center of a seeding
# and a row of a pass take beside their distances; what local search costs in runs of Lloyd's.
SPARSE_PENALTY = 12.0
SECONDS_A_CENTER, SECONDS_A_ROW = 1e-4, 2e-9
BREATHS = 6


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
    """Return how fast this machine is, from a few milliseconds of work; best of three."""
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


def _directions_fit(sizes: Sizes) -> bool:
    """Return whether a sample of the rows and what is made of it fit in little memory."""
    sampled = min(sizes.n_rows, 80 * MOST_DIRECTIONS) / sizes.n_rows
    table = 3 * 2 * MOST_DIRECTIONS * sizes.n_columns * 8
    return 2 * sampled * sizes.data_bytes + table <= WORKING_BYTES


def _reduce_seconds(sizes: Sizes, approach: Approach, speed: Speed) -> float:
    if approach.projection is None:
        return 0.0
    read = sizes.data_bytes / speed.reads
    product = 2.0 * sizes.n_entries * approach.n_components / speed.products
    if approach.projection == "svd":
        width = 2 * approach.n_components
        sampled = min(1.0, max(5000, 80 * approach.n_components) / sizes.n_rows)
        found = 8.0 * sampled * sizes.n_entries * width / speed.products
        tidy = 60.0 * sizes.n_columns * width * width / speed.products
        return read + 1.5 * product + 2 * found + tidy
    cheaper = {"sign": 2.5, "gaussian": 0.8}.get(approach.projection, math.inf)
    return max(2 * read, product / cheaper)
