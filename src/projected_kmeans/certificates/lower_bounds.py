"""The best lower bound on the inertia of every clustering into k clusters.

Checks the input, runs the `Prover`, and returns the best of its bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from projected_kmeans.blocks.inputs import as_native_rows, check_weights
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.certificates.prover import EFFORTS, N_SUBSETS, Effort, Prover
from projected_kmeans.certificates.sparse_proof_rows import SparseProofRows
from projected_kmeans.checks import check_choice, check_count, check_not_negative
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.results import FitState, Floats, Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor


@dataclass(frozen=True)
class LowerBound:
    """A lower bound: no clustering into k clusters has a smaller inertia.

    Attributes
    ----------
    value : float
        The bound.
    method : str
        The method that gave the best bound: "spectral", "neighbour", "tightened", "sampled" or
        "semidefinite"; "none" if no bound was computed and the value is 0.
    certain : bool
        Whether the bound is proven. If not, it holds with probability `confidence`.
    confidence : float
        1.0 if the bound is certain.
    seconds : float
        The time that all bounds took together.
    values : dict
        The bound of each method that was tried.
    skipped : dict
        Maps each bound that was skipped or cut short to the reason: too many rows, or no time.
    part_rows : int
        Rows of the largest part of the semidefinite bound; 0 if all rows were one part.
    deal_ratio : float
        The smallest ratio that these parts can prove for the labels given; 1.0 for one part.
    """

    value: float
    method: str
    certain: bool
    confidence: float
    seconds: float
    values: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    part_rows: int = 0
    deal_ratio: float = 1.0


def kmeans_lower_bound(
    X: ArrayLike,
    n_clusters: int,
    *,
    method: str = "auto",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    confidence: float = 0.99,
    random_state: RandomState = None,
    callback: Callable[[FitState], object] | None = None,
) -> LowerBound:
    """Return a lower bound on the inertia of every clustering of X into k clusters.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        Rows; sparse rows are never made dense.
    n_clusters : int
        k.
    method : {"auto", "spectral", "neighbour", "full", "semidefinite"}, default="auto"
        "spectral" uses singular values. "neighbour" uses distances between rows, for up to 16384
        rows, or 8192 with weights. "full" uses both, and improves the neighbour bound step by step
        for up to 4096 rows. "auto" is "full" with lower limits: 8192 rows, 1024 for the
        improvement. If there are more rows (for "spectral": if both rows and columns exceed 4096),
        the bound comes from four random subsets of the rows, and holds with the probability
        ``confidence``. "semidefinite" starts from ``labels`` and is often within a percent of the
        minimum. It is certain for any number of rows: up to 2048 are proven at once, more of them
        in parts of 1000 rows, in about a second each.
    labels : array-like (n,), optional
        A clustering of the rows into at most k clusters, from which the semidefinite bound starts.
        The better it is, the higher the bound.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative.
    time_limit : float, optional
        Stop after this many seconds, between two blocks of rows, and return what was proven until
        then. Eigenvalues cannot be stopped; they are skipped if they would take longer than the
        time that is left. By default there is no limit, and the result depends only on X and
        ``random_state``.
    confidence : float, default=0.99
        The probability with which a bound from random subsets has to hold, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Fixes the random subsets, together with the content of X. The probability of a sampled bound
        is taken over these draws. None draws a new key, so that nobody can have made X for it.
    callback : callable, optional
        Called with a `FitState` after every unit of work. A true return value stops the work, as
        the time limit does.

    Returns
    -------
    LowerBound
        The best of the bounds, with rounding errors subtracted.

    Examples
    --------
    >>> from projected_kmeans import kmeans_lower_bound
    >>> bound = kmeans_lower_bound([[0.0], [1.0], [5.0], [6.0], [20.0]], 3)
    >>> round(bound.value, 6), bound.method, bound.certain
    (1.0, 'neighbour', True)
    """
    rows = as_native_rows(X)
    check_count("n_clusters", n_clusters)
    check_choice("method", method, EFFORTS)
    if time_limit is not None:
        check_not_negative("time_limit", time_limit)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is out of range; use a probability in (0, 1)")
    if n_clusters > rows.shape[0]:
        raise ValueError(
            f"n_clusters={n_clusters} exceeds n_samples={rows.shape[0]}; "
            f"use at most {rows.shape[0]}"
        )
    return bound_inertia(
        rows,
        check_weights(sample_weight, rows),
        n_clusters,
        labels=None if labels is None else _check_labels(labels, rows.shape[0], n_clusters),
        effort=EFFORTS[method],
        key=resolve_key(random_state),
        monitor=Monitor(callback, verbose=0),
        confidence=confidence,
        time_limit=time_limit,
    )


def bound_inertia(
    rows: Any,
    weights: Floats | None,
    n_clusters: int,
    *,
    labels: Labels | None = None,
    effort: Effort,
    key: int,
    monitor: Monitor,
    confidence: float = 0.99,
    time_limit: float | None = None,
) -> LowerBound:
    """Return the best bound for rows that have been checked, as the step "certify".

    Parameters
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept.
    weights : ndarray of float64 (n,) or None
        None counts every row once.
    n_clusters, confidence, time_limit
        As in `kmeans_lower_bound`.
    labels : ndarray of int32 (n,) or None
        A clustering of the rows, for the semidefinite bound.
    effort : Effort
        How much work to do; `EFFORTS` has the effort of each method.
    key : int
        Fixes the random subsets.
    monitor : Monitor
        Receives the units of work; it may stop the work, as the time limit does.
    """
    begin = time.perf_counter()
    if weights is not None and not weights.all():
        kept = weights > 0
        rows, weights = rows[kept], weights[kept]
        labels = None if labels is None else labels[kept]
    with monitor.step("certify", (2 + effort.max_tightening_steps) * (1 + N_SUBSETS)):
        deadline = Deadline(time_limit, monitor.is_over)
        prover = Prover(n_clusters, effort, deadline, monitor)
        values: dict[str, float] = {}
        near = None
        try:
            whole = _prepare(rows, weights, deadline.check)
        except OutOfTime:
            prover.skip_all("the time was over before the rows were centred")
        else:
            values |= prover.prove(whole)
            values |= prover.prove_by_subsets(whole, confidence, key)
            near = prover.prove_semidefinite(rows, weights, labels, key)
            if near is not None:
                values["semidefinite"] = near.bound
    best = max(values, key=lambda name: values[name], default="none")
    certain = best != "sampled"
    return LowerBound(
        value=values.get(best, 0.0),
        method=best,
        certain=certain,
        confidence=1.0 if certain else confidence,
        seconds=time.perf_counter() - begin,
        values=values,
        skipped=prover.skipped,
        part_rows=0 if near is None else near.part_rows,
        deal_ratio=1.0 if near is None else near.deal_ratio,
    )


def _check_labels(labels: ArrayLike, n_rows: int, n_clusters: int) -> Labels:
    """Return labels as numbers from 0 on; raise if they are no clustering into at most k."""
    given = np.asarray(labels)
    if given.shape != (n_rows,):
        raise ValueError(f"labels have shape {given.shape}; give one for each of {n_rows} rows")
    names, codes = np.unique(given, return_inverse=True)
    if len(names) > n_clusters:
        raise ValueError(
            f"labels name {len(names)} clusters, more than n_clusters={n_clusters}; give at most k"
        )
    return codes.astype(np.int32)


def _prepare(rows: Any, weights: Floats | None, check: Callable[[], None]) -> ProofRows:
    if scipy.sparse.issparse(rows):
        return SparseProofRows(rows, weights, check)
    return DenseProofRows(rows, weights, check)
