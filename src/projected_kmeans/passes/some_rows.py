"""Some of the rows of a problem, and labels by looking at all centers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels

# What rounding in float64 may change of a distance, as a share of it.
ROUNDING = 1e-9


def take_rows(problem: Problem, indices: NDArray[np.int64]) -> Problem:
    """Return some of the rows, without weights, as a problem of their own."""
    return replace(problem, source=ArrayBlocks(problem.source.select(indices)), weights=None)


def label_rest(problem: Problem, centers: Floats, rest: NDArray[np.int64], labels: Labels) -> None:
    """Compare rows that nothing could be ruled out for with all centers."""
    if len(rest):
        found = np.zeros(len(rest), np.int32)
        take_rows(problem, rest).assign(centers, found, keep_ties=False)
        labels[rest] = found
