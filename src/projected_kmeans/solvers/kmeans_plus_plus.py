"""SEED: rows drawn by their squared distance from the rows drawn before, many in one pass.

Used by several seedings; it does not know which of them asks.
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
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats

OnCenter: TypeAlias = Callable[[int], object]
Indices: TypeAlias = NDArray[np.int64]

# Rows in a tile of the kernel `weigh_candidates`.
TILE = _native.TILE_ROWS

# Up to 8192 rows, candidates are judged on all of them; beyond, on a sample of 10 rows per cluster.
# With 10, the inertia after seeding was 2 % above that of exact judgement (single draws: 10 %).
# After Lloyd it was equal within noise on digits, and 0.5 % above on heavy tails (draws: 4 %).
# The minimum is not a power of two, because then the results of all candidates would fall into the
# same cache lines.
EXACT_ROWS = 8192
JUDGES_PER_CLUSTER = 10
MIN_JUDGES = 4000

# Candidates are drawn for this many steps at once. More steps save passes over the rows, but the
# more centers have come since the last pass, the fewer candidates are still accepted.
ROUND_STEPS = 80

# The median of this many rows is the origin of products.
MEDIAN_ROWS = 63


class SeedDistances:
    """Squared distances of all rows to the nearest center so far, in units of ``1 / scale ** 2``.

    Products are taken about the median of some rows, so that neither a common offset nor an outlier
    costs digits. The distance of a row equal to a center is exactly zero.
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
        """Add centers: lower the distances of all rows to them, in one pass."""
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
        """Return some rows in the frame of products: about the origin, and scaled."""
        points = (self._source.take(rows) - self._origin) * self.scale
        return np.asarray(points, dtype=self.dtype)

    def scaled(self, rows: Indices) -> NDArray[Any]:
        """Return some rows scaled but not shifted, so that equal rows differ by exactly zero."""
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
    """Some rows on which candidates are compared: the best one leaves the lowest inertia there.

    If there are few rows, all of them judge. Otherwise judges are drawn with probability
    proportional to their share of the present inertia, so that each represents an equal part of it.
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
        padded = n_judges + -n_judges % TILE
        points = _pad(distances.enter(rows), padded)
        tiles = points.reshape(len(points) // TILE, TILE, points.shape[1]).transpose(0, 2, 1)
        self.inertia = float(chances.sum())
        self._tiles = np.ascontiguousarray(tiles)
        self._nearest = _pad(distances.values[rows], padded)
        self._shares = _pad(shares.astype(distances.dtype), padded)
        self._after = np.empty((n_trials, len(points)), distances.dtype)
        self._left = np.empty(n_trials)
        self._n_threads = distances.n_threads

    def choose(self, candidates: NDArray[Any]) -> int:
        """Return the candidate that leaves the lowest inertia, and make it a center."""
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


def _pad(values: NDArray[Any], length: int) -> NDArray[Any]:
    """Return an array with zeros behind its last entry; faster than `numpy.pad` for few entries."""
    padded = np.zeros((length, *values.shape[1:]), values.dtype)
    padded[: len(values)] = values
    return padded


def mass_of(problem: Problem) -> Floats:
    """Return the weight of every row; 1 if the problem has no weights."""
    return np.ones(problem.source.shape[0]) if problem.weights is None else problem.weights


def locate(cumulative: Floats, points: Floats) -> Indices:
    """Return the rows at some points in [0, 1) of the cumulative chances.

    A row without a chance is never returned.
    """
    rows = np.searchsorted(cumulative, points * cumulative[-1], side="right")
    last = np.searchsorted(cumulative, cumulative[-1], side="left")  # the last row with a chance
    return np.asarray(np.minimum(rows, last), dtype=np.int64)


def draw_rows(chances: NDArray[Any], n_draws: int, stream: np.random.Generator) -> Indices:
    """Draw rows with probability proportional to ``chances``; uniformly if all are zero."""
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

    Draws are independent, with probability proportional to D^2, the weighted squared distance from
    all centers at that moment. Few passes over all rows are needed, because candidates for many
    steps are drawn by the D^2 of the last pass. Each is accepted with probability D^2 now / D^2
    then, so that its distribution is exactly that of now.

    Parameters
    ----------
    problem : Problem
        The rows and their weights.
    first : ndarray of int64
        Rows that are centers already.
    n_clusters : int
        How many rows to return, ``first`` included.
    n_trials : int
        Draws for each center, of which the best is taken.
    stream : numpy.random.Generator
        Where the draws come from.
    on_center : callable, optional
        Called with the number of centers so far, after each.
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
    """Call ``on_center`` once for each of the latest centers."""
    if on_center is not None:
        for done in range(n_before, n_before + n_latest):
            on_center(done + 1)


def count_trials(n_clusters: int) -> int:
    """Return how many draws greedy k-means++ makes for each center (Arthur, Vassilvitskii)."""
    return 2 + int(math.log(n_clusters))


def count_judges(source: BlockSource, n_clusters: int) -> int:
    """Return how many rows candidates are judged on; they take at most the memory of a block."""
    n_rows, n_columns = source.shape
    wanted = n_rows
    if n_rows > EXACT_ROWS:
        wanted = max(MIN_JUDGES, min(JUDGES_PER_CLUSTER * n_clusters, n_rows // 4))
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
    """Choose centers among candidate rows, until too few are accepted for another step."""
    points, inside = distances.scaled(rows), distances.enter(rows)
    now = distances.values[rows].astype(np.float64)
    threshold = now * stream.random(len(rows))
    picked: list[int] = []
    while len(picked) < n_wanted:
        accepted = np.flatnonzero(now > threshold)[:n_trials]
        if len(accepted) < n_trials:
            break
        best = accepted[0] if judges is None else accepted[judges.choose(inside[accepted])]
        picked.append(int(rows[best]))
        center = points[best]
        begin = accepted[-1] + 1
        rows, points, inside = rows[begin:], points[begin:], inside[begin:]
        gaps = points - center
        now = np.minimum(now[begin:], np.einsum("ij,ij->i", gaps, gaps))
        threshold = threshold[begin:]
    return np.array(picked, dtype=np.int64)
