"""SEED: rows drawn by their squared distance from the rows drawn before, many a pass.

Draws and judges; it does not know which seeding asks, nor what comes of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.tasks import Block, Task, update
from projected_kmeans.passes.assignment import share_work
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats

OnCenter: TypeAlias = Callable[[int], object]
Indices: TypeAlias = NDArray[np.int64]

# Rows to a tile of `weigh_candidates`.
TILE = 32

# Up to so many rows, candidates are judged on all of them. Beyond, on some for each cluster: with
# 10 the inertia after seeding was 2 % above that of exact judgement (single draws: 10 %), and after
# Lloyd the same within noise on digits, 0.5 % above it on heavy tails (single draws: 4 %). No power
# of two is the least, which would put all candidates' results into the same cache lines.
EXACT_ROWS = 8192
JUDGES_PER_CLUSTER = 10
LEAST_JUDGES = 4000

# The steps that candidates are drawn for at once. More save passes over the rows, but the more
# centers have come since the last pass, the fewer candidates still stand.
ROUND_STEPS = 80

# Rows whose median is the origin of products.
MEDIAN_ROWS = 63


class SeedDistances:
    """Squared distances of all rows to the nearest center so far, in units of ``1 / scale ** 2``.

    Products are taken about the median of some rows, which neither an offset of all rows nor an
    outlier moves away; a row equal to a center is at distance zero, exactly.
    """

    def __init__(self, problem: Problem) -> None:
        source = problem.source
        self.dtype = compute_type(source.dtype)
        some = np.linspace(0, source.shape[0] - 1, MEDIAN_ROWS).astype(np.int64)
        self._origin = np.median(source.take(some), axis=0).astype(self.dtype)
        zero = np.zeros((1, source.shape[1]))
        self.scale = Frame.around(zero, self.dtype, problem.ranges).scale / 2
        self.values = np.full(source.shape[0], np.inf, dtype=self.dtype)
        self.mass = mass_of(problem)
        self.n_threads = problem.n_threads
        self._source = source

    def lower(self, rows: Indices) -> None:
        """Take note of further centers, in one pass over all rows."""
        kernel = partial(_lower, self._origin, self.scale, self.take(rows), self.n_threads)
        self._source.walk(Task(kernel, (update(self.values),)))

    def lower_block(
        self, block: NDArray[Any], centers: NDArray[Any], nearest: NDArray[Any]
    ) -> None:
        """Lower ``nearest`` to the distances of a block's rows to some centers."""
        _native.lower_distances(block, self._origin, self.scale, centers, nearest, self.n_threads)

    def take(self, rows: Indices) -> NDArray[Any]:
        """Return some rows in the type that distances are computed in."""
        return self._source.take(rows).astype(self.dtype)

    def enter(self, rows: Indices) -> NDArray[Any]:
        """Return some rows as products are taken of them."""
        points = (self._source.take(rows) - self._origin) * self.scale
        return np.asarray(points, dtype=self.dtype)

    def scaled(self, rows: Indices) -> NDArray[Any]:
        """Return some rows about zero, where their differences are exact."""
        return np.asarray(self.take(rows) * self.dtype.type(self.scale))


def _lower(
    origin: NDArray[Any],
    scale: float,
    centers: NDArray[Any],
    n_threads: int,
    block: Block,
    nearest: NDArray[Any],
) -> None:
    _native.lower_distances(block.rows, origin, scale, centers, nearest, n_threads)


class _Judges:
    """Some rows that tell which candidate leaves the least inertia.

    Where there are few rows these are all. Else they are drawn with probability proportional to
    their share of the present inertia, so that each stands for an equal part of it.
    """

    def __init__(
        self,
        distances: SeedDistances,
        n_judges: int,
        n_trials: int,
        stream: np.random.Generator,
    ) -> None:
        chances = distances.values * distances.mass
        if n_judges == len(chances):
            rows = np.arange(n_judges)
            shares = distances.mass / distances.mass.max()
        else:
            strata = (np.arange(n_judges) + stream.random(n_judges)) / n_judges
            rows = locate(np.cumsum(chances), strata)
            values = distances.values[rows].astype(np.float64)
            shares = values.min() / values
        padding = -n_judges % TILE
        points = np.pad(distances.enter(rows), ((0, padding), (0, 0)))
        tiles = points.reshape(len(points) // TILE, TILE, points.shape[1]).transpose(0, 2, 1)
        self.inertia = float(chances.sum())
        self._tiles = np.ascontiguousarray(tiles)
        self._nearest = np.pad(distances.values[rows], (0, padding))
        self._shares = np.pad(shares.astype(distances.dtype), (0, padding))
        self._after = np.empty((n_trials, len(points)), distances.dtype)
        self._left = np.empty(n_trials)
        self._n_threads = share_work(distances.n_threads, n_trials * self._tiles.size)

    def choose(self, candidates: NDArray[Any]) -> int:
        """Return which candidate leaves the least, and take it for a center."""
        _native.weigh_candidates(
            self._tiles,
            candidates,
            self._nearest,
            self._shares,
            self._after,
            self._left,
            self._n_threads,
        )
        best = int(np.argmin(self._left))
        self._nearest[:] = self._after[best]
        return best


def mass_of(problem: Problem) -> Floats:
    """Return the weight of every row, 1 where none are given."""
    return np.ones(problem.source.shape[0]) if problem.weights is None else problem.weights


def locate(cumulative: Floats, points: Floats) -> Indices:
    """Return the rows at some points in [0, 1) of their cumulative chances, none without one."""
    rows = np.searchsorted(cumulative, points * cumulative[-1], side="right")
    last = np.searchsorted(cumulative, cumulative[-1], side="left")  # has a chance; none after it
    return np.asarray(np.minimum(rows, last), dtype=np.int64)


def draw_rows(chances: NDArray[Any], n_draws: int, stream: np.random.Generator) -> Indices:
    """Draw rows with probability proportional to ``chances``; uniformly where all are zero."""
    cumulative = np.cumsum(chances, dtype=np.float64)
    if not cumulative[-1] > 0:
        return np.asarray(stream.integers(len(chances), size=n_draws), dtype=np.int64)
    return locate(cumulative, stream.random(n_draws))


def extend_rows(
    problem: Problem,
    first: Indices,
    n_clusters: int,
    n_trials: int,
    stream: np.random.Generator,
    on_center: OnCenter | None = None,
) -> Indices:
    """Choose further rows until there are ``n_clusters``, each the best of ``n_trials`` draws.

    Draws are independent, with probability proportional to the weighted squared distance D^2 from
    all centers at that moment. Passes over all rows are rare all the same: candidates for many
    steps are drawn by the D^2 of the last pass, and one that later centers have come near to
    stands with probability D^2 now / D^2 then only, which makes its distribution that of now.
    """
    n_judges = count_judges(problem.source, n_clusters) if n_trials > 1 else 0
    distances = SeedDistances(problem)
    chosen = np.asarray(first, dtype=np.int64)
    latest, judges = chosen, None
    while len(chosen) < n_clusters:
        distances.lower(latest)
        chances = distances.values * distances.mass
        inertia = float(chances.sum())
        n_left = n_clusters - len(chosen)
        if inertia > 0:
            if n_judges and (judges is None or inertia < judges.inertia / 2):
                judges = _Judges(distances, n_judges, n_trials, stream)
            rows = draw_rows(chances, n_trials * ROUND_STEPS, stream)
            latest = _play_round(distances, rows, n_left, n_trials, judges, stream)
        else:  # all distinct rows are chosen
            latest = draw_rows(chances, n_left, stream)
        announce(on_center, len(chosen), len(latest))
        chosen = np.concatenate([chosen, latest])
    return chosen


def announce(on_center: OnCenter | None, n_before: int, n_latest: int) -> None:
    """Tell the caller of every one of the latest centers."""
    if on_center is not None:
        for done in range(n_before, n_before + n_latest):
            on_center(done + 1)


def count_trials(n_clusters: int) -> int:
    """Return how many draws greedy k-means++ chooses each center from (Arthur, Vassilvitskii)."""
    return 2 + int(math.log(n_clusters))


def count_judges(source: BlockSource, n_clusters: int) -> int:
    """Return how many rows candidates are judged on: no more than a block's worth of memory."""
    n_rows, n_columns = source.shape
    wanted = n_rows
    if n_rows > EXACT_ROWS:
        wanted = max(LEAST_JUDGES, min(JUDGES_PER_CLUSTER * n_clusters, n_rows // 4))
    room = BLOCK_BYTES // (max(1, n_columns) * compute_type(source.dtype).itemsize)
    return min(wanted, max(room, TILE))


def _play_round(
    distances: SeedDistances,
    rows: Indices,
    n_wanted: int,
    n_trials: int,
    judges: _Judges | None,
    stream: np.random.Generator,
) -> Indices:
    """Choose centers among candidate rows until too few of these stand for another step."""
    points, inside = distances.scaled(rows), distances.enter(rows)
    now = distances.values[rows].astype(np.float64)
    floor = now * stream.random(len(rows))
    picked: list[int] = []
    while len(picked) < n_wanted:
        stand = np.flatnonzero(now > floor)[:n_trials]
        if len(stand) < n_trials:
            break
        best = stand[0] if judges is None else stand[judges.choose(inside[stand])]
        picked.append(int(rows[best]))
        center = points[best]
        begin = stand[-1] + 1
        rows, points, inside = rows[begin:], points[begin:], inside[begin:]
        gaps = points - center
        now = np.minimum(now[begin:], np.einsum("ij,ij->i", gaps, gaps))
        floor = floor[begin:]
    return np.array(picked, dtype=np.int64)
