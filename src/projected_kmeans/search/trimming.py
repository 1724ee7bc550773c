"""CLUSTER: k-means that sets a share of far rows aside (trimmed k-means, ``trim``).

A pass gives every row its nearest center, sets the farthest rows aside, and moves the centers to
the means of the others (Chawla, Gionis 2013, "k-means--"). None of the three raises the inertia of
the rows that are kept. Which rows are far is selected exactly, by distances in float64.

Far rows get the weight 0 before rows are reduced, because a few of them can take all principal
directions and all first centers. The steps then cluster the other rows. At the end, passes in the
original space choose anew which rows are far, and move the centers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import TRIMMING, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.search.kmeans_plus_plus import SEEDING_COLUMNS, Stream, mass_of, sketch_signs
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.reduction import open_problem
from projected_kmeans.search.settings import ROUNDING, count_trimmed

# Far rows are first looked for on a sample: 64 rows a cluster, at least 4,096, and at most 256 MB.
SAMPLED_ROWS_PER_CLUSTER, MIN_SAMPLED_ROWS, MAX_SAMPLE_BYTES = 64, 4096, 2**28

# Restarts on the sample: 8, and fewer for many clusters, where one bad seed costs less.
MAX_RESTARTS, MIN_RESTARTS, RESTARTS_TIMES_CLUSTERS = 8, 2, 400
SAMPLE_PASSES = 20

# Passes at the end, each of which reads the rows three times. Few rows change sides by then.
LAST_PASSES = 10


class Trimmed(NamedTuple):
    """A partition of the rows that are kept."""

    # Every row has the label of its nearest center, also one that is set aside. Centers, mass and
    # inertia are those of the kept rows.
    partition: Clustering
    kept: NDArray[np.bool_]
    distance: float  # the largest of a kept row to its center


def weigh_near_rows(
    trim: float, recipe: Recipe, source: BlockSource, weights: Floats | None
) -> Floats | None:
    """Return the weights of rows with 0 for rows that seem far."""
    ranges = scan_columns(source, recipe.n_threads)
    spherical = recipe.metric == "cosine"
    problem = open_problem(source, ranges, weights, recipe.n_threads, spherical=spherical)
    return _weigh(problem, _keep_by_sample(problem, recipe.n_clusters, trim, recipe.key)).weights


def keep_near(squared: Floats, weights: Floats | None, share: float) -> NDArray[np.bool_]:
    """Return which rows are kept if the farthest are set aside, up to a share of their weight.

    Of equally far rows the later ones are set aside first.
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

    Centers move at most ``max_iter`` times. A cluster of which all rows are set aside keeps its
    center.
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
        sums = _weigh(problem, kept).open_sums(centers)
        moments = sums.update(labels)
        if before is not None and all(map(np.array_equal, before, (labels, kept))):
            break
        before, centers = (labels.copy(), kept), moments.means
    about = sums.about_references()
    partition = replace(
        moments.describe(labels),
        centers=stored,
        inertia=about.inertia_about_references,
        inertia_error=about.error_about_references,
        settled=True,
    )
    return Trimmed(partition, kept, float(np.sqrt(np.max(squared[kept], initial=0.0))))


def _weigh(problem: Problem, kept: NDArray[np.bool_]) -> Problem:
    """Return a problem in which rows that are not kept have no weight."""
    return replace(problem, weights=mass_of(problem) * kept)


def _keep_by_sample(problem: Problem, n_clusters: int, share: float, key: int) -> NDArray[np.bool_]:
    """Return which rows are kept by a first look at a sample of them.

    Ordinary k-means gives rows that are far from all others centers of their own, and would then
    not find them. Here the first centers are drawn from a random sample by squared distance, where
    the farthest rows cannot be drawn; passes that set rows aside follow. The best of several
    restarts tells which of all rows are far.
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
    # Nearness is measured without unit length, and on a sign sketch if that halves the columns.
    is_wide = rows.sparse or rows.shape[1] > 2 * SEEDING_COLUMNS
    near = sketch_signs(sample, key) if is_wide else replace(sample, spherical=False)
    best: Trimmed | None = None
    for _ in range(max(MIN_RESTARTS, min(MAX_RESTARTS, RESTARTS_TIMES_CLUSTERS // n_clusters))):
        centers = _seed(near, n_clusters, share, stream)
        ended = run_trimmed(near, centers, share, SAMPLE_PASSES)
        if best is None or ended.partition.inertia < best.partition.inertia:
            best = ended
    assert best is not None
    # About the kept row with the lowest index of each cluster, or the first row of all.
    references = np.zeros(n_clusters, dtype=np.int64)
    inside = np.flatnonzero(best.kept)
    clusters, places = np.unique(best.partition.labels[inside], return_index=True)
    references[clusters] = inside[places]
    moments = _weigh(sample, best.kept).sum(best.partition.labels, rows.take(references))
    labels = np.zeros(n_rows, dtype=np.int32)
    problem.assign(moments.means, labels, keep_ties=False)
    return keep_near(problem.distances(moments.means, labels), problem.weights, share)


def _seed(problem: Problem, n_clusters: int, share: float, stream: Stream) -> Floats:
    """Draw rows by weighted squared distance; the farthest rows cannot be drawn."""
    rows, mass = problem.source.select().astype(np.float64), mass_of(problem)
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
