"""SEED: rows drawn by their squared distance from the rows drawn before.

Greedy k-means++ over all rows, and for very many clusters as a race between cells. `seeding.py`
tells what else ``init`` may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES, ArrayBlocks
from projected_kmeans.blocks.tasks import Block, Task, update
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import fit_shape, sketch_rows
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.results import Floats, Labels
from projected_kmeans.search.lloyd import run_lloyd

OnCenter: TypeAlias = Callable[[int], object]
Indices: TypeAlias = NDArray[np.int64]
Stream: TypeAlias = np.random.Generator

# Rows in a tile of the kernel `weigh_candidates`.
TILE = _native.TILE_ROWS

# Up to 8192 rows, candidates are judged on all of them; beyond, on a sample of 10 rows per cluster.
# With 10, the inertia after seeding was 2 % above that of exact judgement (single draws: 10 %).
# After Lloyd it was equal within noise on digits, and 0.5 % above on heavy tails (draws: 4 %).
# The minimum is not a power of two, because then the results of all candidates would fall into the
# same cache lines.
EXACT_ROWS, JUDGES_PER_CLUSTER, MIN_JUDGES = 8192, 10, 4000

# Candidates are drawn for this many steps at once. More steps save passes over the rows, but the
# more centers have come since the last pass, the fewer candidates are still accepted.
ROUND_STEPS = 80

# The median of this many rows is the origin of products.
MEDIAN_ROWS = 63

# Sparse rows without a map are seeded on a sign sketch of at most 64 columns, because a seeding
# measures rows against rows, which is slow where these are sparse.
SEEDING_COLUMNS = 64

# From this many clusters on, and with at least this many rows a cluster, cells are faster than
# greedy k-means++ over all rows.
MIN_CLUSTERS, MIN_ROWS_PER_CLUSTER = 500, 4

# Cells are found on this many rows each, by this many passes of Lloyd's method.
ROWS_PER_CELL, CELL_PASSES = 128, 8

# Rows that take part in the race: 128 a cluster, at least 2^17 and at most 2^21, which have 512 MB
# in 64 columns of float32.
HELD_ROWS_PER_CLUSTER, MIN_HELD_ROWS, MAX_HELD_ROWS = 128, 2**17, 2**21


def mass_of(problem: Problem) -> Floats:
    """Return the weight of every row; 1 if the problem has no weights."""
    return np.ones(problem.source.shape[0]) if problem.weights is None else problem.weights


def locate(cumulative: Floats, points: Floats) -> Indices:
    """Return the rows at points in [0, 1) of the cumulative chances, none without a chance."""
    rows = np.searchsorted(cumulative, points * cumulative[-1], side="right")
    last = np.searchsorted(cumulative, cumulative[-1], side="left")  # the last row with a chance
    return np.asarray(np.minimum(rows, last), dtype=np.int64)


def draw_rows(chances: NDArray[Any], n_draws: int, stream: Stream) -> Indices:
    """Draw rows with probability proportional to ``chances``; uniformly if all are zero."""
    cumulative = np.cumsum(chances, dtype=np.float64)
    if not cumulative[-1] > 0:
        return np.asarray(stream.integers(len(chances), size=n_draws), dtype=np.int64)
    return locate(cumulative, stream.random(n_draws))


def ignore(n_chosen: int) -> None:
    """Take no notice of a center that was chosen."""


def sketch_signs(problem: Problem, key: int) -> Problem:
    """Return rows on a sign sketch of few columns, with their weights, not at unit length."""
    source, n_threads = problem.source, problem.n_threads
    width = min(SEEDING_COLUMNS, source.shape[1])
    signs = SignProjection(width, random_state=key, n_threads=n_threads or None)
    fit_shape(signs, *source.shape)
    sketch = ArrayBlocks(sketch_rows(signs, source))
    try:
        ranges = scan_columns(sketch, n_threads)
    except ValueError:  # the rows were checked before
        raise ValueError(
            f"the sketch of X overflows {sketch.dtype}; divide X by a large constant"
        ) from None
    return Problem(sketch, ranges, problem.weights, n_threads)


class SeedDistances:
    """Squared distances of all rows to the nearest center so far, in units of ``1 / scale ** 2``.

    Products are taken about the median of a few rows, so that neither a common offset nor an
    outlier costs digits. The distance of a row equal to a center is exactly zero.
    """

    def __init__(self, problem: Problem) -> None:
        self.source = source = problem.source
        self.dtype = compute_type(source.dtype)
        sampled = np.linspace(0, source.shape[0] - 1, MEDIAN_ROWS).astype(np.int64)
        self.origin = np.median(source.take(sampled), axis=0).astype(self.dtype)
        zero = np.zeros((1, source.shape[1]))
        self.scale = Frame.around(zero, self.dtype, problem.ranges).scale / 2
        self.values = np.full(source.shape[0], np.inf, dtype=self.dtype)
        self.mass, self.n_threads = mass_of(problem), problem.n_threads

    def lower(self, rows: Indices) -> None:
        """Add centers: lower the distances of all rows to them, in one pass."""
        centers = self.source.take(rows).astype(self.dtype)
        kernel = partial(_lower, (self.origin, self.scale, centers), self.n_threads)
        self.source.walk(Task(kernel, (update(self.values),)))


def _lower(
    frame: tuple[NDArray[Any], float, NDArray[Any]], n_threads: int, block: Block, nearest: Any
) -> None:
    _native.lower_distances(block.rows, *frame, nearest, n_threads)


class Judges(NamedTuple):
    """Rows on which candidates are compared: the best leaves the lowest inertia there.

    If there are few rows, all of them judge. Otherwise judges are drawn with probability
    proportional to their share of the present inertia, so that each represents an equal part of it.
    """

    inertia: float  # of all rows, when the judges were drawn
    tiles: NDArray[Any]  # (tiles, columns, `TILE`): the rows, zeros behind the last
    nearest: NDArray[Any]  # (rows of tiles,): squared distances to the nearest center
    shares: NDArray[Any]  # (rows of tiles,)
    after: NDArray[Any]  # (trials, rows of tiles): distances with each candidate as a center
    left: Floats  # (trials,): the inertia that each candidate leaves


def _draw_judges(distances: SeedDistances, n_judges: int, n_trials: int, stream: Stream) -> Judges:
    """Return so many judges, all rows or some, with room for candidates."""
    chances = distances.values * distances.mass
    if n_judges == len(chances):
        rows = np.arange(n_judges)
        chosen = distances.mass / distances.mass.max()
    else:
        strata = (np.arange(n_judges) + stream.random(n_judges)) / n_judges
        rows = locate(np.cumsum(chances), strata)
        values = distances.values[rows].astype(np.float64)
        chosen = values.min() / values
    # Rows behind the last judge, which fill its tile, are zeros and have no share.
    n_tiles, dtype = -(-n_judges // TILE), distances.dtype
    points = np.zeros((n_tiles * TILE, distances.source.shape[1]), dtype)
    points[:n_judges] = (distances.source.take(rows) - distances.origin) * distances.scale
    tiles = points.reshape(n_tiles, TILE, points.shape[1]).transpose(0, 2, 1)
    nearest, shares = np.zeros((2, len(points)), dtype)
    nearest[:n_judges], shares[:n_judges] = distances.values[rows], chosen
    after, left = np.empty((n_trials, len(points)), dtype), np.empty(n_trials)
    tiles = np.ascontiguousarray(tiles)
    return Judges(float(chances.sum()), tiles, nearest, shares, after, left)


def count_judges(source: BlockSource, n_clusters: int) -> int:
    """Return how many rows candidates are judged on; they take at most the memory of a block."""
    n_rows, n_columns = source.shape
    wanted = n_rows
    if n_rows > EXACT_ROWS:
        wanted = max(MIN_JUDGES, min(JUDGES_PER_CLUSTER * n_clusters, n_rows // 4))
    room = BLOCK_BYTES // (max(1, n_columns) * compute_type(source.dtype).itemsize)
    return min(wanted, max(room, TILE))


def count_trials(n_clusters: int) -> int:
    """Return how many draws greedy k-means++ makes for each center (Arthur, Vassilvitskii)."""
    return 2 + int(math.log(n_clusters))


def seed_plus_plus(
    problem: Problem,
    n_clusters: int,
    stream: Stream,
    on_center: OnCenter = ignore,
    *,
    first: Indices | None = None,
    n_trials: int | None = None,
) -> Indices:
    """Choose rows by greedy k-means++ (Arthur, Vassilvitskii 2007), after the ``first`` if given.

    Each next center is the best of 2 + floor(ln k) rows, or ``n_trials``, drawn with probability
    proportional to D^2, their weighted squared distance from the centers so far: the one that
    leaves the lowest inertia on all rows, or on a sample of them if there are more than 8192. A row
    of weight zero is never chosen while others are left. Rows repeat only if there are fewer
    distinct rows than clusters.

    Few passes over all rows are needed, because candidates for many steps are drawn by the D^2 of
    the last pass. Each is accepted with probability D^2 now / D^2 then, so that its distribution is
    exactly that of now.
    """
    distances, judges = SeedDistances(problem), None
    if first is None:
        first = draw_rows(distances.mass, 1, stream)
        on_center(1)
    n_trials = n_trials or count_trials(n_clusters)
    n_judges = count_judges(problem.source, n_clusters) if n_trials > 1 else 0
    chosen = latest = first
    while len(chosen) < n_clusters:
        distances.lower(latest)
        chances = distances.values * distances.mass
        inertia = float(chances.sum())
        n_left = n_clusters - len(chosen)
        if inertia > 0:
            if n_judges and (judges is None or inertia < judges.inertia / 2):
                judges = _draw_judges(distances, n_judges, n_trials, stream)
            rows = draw_rows(chances, n_trials * ROUND_STEPS, stream)
            latest = _play_round(distances, rows, n_left, n_trials, judges, stream)
        else:  # all distinct rows are chosen
            latest = draw_rows(chances, n_left, stream)
        for n_before in range(len(chosen), len(chosen) + len(latest)):
            on_center(n_before + 1)
        chosen = np.concatenate([chosen, latest])
    return chosen


def _play_round(
    distances: SeedDistances,
    rows: Indices,
    n_wanted: int,
    n_trials: int,
    judges: Judges | None,
    stream: Stream,
) -> Indices:
    """Choose centers among candidate rows, until too few are accepted for another step."""
    taken, dtype = distances.source.take(rows), distances.dtype
    inside = ((taken - distances.origin) * distances.scale).astype(dtype)
    # Scaled but not shifted, so that equal rows differ by exactly zero.
    points = taken.astype(dtype) * dtype.type(distances.scale)
    now = distances.values[rows].astype(np.float64)
    threshold = now * stream.random(len(rows))
    picked: list[int] = []
    while len(picked) < n_wanted:
        accepted = np.flatnonzero(now > threshold)[:n_trials]
        if len(accepted) < n_trials:
            break
        best = accepted[0]
        if judges is not None:
            _, tiles, nearest, shares, after, left = judges
            candidates, n_threads = inside[accepted], distances.n_threads
            _native.weigh_candidates(tiles, candidates, nearest, shares, after, left, n_threads)
            place = int(np.argmin(left))
            best, nearest[:] = accepted[place], after[place]
        picked.append(int(rows[best]))
        center = points[best]
        begin = accepted[-1] + 1
        rows, points, inside = rows[begin:], points[begin:], inside[begin:]
        gaps = points - center
        now = np.minimum(now[begin:], np.einsum("ij,ij->i", gaps, gaps))
        threshold = threshold[begin:]
    return np.array(picked, dtype=np.int64)


def count_held_rows(n_rows: int, n_clusters: int) -> int:
    """Return how many rows take part in the race for first centers, which are in memory at once."""
    return min(n_rows, max(MIN_HELD_ROWS, HELD_ROWS_PER_CLUSTER * n_clusters), MAX_HELD_ROWS)


def count_cells(n_clusters: int) -> int:
    """Return how many cells race: one for 32 clusters, but at most 2 sqrt(k).

    There are at least 16, if there are as many clusters. In few cells rows meet many centers; in
    many cells the first pass leaves more rows with a center that is not their nearest.
    """
    return min(n_clusters, max(16, min(n_clusters // 32, math.isqrt(4 * n_clusters))))


def seed_by_cells(problem: Problem, n_clusters: int, stream: Stream) -> Floats:
    """Choose dense rows as centers by a race between coarse cells; near centers follow each other.

    Greedy k-means++ over all rows would cost n k. Here each row meets only the centers of its own
    cell.
    """
    n_rows, weights = problem.source.shape[0], problem.weights
    n_held = count_held_rows(n_rows, n_clusters)
    held = np.arange(n_rows)
    if n_held < n_rows:
        heavy = held if weights is None else np.flatnonzero(weights)
        held = heavy[_draw_places(len(heavy), n_held, stream)]
    row_cells = _assign_cells(problem, n_clusters, held, stream)
    everything = len(held) == n_rows
    rows = problem.source.select() if everything else problem.source.select(held)
    weights = weights if everything or weights is None else weights[held]
    racing = replace(problem, source=ArrayBlocks(rows), weights=weights)
    chosen = _race(racing, row_cells[held], n_clusters, stream)
    return problem.source.take(held[chosen])


def _draw_places(n: int, n_drawn: int, stream: Stream) -> Indices:
    if n_drawn >= n:
        return np.arange(n)
    return np.sort(stream.choice(n, n_drawn, replace=False, shuffle=False))


def _assign_cells(problem: Problem, n_clusters: int, held: Indices, stream: Stream) -> Labels:
    """Return the cell of every row: its nearest of a few centers, which fit a sample."""
    n_cells = count_cells(n_clusters)
    part = held[_draw_places(len(held), ROWS_PER_CELL * n_cells, stream)]
    weights = None if problem.weights is None else problem.weights[part]
    sample = replace(problem, source=ArrayBlocks(problem.source.select(part)), weights=weights)
    first = sample.source.take(seed_plus_plus(sample, n_cells, stream))
    centers = run_lloyd(sample, first, max_iter=CELL_PASSES).centers
    cells: Labels = problem.source.new_row_array(np.dtype(np.int32), 0)
    problem.label(centers, cells)
    return cells


def _race(problem: Problem, row_cells: Labels, n_clusters: int, stream: Stream) -> Indices:
    """Return the rows that win the race, ascending by cell.

    Choosing a center takes 1 / potential of its cell's time; the k earliest centers of all cells
    win.
    """
    dtype = compute_type(problem.source.dtype)
    rows = np.ascontiguousarray(problem.source.select(), dtype=dtype)
    n_cells = int(row_cells.max()) + 1
    # NumPy sorts integers of 16 bits by counting, which is much faster than by comparing.
    order = np.argsort(row_cells.astype(np.uint16), kind="stable")
    sizes = np.bincount(row_cells, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    seeds = stream.integers(0, 2**64, n_cells, dtype=np.uint64)
    counts, chosen = np.empty(n_cells, np.int64), np.empty(len(order), np.int64)
    times = np.empty(len(order))
    scale = Frame.around(np.zeros((1, rows.shape[1])), dtype, problem.ranges).scale / 2
    cells, found = (starts, order, seeds), (counts, chosen, times)
    n_threads = problem.n_threads
    _native.race_centers(rows, problem.weights, scale, *cells, n_clusters, *found, n_threads)
    cell_of_place = np.repeat(np.arange(n_cells), sizes)
    placed = np.flatnonzero(np.arange(len(order)) - starts[cell_of_place] < counts[cell_of_place])
    earliest = np.sort(placed[np.argsort(times[placed], kind="stable")[:n_clusters]])
    winners = chosen[earliest]
    if len(winners) < n_clusters:  # there are fewer distinct rows than clusters
        more = draw_rows(mass_of(problem), n_clusters - len(winners), stream)
        winners = np.concatenate([winners, more])
        winners = winners[np.argsort(row_cells[winners], kind="stable")]
    return winners
