"""The rows to prove something about, with a clustering of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.keys import CERTIFICATE, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels
from projected_kmeans.running.deadlines import Deadline
from projected_kmeans.search.kmeans_plus_plus import seed_plus_plus, sketch_signs
from projected_kmeans.search.lloyd import run_lloyd

Indices = NDArray[np.int64]

# Passes of Lloyd's method if nobody gave labels.
MAX_PASSES = 30


@dataclass(frozen=True)
class Instance:
    """Rows, their weights and a clustering of them.

    Attributes
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept.
    n_clusters : int
        k.
    labels : ndarray of int32 (n,)
        A clustering into at most k clusters.
    weights : ndarray of float64 (n,) or None
        All above 0; None counts every row once.
    """

    rows: Any
    n_clusters: int
    labels: Labels
    weights: Floats | None = None

    def take(self, indices: Indices) -> Instance:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[indices]
        return Instance(self.rows[indices], self.n_clusters, self.labels[indices], weights)


def cluster_quickly(
    rows: Any,
    n_clusters: int,
    weights: Floats | None,
    *,
    key: int,
    n_threads: int,
    deadline: Deadline,
) -> Instance:
    """Return the rows with a clustering made by k-means++ and Lloyd's method.

    A better clustering makes a proof faster; any clustering allows one.

    Parameters
    ----------
    rows, n_clusters, weights
        As in `Instance`.
    key : int
        Fixes the draws.
    n_threads : int
        The number of threads; 0 means as many as OpenMP allows.
    deadline : Deadline
        Looked at between passes; `OutOfTime` is raised if it passes before there are centers.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [50.0], [51.0]])
    >>> found = cluster_quickly(rows, 2, None, key=0, n_threads=1, deadline=Deadline())
    >>> found.labels[0] == found.labels[1] != found.labels[2] == found.labels[3]
    np.True_
    """
    source = open_blocks(rows)
    problem = Problem(source, scan_columns(source, n_threads), weights, n_threads)
    stream = open_stream(key, CERTIFICATE, 0)
    seeded = sketch_signs(problem, key) if source.sparse else problem
    chosen = seed_plus_plus(seeded, n_clusters, stream, lambda n_chosen: deadline.check())
    found = run_lloyd(
        problem,
        source.take(chosen),
        max_iter=MAX_PASSES,
        on_pass=lambda done, inertia: deadline.is_over,
    )
    return Instance(rows, n_clusters, found.labels, weights)
