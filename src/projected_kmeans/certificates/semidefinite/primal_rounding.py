"""From the matrix X of a search to a clustering, often better than the one the search began with.

If X is the matrix of a clustering, rows of the same cluster have the same entries in each of its
eigenvectors, divided by the roots of their weights. So X is rounded by k-means on its k - 1 largest
eigenvectors beside q, and the result goes through Lloyd's method and single-point moves on the rows
themselves. On ORL with 40 clusters this lowers the inertia of a default fit by 3 %.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.certificates.semidefinite.primal_step import Eigenpairs
from projected_kmeans.keys import CERTIFICATE, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.search.kmeans_plus_plus import seed_plus_plus
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.paper_solvers import move_single_points

# Restarts of k-means on the eigenvectors, and passes of each solver at most.
N_RESTARTS = 3
MAX_PASSES = 100


def round_primal(
    problem: Problem, X: Eigenpairs, roots: Floats, n_clusters: int, index: int = 0
) -> Clustering:
    """Return a clustering of the rows that X suggests, into at most k clusters.

    ``roots`` are the square roots of the weights. The index fixes the draws.
    """
    columns = X.vectors[:, : max(1, n_clusters - 1)]
    source = ArrayBlocks((columns / roots[:, None]).astype(np.float32))
    reduced = replace(problem, source=source, ranges=scan_columns(source, problem.n_threads))
    solved = []
    for restart in range(N_RESTARTS):
        stream = open_stream(0, CERTIFICATE, index, restart)
        centers = reduced.source.take(seed_plus_plus(reduced, n_clusters, stream))
        solved.append(run_lloyd(reduced, centers, max_iter=MAX_PASSES))
    best = min(solved, key=lambda clustering: clustering.inertia)
    return polish(problem, describe(problem, best.labels))


def describe(problem: Problem, labels: Labels) -> Clustering:
    """Return a partition with its means and its inertia; clusters without rows are left out."""
    first, codes = np.unique(labels, return_index=True, return_inverse=True)[1:]
    references = problem.source.take(first.astype(np.int64))
    compact = np.asarray(codes, dtype=np.int32)
    return problem.sum(compact, references).describe(compact)


def polish(problem: Problem, start: Clustering) -> Clustering:
    """Improve a clustering by Lloyd's method, and by single-point moves if rows are dense."""
    polished = run_lloyd(problem, start.centers, max_iter=MAX_PASSES, start=start)
    if problem.source.sparse:
        return polished
    polished = replace(polished, n_iter=0, history=())
    return move_single_points(problem, polished, max_iter=MAX_PASSES)
