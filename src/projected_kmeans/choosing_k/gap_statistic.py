"""The gap statistic: how much faster inertia falls with more clusters than for random rows.

Draws random rows and compares curves (Tibshirani, Walther, Hastie 2001). It chooses no number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blas_threads import strictly
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.choosing_k.sweep import Sweep, sweep_counts
from projected_kmeans.keys import REFERENCE_ROWS, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats
from projected_kmeans.search.kmeans_plus_plus import mass_of
from projected_kmeans.thread_pool import ThreadPool

# Random rows are drawn 8 times.
N_REFERENCES = 8

# The statistic is measured on at most 2,048 rows, or 20 rows a cluster if that is more.
MAX_SAMPLE_ROWS = 2048
SAMPLE_ROWS_PER_CLUSTER = 20

# Random rows use parts 2 to 9 of the key, because the sweeps of the rows use parts 0 and 1.
FIRST_PART = 2

# An inertia below this share of the inertia of one cluster is rounding, and counts as zero.
ZERO_SHARE = 1e-12


@dataclass(frozen=True)
class Gap:
    """The statistic for every number of clusters.

    Attributes
    ----------
    values : ndarray (m,)
        Mean of log(inertia / inertia of one cluster) of random rows, minus that of the rows: 0 for
        one cluster, infinity if the inertia is 0.
    errors : ndarray (m,)
        Their standard errors, as far as they come from the random rows.
    silhouette : ndarray (m,)
        Mean silhouette of the random rows.
    """

    values: Floats
    errors: Floats
    silhouette: Floats


def draw_sample(problem: Problem, max_clusters: int, key: int) -> Problem:
    """Return the problem itself, or a sample if it has more rows than the statistic needs.

    The sample is drawn uniformly, or by weight, so that each drawn row counts once.
    """
    n_rows = problem.source.shape[0]
    n_wanted = max(MAX_SAMPLE_ROWS, SAMPLE_ROWS_PER_CLUSTER * max_clusters)
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
    """Return the gap statistic of a sample of the rows.

    Random rows are uniform in the box of the sample along its principal directions, and are swept
    as the sample was. They are few, so each sweep uses one thread and several run at a time.

    Parameters
    ----------
    sample : Problem
        The sample; random rows have the same number and weights.
    found : Sweep
        Of the sample, one cluster first.
    key : int
        Fixes the random rows and their clusterings.
    on_reference : callable
        Called after each of the `N_REFERENCES` sweeps of random rows.
    """
    counts = found.counts.tolist()
    low, high = _measure_box(sample.source.take(np.flatnonzero(mass_of(sample))))
    dtype = compute_type(sample.source.dtype)

    def sweep_random_rows(index: int) -> Sweep:
        stream = open_stream(key, REFERENCE_ROWS, index)
        rows = stream.uniform(low, high, size=(sample.source.shape[0], len(low)))
        source = ArrayBlocks(rows.astype(dtype))
        problem = Problem(source, scan_columns(source, 1), sample.weights, n_threads=1)
        return sweep_counts(problem, counts, key, FIRST_PART + index)

    curves = []
    with ThreadPool(_native.max_threads(sample.n_threads)) as pool:
        for curve in pool.map(sweep_random_rows, range(N_REFERENCES)):
            curves.append(curve)
            on_reference()
    falls = np.array([_take_logs(curve.inertia) for curve in curves])
    errors = falls.std(axis=0, ddof=1) * np.sqrt(1 + 1 / N_REFERENCES)
    silhouette = np.mean([curve.silhouette for curve in curves], axis=0)
    return Gap(falls.mean(axis=0) - _take_logs(found.inertia), errors, silhouette)


def _take_logs(inertia: Floats) -> Floats:
    """Return the logarithms of inertia / inertia of one cluster, minus infinity for zero."""
    logs = np.full(len(inertia), -np.inf)
    some = inertia > ZERO_SHARE * inertia[0]
    logs[some] = np.log(inertia[some] / inertia[0])
    return logs


def _measure_box(rows: Floats) -> tuple[Floats, Floats]:
    """Return the minimum and the maximum of rows along each of their principal directions."""
    centred = rows - rows.mean(axis=0)
    # One thread, because the rounding of a product may depend on the number of threads.
    turned = strictly(lambda: centred @ np.linalg.eigh(centred.T @ centred)[1])
    return turned.min(axis=0), turned.max(axis=0)
