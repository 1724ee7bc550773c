"""CLUSTER: the (1 + eps)-approximation of Kumar, Sabharwal and Sen (2004), for at most 4 clusters.

Searches over means of small samples. Its time grows as a constant to the power of k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.search.kmeans_plus_plus import Stream, draw_rows, mass_of
from projected_kmeans.search.lloyd import run_lloyd

MAX_CLUSTERS = 4

# Maximum number of subsets of a node, and of sets of centers that are tried, unless a caller asks
# for more.
MAX_SUBSETS, MAX_TRIALS = 64, 2**15

# The error that the search aims at, unless a caller names another.
DEFAULT_EPS = 0.5


def solve_by_samples(
    problem: Problem,
    n_clusters: int,
    stream: Stream,
    *,
    eps: float = DEFAULT_EPS,
    n_subsets: int | None = None,
    max_iter: int = 300,
) -> Clustering:
    """Return a partition whose inertia is, very likely, within 1 + eps of the optimum.

    The mean of m random rows of a cluster has an expected inertia of 1 + 1/m times the cluster's
    minimum. The search is a tree of depth k. Each node draws rows by their squared distance to the
    centers so far (Jaiswal, Kumar, Sen 2012) and tries the means of many subsets of 2/eps of them
    as the next center. Lloyd's method starts from the best leaf. Rows with weights are drawn as
    often as their weights say.

    Every node tries ``n_subsets`` subsets; by default at most 64, and so few that the tree has at
    most 32,768 leaves. The proof needs 2^(k/eps)^O(1). ``max_iter`` limits Lloyd's passes.
    """
    check_few_clusters(n_clusters)
    if n_subsets is None:
        n_subsets = min(MAX_SUBSETS, int(MAX_TRIALS ** (1 / n_clusters)))
    source = problem.source
    corners = np.stack([problem.ranges.minimum, problem.ranges.maximum])
    search = _Search(
        problem,
        Frame.around(corners, compute_type(source.dtype)),
        stream,
        n_clusters,
        n_drawn=math.ceil(8 * n_clusters / eps),
        subset_size=math.ceil(2 / eps),
        n_subsets=n_subsets,
    )
    centers = search.descend(np.empty((0, source.shape[1])), None)[1]
    return run_lloyd(problem, centers, max_iter=max_iter)


def check_few_clusters(n_clusters: int) -> None:
    """Raise if there are more clusters than the search can take."""
    if n_clusters > MAX_CLUSTERS:
        raise ValueError(
            f"n_clusters={n_clusters} is too many for KSS04, whose time grows as a constant to the "
            f"power of k; use at most {MAX_CLUSTERS}, or another solver"
        )


@dataclass(frozen=True)
class _Search:
    """The values that all nodes of the search tree share."""

    problem: Problem
    frame: Frame
    stream: Stream
    n_clusters: int
    n_drawn: int
    subset_size: int
    n_subsets: int

    def descend(self, centers: Floats, nearest: Floats | None) -> tuple[float, Floats]:
        """Return the minimum inertia below a node, and the centers that reach it.

        A node is a list of centers; ``nearest`` holds the squared distances of all rows to them.
        """
        candidates = self._propose(centers, nearest)
        distances: Floats = measure_rows(
            self.problem.source, candidates, self.frame, self.problem.n_threads
        )
        after = distances if nearest is None else np.minimum(distances, nearest)
        if len(centers) + 1 == self.n_clusters:
            weights = self.problem.weights
            totals = after.sum(axis=1) if weights is None else multiply(after, weights)
            best = int(np.argmin(totals))
            return float(totals[best]), np.vstack([centers, candidates[best]])
        pairs = zip(candidates, after, strict=True)
        ends = [self.descend(np.vstack([centers, added]), left) for added, left in pairs]
        return min(ends, key=itemgetter(0))

    def _propose(self, centers: Floats, nearest: Floats | None) -> Floats:
        """Return candidates: means of random subsets of drawn rows and copies of the centers.

        Rows are drawn by their weighted squared distance to the centers so far.
        """
        source, weights, mass = self.problem.source, self.problem.weights, mass_of(self.problem)
        if nearest is None and weights is None:
            rows = self.stream.integers(len(mass), size=self.n_drawn)
        else:
            chances = mass if nearest is None else mass * nearest
            rows = draw_rows(chances if chances.any() else mass, self.n_drawn, self.stream)
        pool = np.vstack([source.take(rows), np.repeat(centers, self.subset_size, axis=0)])
        ranks = self.stream.random((self.n_subsets, len(pool)))
        subsets = np.argpartition(ranks, self.subset_size - 1, axis=1)[:, : self.subset_size]
        means: Floats = pool[subsets].mean(axis=1)
        return means
