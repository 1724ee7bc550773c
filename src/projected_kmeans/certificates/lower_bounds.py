"""SCORE: the best lower bound on the inertia of every clustering that a given effort finds.

Chooses among the bounds; each of them is computed in a module of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from projected_kmeans.blocks.element_types import as_native, as_native_sparse
from projected_kmeans.blocks.inputs import check_weights
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.certificates.prover import EFFORTS, N_SUBSETS, Prover
from projected_kmeans.certificates.sparse_proof_rows import SparseProofRows
from projected_kmeans.checks import check_choice, check_count, check_not_negative
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor


@dataclass(frozen=True)
class LowerBound:
    """A number that the inertia of no clustering into k clusters can be below.

    Attributes
    ----------
    value : float
        The bound.
    method : str
        Which bound is the best: "spectral", "neighbour", "tightened" or "sampled"; "none" where
        none was made, so that the value is 0.
    certain : bool
        Whether it is proven; else it holds with probability `confidence`.
    confidence : float
        1.0 where it is certain.
    seconds : float
        It took so long.
    values : dict
        The bound by each of the methods tried.
    skipped : dict
        From bounds that were not made, or not to their end, to the reason: rows or time.
    """

    value: float
    method: str
    certain: bool
    confidence: float
    seconds: float
    values: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def kmeans_lower_bound(
    X: ArrayLike,
    n_clusters: int,
    *,
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    confidence: float = 0.99,
    random_state: RandomState = None,
    callback: Callable[[FitState], object] | None = None,
) -> LowerBound:
    """Return a number that the inertia of no clustering of X into k clusters can be below.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        Rows; sparse ones are never made dense.
    n_clusters : int
        k.
    method : {"auto", "spectral", "neighbour", "full"}, default="auto"
        "spectral" uses singular values, "neighbour" distances between rows (up to 16384 rows, 8192
        with weights), "full" both and the tightened neighbour bound (up to 4096 rows). "auto" does
        the same for fewer rows: 8192, and 1024 for tightening. Beyond, and where "spectral" has
        more than 4096 rows and columns, the bound comes from four subsets of the rows.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative.
    time_limit : float, optional
        Seconds after which the work stops between two blocks of rows, and what is proven until then
        counts. Eigenvalues, which nothing can stop, are left out where they would take longer than
        the time left. By default only the number of steps is limited, and the result depends on
        nothing but X and ``random_state``.
    confidence : float, default=0.99
        The probability with which a bound from subsets has to hold, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        What fixes the subsets.
    callback : callable, optional
        Called with a `FitState` after every unit of work; a true answer stops as the time limit
        does.

    Returns
    -------
    LowerBound
        The best of the bounds, all less their rounding errors.

    Examples
    --------
    >>> from projected_kmeans import kmeans_lower_bound
    >>> bound = kmeans_lower_bound([[0.0], [1.0], [5.0], [6.0], [20.0]], 3)
    >>> round(bound.value, 6), bound.method, bound.certain
    (1.0, 'neighbour', True)
    """
    given = check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    rows = as_native_sparse(given) if scipy.sparse.issparse(given) else as_native(given)
    check_count("n_clusters", n_clusters)
    check_choice("method", method, EFFORTS)
    if time_limit is not None:
        check_not_negative("time_limit", time_limit)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is no such probability; use one in (0, 1)")
    if n_clusters > rows.shape[0]:
        raise ValueError(
            f"n_clusters={n_clusters} exceeds n_samples={rows.shape[0]}; "
            f"use at most {rows.shape[0]}"
        )
    return bound_inertia(
        rows,
        check_weights(sample_weight, rows),
        n_clusters,
        method=method,
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
    method: str,
    key: int,
    monitor: Monitor,
    confidence: float = 0.99,
    time_limit: float | None = None,
) -> LowerBound:
    """Return the best bound for rows that were checked already, as the step "certify".

    Parameters
    ----------
    rows : ndarray or CSR (n, d)
        Of a type that kernels read.
    weights : ndarray of float64 (n,) or None
        None counts every row once.
    n_clusters, method, confidence, time_limit
        As in `kmeans_lower_bound`.
    key : int
        What fixes the subsets.
    monitor : Monitor
        Told of the units of work; it may stop them as the time limit does.
    """
    begin = time.perf_counter()
    if weights is not None and not weights.all():
        rows, weights = rows[weights > 0], weights[weights > 0]
    with monitor.step("certify", (2 + EFFORTS[method].steps) * (1 + N_SUBSETS)):
        deadline = Deadline(time_limit, monitor.is_over)
        prover = Prover(n_clusters, EFFORTS[method], deadline, monitor)
        values: dict[str, float] = {}
        try:
            whole = _prepare(rows, weights, deadline.check)
        except OutOfTime:
            prover.skip_all("the time was over before the rows were centred")
        else:
            values |= prover.prove(whole)
            values |= prover.prove_by_subsets(whole, confidence, key)
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
    )


def _prepare(rows: Any, weights: Floats | None, check: Callable[[], None]) -> ProofRows:
    if scipy.sparse.issparse(rows):
        return SparseProofRows(rows, weights, check)
    return DenseProofRows(rows, weights, check)
