"""CLUSTER: solvers that the paper names: KSS04, ORSS06, MatLab's kmeans, the optimum of few rows.

Kumar, Sabharwal and Sen (2004) search over means of small samples, for at most 4 clusters, because
the time grows as a constant to the power of k. The optimum, with which approximations are compared,
is found for at most 15 rows by dynamic programming over sets of rows, in a time that grows as 3^n.
The second phase of MatLab's kmeans moves single points, on rows in memory, after Lloyd's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem, measure_rows
from projected_kmeans.results import Clustering, Floats, OnPass
from projected_kmeans.running.checkpoint import RUNNING, Run
from projected_kmeans.running.monitor import Plateau
from projected_kmeans.search.kmeans_plus_plus import Stream, draw_rows, mass_of
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.seeding import seed_centers
from projected_kmeans.search.settings import check_few_clusters
from projected_kmeans.search.settling import describe_labels

# Maximum number of subsets of a node, and of sets of centers that are tried, unless a caller asks
# for more.
MAX_SUBSETS, MAX_TRIALS = 64, 2**15

# The error that the search aims at, unless a caller names another.
DEFAULT_EPS = 0.5

# The optimum is found for at most this many rows.
MAX_ROWS = 15


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


def solve_orss06(problem: Problem, n_clusters: int, stream: Stream) -> Clustering:
    """Return the partition after one step of Lloyd's method from the centers of ORSS06.

    *The Effectiveness of Lloyd-Type Methods for the k-Means Problem*, FOCS 2006, proves that this
    is near the optimum if k clusters fit the rows much better than k - 1 do.
    """
    centers = seed_centers("orss06", problem, n_clusters, stream)
    # One step is all that the method makes, so it has ended and was not cut short.
    return replace(run_lloyd(problem, centers, max_iter=1), converged=True)


# A set of rows is an integer: bit i stands for row i.
Sets = NDArray[np.int32]


class SetSplits(NamedTuple):
    """Every way to split a set of rows into a part that holds its last row, and the rest."""

    parts: Sets
    rests: Sets
    starts: NDArray[np.int64]  # set s has the splits from starts[s - 1] to starts[s]


def find_optimum(problem: Problem, n_clusters: int) -> Clustering:
    """Return a partition of at most 15 rows into at most k clusters with the minimum inertia.

    Clusters are empty if fewer than k reach the same inertia.
    """
    n_rows = problem.source.shape[0]
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"n_samples={n_rows} is too many for the exact solver; use at most {MAX_ROWS} rows"
        )
    labels = _find_labels(_measure_sets(problem), n_clusters, n_rows)
    return describe_labels(problem, labels, n_clusters)


def _measure_sets(problem: Problem) -> Floats:
    """Return the inertia of every set of rows: its summed squared distances over its size.

    Weights count a distance by the product of the weights of its two rows, and a size by their
    sum. The sets of the first i rows are those of the first i - 1 rows, without and with row i.
    """
    rows = problem.source.take(np.arange(problem.source.shape[0]))  # in float64
    corners = np.stack([problem.ranges.minimum, problem.ranges.maximum])
    squared = measure_rows(ArrayBlocks(rows), rows, Frame.around(corners, rows.dtype), 1)
    weights = np.ones(len(rows))
    if problem.weights is not None:
        weights = problem.weights / problem.weights.max()
        squared = weights[:, None] * squared * weights
    pairs, sizes = np.zeros(1), np.zeros(1)
    for row in range(len(squared)):
        added = np.zeros(1)
        for other in range(row):
            added = np.concatenate([added, added + squared[row, other]])
        pairs = np.concatenate([pairs, pairs + added])
        sizes = np.concatenate([sizes, sizes + weights[row]])
    return pairs / np.where(sizes > 0, sizes, 1.0)


@lru_cache(maxsize=2)
def _list_splits(n_rows: int) -> SetSplits:
    """Return the splits of all sets of n rows, (3^n - 1) / 2 in number."""
    wholes, parts = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    listed: list[tuple[Sets, Sets]] = []
    for row in range(n_rows):
        bit = np.int32(1 << row)
        order = np.argsort(wholes, kind="stable")
        listed.append((wholes[order] | bit, parts[order] | bit))
        wholes = np.concatenate([wholes, wholes | bit, wholes | bit])
        parts = np.concatenate([parts, parts, parts | bit])
    sets = np.concatenate([pair[0] for pair in listed])
    taken = np.concatenate([pair[1] for pair in listed])
    starts = np.searchsorted(sets, np.arange(1, 2**n_rows + 1))
    return SetSplits(taken, sets ^ taken, starts)


def _find_labels(inertia_of: Floats, n_clusters: int, n_rows: int) -> NDArray[np.int32]:
    """Return the labels of an optimal partition; cluster 0 holds the last row."""
    splits = _list_splits(n_rows)
    layers = [np.where(np.arange(2**n_rows) == 0, 0.0, np.inf), inertia_of]
    for _ in range(2, n_clusters):
        totals = inertia_of[splits.parts] + layers[-1][splits.rests]
        layers.append(np.concatenate([[0.0], np.minimum.reduceat(totals, splits.starts[:-1])]))
    labels = np.zeros(n_rows, dtype=np.int32)
    left = 2**n_rows - 1
    for cluster in range(n_clusters):
        if left == 0:
            break
        span = slice(splits.starts[left - 1], splits.starts[left])
        remaining = layers[n_clusters - cluster - 1]
        totals = inertia_of[splits.parts[span]] + remaining[splits.rests[span]]
        part = int(splits.parts[span][np.argmin(totals)])
        labels[(part >> np.arange(n_rows)) & 1 == 1] = cluster
        left ^= part
    return labels


def move_single_points(
    problem: Problem,
    start: Clustering,
    *,
    max_iter: int,
    on_pass: OnPass | None = None,
    on_state: Callable[[Clustering], object] | None = None,
) -> Clustering:
    """Move one row at a time while that lowers the inertia (Hartigan).

    Moving a row of weight w from cluster a to b changes the inertia by
    ``w m_b / (m_b + w) ||x - c_b||^2 - w m_a / (m_a - w) ||x - c_a||^2``, where m is a cluster's
    weight before the move. Rows are visited in cyclic order. A row moves to the cluster where the
    inertia falls most, and both centers are updated at once. Where Lloyd's method has converged,
    such moves can still lower the inertia.

    Passes of ``start`` count as done. After each pass ``on_state`` gets the partition, from which
    another call goes on to the same end, and then ``on_pass`` (passes done, inertia); True stops.
    """
    # Aligned and in one piece, as kernels need it.
    rows = np.require(problem.source.select(), requirements=["C", "A", "E"])
    result, history, converged = start, list(start.history), False
    while len(history) < max_iter:
        labels = np.array(result.labels)
        centers, mass = result.centers.copy(), result.mass.copy()
        frame = Frame.around(centers, compute_type(rows.dtype), problem.ranges)
        n_moves = _native.move_points(
            rows,
            problem.weights,
            frame.origin,
            frame.scale,
            labels,
            centers,
            mass,
            problem.n_threads,
        )
        if n_moves == 0:
            converged = True
            break
        result = problem.sum(labels, centers).describe(labels)
        history.append(result.inertia)
        if on_state is not None:
            on_state(replace(result, n_iter=len(history), history=tuple(history)))
        if on_pass is not None and on_pass(len(history), result.inertia):
            break
    return replace(result, n_iter=len(history), converged=converged, history=tuple(history))


def move_to_plateau(
    problem: Problem, start: Clustering, run: Run, owner: str, *, max_iter: int, inertia_tol: float
) -> Clustering:
    """Move single points until a pass gains too little, or go on where a checkpoint has them."""
    sizes = problem.sizes(len(start.mass))
    state = run.checkpoint.recall(RUNNING, Clustering, sizes, owner=owner) or start
    plateau = Plateau(run.monitor.report, inertia_tol, start.inertia)
    plateau.follow(state.history[len(start.history) :])
    run.monitor.skip(len(state.history))
    if not plateau.reached:
        state = move_single_points(
            problem,
            state,
            max_iter=max_iter,
            on_pass=plateau,
            on_state=partial(run.checkpoint.keep_running, owner),
        )
    if run.monitor.stopped:
        run.checkpoint.flush()
    return replace(state, converged=True) if plateau.reached else state
