"""CLUSTER, POLISH: where Lloyd's method stands after a pass; whether a stored state fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import are_centers, are_labels
from projected_kmeans.results import Floats, Labels


@dataclass(frozen=True)
class LloydState:
    """Where Lloyd's method stands after a pass. From it, the method goes on to the same bits.

    Bounds of distances are not part of it, because no label depends on them.

    Attributes
    ----------
    labels : ndarray of int32 (n,)
        The partition.
    references, offsets, totals : ndarray of float64
        Its sums: the points that they are about, and their parts on the grids.
    history : tuple of float
        Inertia after each pass.
    shift : float
        How far the last pass moved the centers, squared.
    refilled, targets : ndarray of int64, of int32
        Rows that were sent to empty clusters, and to which, in the order of the passes.
    remembered : ndarray of float64
        What the search remembers, see `Search`.
    ahead : ndarray of float64 (k, columns) or (0,)
        The centers that the next pass looks at, if they are not the means.
    momentum : float
        How far ahead of the means later passes look.
    """

    labels: Labels
    references: Floats
    offsets: Floats
    totals: Floats
    history: tuple[float, ...]
    shift: float
    refilled: NDArray[np.int64]
    targets: Labels
    remembered: Floats
    ahead: Floats
    momentum: float


def state_fits(
    problem: Problem, shape: tuple[int, ...], state: LloydState, inertia: float | None = None
) -> bool:
    """Return whether a state that was stored is one of these rows and agrees with itself.

    Parameters
    ----------
    problem : Problem
        The rows.
    shape : (int, int)
        The number of clusters and of columns.
    state : LloydState
        As it was read.
    inertia : float, optional
        The inertia of its partition; by default that of its last pass.
    """
    n_rows, n_clusters = problem.source.shape[0], shape[0]
    if not (
        are_centers(state.references, shape)
        and are_labels(state.labels, (n_rows,), n_clusters)
        and are_labels(state.refilled, state.targets.shape, n_rows)
        and are_labels(state.targets, state.refilled.shape, n_clusters)
        and state.remembered.shape in ((0,), (n_clusters,))
        and state.ahead.shape in ((0,), shape)
        and all(np.isfinite(one).all() for one in (state.remembered, state.ahead))
        # Sums that are not numbers would be summed again, and the inertia would then agree.
        and all(np.isfinite(one).all() for one in (state.offsets, state.totals))
        and 0 <= state.momentum <= 1
        and state.history
    ):
        return False
    sums = problem.open_sums(state.references)
    if [part.shape for part in sums.parts] != [state.offsets.shape, state.totals.shape]:
        return False
    sums.resume(state.offsets.copy(), state.totals.copy(), state.labels)
    return sums.moments().inertia == (state.history[-1] if inertia is None else inertia)
