"""SCORE: the nearest of very many centers, without looking at most of them. Labels stay exact.

Two ways rule centers out. `CenterCells` uses the triangle inequality around coarse cells of
centers; `CenterSketch` uses lower bounds on distances from a few directions. A probe of some rows
tells which of them saves enough, if any does.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.passes.center_cells import MAX_TABLE, CenterCells, count_cells
from projected_kmeans.passes.center_sketch import DIRECTIONS, CenterSketch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.some_rows import take_rows
from projected_kmeans.results import Floats, Labels

# With fewer centers, looking at all of them is as fast. Cells need this many rows each, and finding
# directions may take a twentieth of the products of all rows with all centers.
MIN_CENTERS, ROWS_PER_CELL, DIRECTION_WORK = 256, 100, 20

# Rows that are probed. A way is taken if it then needs at most this share of all products; no other
# is tried if it needs little.
PROBED_ROWS, MAX_SHARE, GOOD_SHARE = 512, 0.4, 0.1

# Entries whose squares neither overflow nor vanish in float32.
MODERATE = 1e-12, 1e12


class Pruning(Protocol):
    """A way to find nearest centers without looking at all of them."""

    def label(self, problem: Problem, labels: Labels) -> float:
        """Overwrite labels by the nearest centers; return the share of all products it took."""


def choose_pruning(centers: Floats, problem: Problem, n_rows: int) -> Pruning | None:
    """Return the way that saves most for rows like these; None if none saves enough.

    Parameters
    ----------
    centers : ndarray of float64 (k, d)
        The centers.
    problem : Problem
        Some of the rows.
    n_rows : int
        How many rows there are in all.
    """
    k, d = centers.shape
    if k < MIN_CENTERS or problem.source.sparse:
        return None
    if not (is_moderate(problem) and float(np.max(np.abs(centers))) < MODERATE[1]):
        return None
    n_probed = min(PROBED_ROWS, problem.source.shape[0])
    every = np.arange(n_probed) * (problem.source.shape[0] // n_probed)
    probe, labels = take_rows(problem, every), np.zeros(n_probed, np.int32)
    ways: dict[float, Pruning] = {}
    if n_rows >= ROWS_PER_CELL * count_cells(k) and k <= MAX_TABLE // MIN_CENTERS:
        cells = CenterCells.around(centers, problem)
        ways[cells.label(probe, labels)] = cells
    worth = float(n_rows) * k >= DIRECTION_WORK * d * (d + k)
    if worth and min(ways, default=1.0) > GOOD_SHARE and min(k, d) > 2 * DIRECTIONS:
        sketch = CenterSketch.of(centers, compute_type(problem.source.dtype))
        ways[sketch.label(probe, labels)] = sketch
    best = min(ways, default=1.0)
    return ways[best] if best <= MAX_SHARE else None


def is_moderate(problem: Problem) -> bool:
    """Return whether squares of all entries are far from overflow and underflow."""
    low, high = problem.ranges.minimum, problem.ranges.maximum
    largest = max(float(np.max(np.abs(low))), float(np.max(np.abs(high))))
    return MODERATE[0] < largest < MODERATE[1]
