"""CLUSTER: k-means that sets a share of far rows aside (trimmed k-means).

A pass gives every row its nearest center, sets the farthest rows aside, and moves the centers to
the means of the others (Chawla, Gionis 2013, "k-means--"). None of the three raises the inertia of
the rows that are kept. Which rows are far is selected exactly, by distances in float64.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, open_blocks
from projected_kmeans.keys import TRIMMING, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import fit_shape, sketch_rows
from projected_kmeans.projections.signs import SignProjection
from projected_kmeans.results import Clustering, Floats

# Far rows are first looked for on a sample: 64 rows a cluster, at least 4,096, and at most 256 MB.
SAMPLED_ROWS_PER_CLUSTER, MIN_SAMPLED_ROWS, MAX_SAMPLE_BYTES = 64, 4096, 2**28

# Nearness in the sample is measured on a sign sketch of 64 dimensions, if the rows have more than
# twice as many columns or are sparse.
SKETCH_COMPONENTS = 64

# Restarts on the sample: 8, and fewer for many clusters, where one bad seed costs less.
MAX_RESTARTS, MIN_RESTARTS, RESTARTS_TIMES_CLUSTERS = 8, 2, 400
SAMPLE_PASSES = 20

# A share of 0.29 of 100 rows is 29 rows, although 0.29 * 100 is below 29 in float64.
ROUNDING = 1 + 1e-12


class Trimmed(NamedTuple):
    """A partition of the rows that are kept.

    Attributes
    ----------
    found : Clustering
        The partition: every row has the label of its nearest center, also one that is set aside;
        centers, mass and inertia are those of the kept rows.
    kept : ndarray of bool (n,)
        Which rows are kept.
    distance : float
        The largest distance of a kept row to its center.
    """

    found: Clustering
    kept: NDArray[np.bool_]
    distance: float


def count_trimmed(share: float, n_rows: int) -> int:
    """Return how many of n rows without weights a share is, rounded down.

    Examples
    --------
    >>> count_trimmed(0.29, 100), count_trimmed(0.01, 99)
    (29, 0)
    """
    return math.floor(share * n_rows * ROUNDING)


def keep_near(squared: Floats, weights: Floats | None, share: float) -> NDArray[np.bool_]:
    """Return which rows are kept if the farthest are set aside, up to a share of all.

    Parameters
    ----------
    squared : ndarray of float64 (n,)
        Squared distances. Of equally far rows the later ones are set aside first.
    weights : ndarray of float64 (n,) or None
        The share is one of the total weight; of the number of rows if None.
    share : float
        At least 0 and below 1.

    Examples
    --------
    >>> keep_near(np.array([4.0, 1.0, 4.0, 9.0]), None, 0.5).tolist()
    [True, True, False, False]
    """
    kept = np.ones(len(squared), dtype=np.bool_)
    farthest = np.lexsort((np.arange(len(squared)), squared))[::-1]
    if weights is None:
        n_far = count_trimmed(share, len(squared))
    else:
        summed = np.cumsum(weights[farthest])
        n_far = int(np.searchsorted(summed, share * summed[-1] * ROUNDING, side="right"))
    kept[farthest[:n_far]] = False
    return kept


def run_trimmed(problem: Problem, centers: Floats, share: float, max_iter: int) -> Trimmed:
    """Run passes from given centers until nothing changes; return the partition at their end.

    Parameters
    ----------
    problem : Problem
        The rows.
    centers : ndarray of float64 (k, columns)
        The first centers. A cluster of which all rows are set aside keeps its center.
    share : float
        The share of the rows, or of their weight, to set aside.
    max_iter : int
        How often centers move, at most.
    """
    dtype = compute_type(problem.source.dtype)
    labels = np.zeros(problem.source.shape[0], dtype=np.int32)
    before: tuple[NDArray[np.int32], NDArray[np.bool_]] | None = None
    for _ in range(max_iter + 1):
        # Centers in the precision in which a model stores them, so that predictions agree.
        stored = centers = centers.astype(dtype).astype(np.float64)
        problem.assign(centers, labels, keep_ties=False)
        squared = problem.distances(centers, labels)
        kept = keep_near(squared, problem.weights, share)
        sums = weigh(problem, kept).open_sums(centers)
        moments = sums.update(labels)
        same = before is not None and all(map(np.array_equal, before, (labels, kept)))
        if same:
            break
        before, centers = (labels.copy(), kept), moments.means
    about = sums.about_references()
    found = replace(
        moments.describe(labels),
        centers=stored,
        inertia=about.inertia_about_references,
        inertia_error=about.error_about_references,
        settled=True,
    )
    return Trimmed(found, kept, float(np.sqrt(np.max(squared[kept], initial=0.0))))


def weigh(problem: Problem, kept: NDArray[np.bool_]) -> Problem:
    """Return a problem in which rows that are not kept have no weight."""
    weights = kept.astype(np.float64) if problem.weights is None else problem.weights * kept
    return replace(problem, weights=weights)


def find_far_rows(problem: Problem, n_clusters: int, share: float, key: int) -> NDArray[np.bool_]:
    """Return which rows are kept by a first look at a sample of them.

    Ordinary k-means gives rows that are far from all others centers of their own, and would then
    not find them. Here the first centers are drawn from a random sample by squared distance, where
    the farthest rows cannot be drawn; passes that set rows aside follow. The best of some restarts
    tells which of all rows are far.

    Parameters
    ----------
    problem : Problem
        All rows.
    n_clusters : int
        k.
    share : float
        The share to set aside.
    key : int
        Fixes the sample and the draws.
    """
    stream = open_stream(key, TRIMMING)
    n_rows = problem.source.shape[0]
    wanted = max(MIN_SAMPLED_ROWS, SAMPLED_ROWS_PER_CLUSTER * n_clusters)
    room = max(MIN_SAMPLED_ROWS // 8, int(MAX_SAMPLE_BYTES // problem.source.row_bytes))
    indices = np.sort(stream.permutation(n_rows)[: max(n_clusters, min(wanted, room))])
    rows = open_blocks(problem.source.select(indices))
    weights = None if problem.weights is None else problem.weights[indices]
    if weights is not None and not weights.any():
        weights = None  # no row of the sample counts; their places still say something
    sample = replace(problem, source=rows, weights=weights)
    near = _sketch(sample, key)
    restarts = max(MIN_RESTARTS, min(MAX_RESTARTS, RESTARTS_TIMES_CLUSTERS // n_clusters))
    runs = [
        run_trimmed(near, _seed(near, n_clusters, share, stream), share, SAMPLE_PASSES)
        for _ in range(restarts)
    ]
    best = min(runs, key=lambda run: run.found.inertia)
    inside = weigh(sample, best.kept)
    centers = inside.sum(best.found.labels, _references(sample, best)).means
    labels = np.zeros(n_rows, dtype=np.int32)
    problem.assign(centers, labels, keep_ties=False)
    return keep_near(problem.distances(centers, labels), problem.weights, share)


def _sketch(sample: Problem, key: int) -> Problem:
    """Return the sample in the space in which nearness is measured, not of unit length there."""
    n_rows, n_columns = sample.source.shape
    if not sample.source.sparse and n_columns <= 2 * SKETCH_COMPONENTS:
        return replace(sample, spherical=False)
    width = min(SKETCH_COMPONENTS, n_columns)
    signs = SignProjection(width, random_state=key, n_threads=sample.n_threads or None)
    fit_shape(signs, n_rows, n_columns)
    sketch = ArrayBlocks(sketch_rows(signs, sample.source))
    return Problem(sketch, scan_columns(sketch, sample.n_threads), sample.weights, sample.n_threads)


def _seed(problem: Problem, n_clusters: int, share: float, stream: np.random.Generator) -> Floats:
    """Draw rows by weighted squared distance; the farthest rows cannot be drawn."""
    rows = problem.source.select().astype(np.float64)
    mass = np.ones(len(rows)) if problem.weights is None else problem.weights
    chosen = [int(stream.choice(len(rows), p=mass / mass.sum()))]
    squared = np.full(len(rows), np.inf)
    while len(chosen) < n_clusters:
        gaps = rows - rows[chosen[-1]]
        squared = np.minimum(squared, np.einsum("ij,ij->i", gaps, gaps))
        chances = mass * squared * keep_near(squared, problem.weights, share)
        if not chances.any():
            chances = mass
        chosen.append(int(stream.choice(len(rows), p=chances / chances.sum())))
    return np.ascontiguousarray(rows[chosen])


def _references(sample: Problem, best: Trimmed) -> Floats:
    """Return for each cluster its kept row with the lowest index, or the first row of all."""
    first = np.zeros(len(best.found.mass), dtype=np.int64)
    inside = np.flatnonzero(best.kept)
    clusters, places = np.unique(best.found.labels[inside], return_index=True)
    first[clusters] = inside[places]
    return sample.source.take(first)
