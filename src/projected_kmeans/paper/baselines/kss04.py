"""The (1 + eps)-approximation of Kumar, Sabharwal and Sen (2004), for at most 4 clusters.

Searches over means of small samples. Its time grows as a constant to the power of k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_count
from projected_kmeans.keys import RandomState, open_stream, resolve_key
from projected_kmeans.paper.streams import KSS04
from projected_kmeans.passes.assignment import measure_rows
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.solvers.lloyd import run_lloyd

MAX_CLUSTERS = 4
MAX_SUBSETS = 64
# Maximum number of sets of centers that are tried, unless a caller asks for more.
MAX_TRIALS = 2**15


def solve_kss04(
    X: ArrayLike,
    n_clusters: int,
    *,
    eps: float = 0.5,
    n_subsets: int | None = None,
    max_iter: int = 300,
    random_state: RandomState = None,
) -> Clustering:
    """Return a partition whose inertia is, very likely, within 1 + eps of the optimum.

    The mean of m random rows of a cluster has an expected inertia of 1 + 1/m times the cluster's
    minimum. The search is a tree of depth k. Each node draws rows by their squared distance to the
    centers so far (Jaiswal, Kumar, Sen 2012) and tries the means of many subsets of 2/eps of them
    as the next center. Lloyd's method starts from the best leaf.

    Parameters
    ----------
    X : array-like (n, d)
        Rows.
    n_clusters : int
        k, at most 4.
    eps : float, default=0.5
        The error in (0, 1].
    n_subsets : int, optional
        Subsets that every node tries; by default at most 64, and so few that the tree has at
        most 32,768 leaves. The proof needs 2^(k/eps)^O(1).
    max_iter : int, default=300
        Maximum number of passes of Lloyd's method at the end.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the search.

    Returns
    -------
    Clustering
        The best partition found.

    Examples
    --------
    >>> from projected_kmeans.paper import solve_kss04
    >>> solve_kss04([[0.0], [1.0], [5.0], [6.0]], 2, random_state=0).inertia
    1.0
    """
    rows = check_array(X, dtype=np.float64, order="C")
    _check_request(n_clusters, eps, len(rows))
    if n_subsets is None:
        n_subsets = min(MAX_SUBSETS, int(MAX_TRIALS ** (1 / n_clusters)))
    check_count("n_subsets", n_subsets)
    source = ArrayBlocks(rows)
    problem = Problem(source, scan_columns(source), n_threads=1)
    search = _Search(
        problem,
        Frame.around(
            np.stack([problem.ranges.minimum, problem.ranges.maximum]), compute_type(rows.dtype)
        ),
        open_stream(resolve_key(random_state), KSS04),
        n_clusters,
        n_drawn=math.ceil(8 * n_clusters / eps),
        subset_size=math.ceil(2 / eps),
        n_subsets=n_subsets,
    )
    centers = search.descend(np.empty((0, rows.shape[1])), None)[1]
    return run_lloyd(problem, centers, max_iter=max_iter)


def _check_request(n_clusters: int, eps: float, n_samples: int) -> None:
    check_count("n_clusters", n_clusters)
    if n_clusters > MAX_CLUSTERS:
        raise ValueError(
            f"n_clusters={n_clusters} is too many for KSS04, whose time grows as a constant to the "
            f"power of k; use at most {MAX_CLUSTERS}, or ProjectedKMeans"
        )
    if n_clusters > n_samples:
        raise ValueError(
            f"n_clusters={n_clusters} exceeds n_samples={n_samples}; use at most {n_samples}"
        )
    if not 0 < eps <= 1:
        raise ValueError(f"eps={eps!r} is outside (0, 1]; use for example eps=0.5")


@dataclass(frozen=True)
class _Search:
    """The values that all nodes of the search tree share."""

    problem: Problem
    frame: Frame
    stream: np.random.Generator
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
            totals = after.sum(axis=1)
            best = int(np.argmin(totals))
            return float(totals[best]), np.vstack([centers, candidates[best]])
        return min(
            (
                self.descend(np.vstack([centers, candidate]), left)
                for candidate, left in zip(candidates, after, strict=True)
            ),
            key=lambda found: found[0],
        )

    def _propose(self, centers: Floats, nearest: Floats | None) -> Floats:
        """Return candidates: means of random subsets of drawn rows and copies of the centers."""
        source = self.problem.source
        drawn = source.take(self._draw_rows(nearest))
        pool = np.vstack([drawn, np.repeat(centers, self.subset_size, axis=0)])
        ranks = self.stream.random((self.n_subsets, len(pool)))
        subsets = np.argpartition(ranks, self.subset_size - 1, axis=1)[:, : self.subset_size]
        means: Floats = pool[subsets].mean(axis=1)
        return means

    def _draw_rows(self, nearest: Floats | None) -> NDArray[np.int64]:
        n_rows = self.problem.source.shape[0]
        total = 0.0 if nearest is None else float(nearest.sum())
        if nearest is None or not total > 0:
            return self.stream.integers(n_rows, size=self.n_drawn)
        return self.stream.choice(n_rows, self.n_drawn, p=nearest / total)
