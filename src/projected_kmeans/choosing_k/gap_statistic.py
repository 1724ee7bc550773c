"""SCORE: how much faster inertia falls with the number of clusters than it does for random rows.

Draws random rows and compares curves (Tibshirani, Walther, Hastie 2001); it chooses no number.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.choosing_k.sweep import Sweep, sweep_counts
from projected_kmeans.keys import REFERENCE_ROWS, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.solvers.kmeans_plus_plus import mass_of

# Random rows are drawn so many times; the statistic is measured on so many rows, or so many for
# each cluster, where there are more.
N_REFERENCES = 8
SAMPLE_ROWS = 2048
ROWS_A_CLUSTER = 20

# Parts of the key below are those of walks over the rows themselves.
FIRST_PART = 2

# An inertia below this share of that of one cluster is zero but for rounding.
NOTHING = 1e-12


@dataclass(frozen=True)
class Gap:
    """The statistic for every number of clusters.

    Attributes
    ----------
    values : ndarray (m,)
        Mean of log(inertia / inertia of one cluster) of random rows, minus that of the rows: 0 for
        one cluster, infinity where the inertia is 0.
    errors : ndarray (m,)
        Their standard errors, as far as they come from the random rows.
    silhouette : ndarray (m,)
        Mean silhouette of the random rows.
    """

    values: Floats
    errors: Floats
    silhouette: Floats


def draw_sample(problem: Problem, most: int, key: int) -> Problem:
    """Return the problem itself, or rows enough for ``most`` clusters where it has many more.

    They are drawn uniformly, or by weight to count once each.
    """
    n_rows, n_wanted = problem.source.shape[0], max(SAMPLE_ROWS, ROWS_A_CLUSTER * most)
    if n_rows <= n_wanted:
        return problem
    stream = open_stream(key, REFERENCE_ROWS)
    if problem.weights is None:
        drawn = stream.choice(n_rows, n_wanted, replace=False)
    else:
        drawn = stream.choice(n_rows, n_wanted, p=problem.weights / problem.weights.sum())
    source = ArrayBlocks(problem.source.select(np.sort(drawn)))
    ranges = scan_columns(source, problem.n_threads)
    return replace(problem, source=source, ranges=ranges, weights=None)


def measure_gap(
    sample: Problem,
    found: Sweep,
    key: int,
    on_reference: Callable[[], object],
) -> Gap:
    """Return the gap statistic of some rows.

    Random rows are uniform in the box of the rows along their principal directions, and clustered
    as the rows were. They are few, so that each walk has one thread and several go side by side.

    Parameters
    ----------
    sample : Problem
        The rows; random ones have the same weights.
    found : Sweep
        Of these rows, one cluster first.
    key : int
        What fixes the random rows and their clusterings.
    on_reference : callable
        Called after each of the `N_REFERENCES` walks.
    """
    counts = found.counts.tolist()
    low, high = _measure_box(sample.source.take(np.flatnonzero(mass_of(sample))))
    dtype = compute_type(sample.source.dtype)

    def walk(index: int) -> Sweep:
        stream = open_stream(key, REFERENCE_ROWS, index)
        rows = stream.uniform(low, high, size=(sample.source.shape[0], len(low)))
        source = ArrayBlocks(rows.astype(dtype))
        problem = Problem(source, scan_columns(source, 1), sample.weights, n_threads=1)
        return sweep_counts(problem, counts, key, FIRST_PART + index)

    curves = []
    with ThreadPoolExecutor(sample.n_threads or os.cpu_count()) as pool:
        for curve in pool.map(walk, range(N_REFERENCES)):
            curves.append(curve)
            on_reference()
    falls = np.array([_take_logs(curve.inertia) for curve in curves])
    errors = falls.std(axis=0, ddof=1) * np.sqrt(1 + 1 / N_REFERENCES)
    silhouette = np.mean([curve.silhouette for curve in curves], axis=0)
    return Gap(falls.mean(axis=0) - _take_logs(found.inertia), errors, silhouette)


def _take_logs(inertia: Floats) -> Floats:
    """Return logarithms of inertia / that of one cluster, minus infinity where it is zero."""
    logs = np.full(len(inertia), -np.inf)
    some = inertia > NOTHING * inertia[0]
    logs[some] = np.log(inertia[some] / inertia[0])
    return logs


def _measure_box(rows: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest coordinates of rows along their principal directions."""
    centred = rows - rows.mean(axis=0)
    # On one thread, as sums of a product may depend on their number.
    with one_blas_thread():
        directions = np.linalg.eigh(centred.T @ centred)[1]
        turned = centred @ directions
    return turned.min(axis=0), turned.max(axis=0)
