"""The best lower bound on the inertia of every clustering into k clusters.

Checks the input, runs the `Prover`, and returns the best of its bounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans import _native
from projected_kmeans.blocks.inputs import as_native_rows, check_weights
from projected_kmeans.certificates.bound_trace import Trace
from projected_kmeans.certificates.efforts import EFFORTS, Effort
from projected_kmeans.certificates.prepare_rows import prepare_rows
from projected_kmeans.certificates.prover import Prover
from projected_kmeans.certificates.semidefinite.proof_plan import GOAL
from projected_kmeans.certificates.semidefinite_prover import Given
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
        The method that gave the best bound: "spectral", "neighbour", "tightened", "semidefinite" or
        "sampled"; "none" if no bound was computed and the value is 0.
    certain : bool
        Whether the bound is proven. If not, it holds with probability `confidence`.
    confidence : float
        1.0 if the bound is certain.
    seconds : float
        The time that all bounds took together.
    values : dict
        The bound of each method that was tried.
    skipped : dict
        Maps each bound that was skipped or cut short to the reason: too many rows, no time, or no
        need.
    part_rows : int
        The most rows of a part, if rows were proven in parts; 0 if all were proven at once.
    deal_ratio : float
        What the parts cost: the smallest ratio that any bound of these parts could prove for the
        labels that were given. 1.0 without parts.
    n_rows, n_clusters : int
        The number of rows (with weights above 0) and of clusters that the bound is for.
    better_labels : ndarray of int32 (n,) or None
        A clustering with a smaller inertia than that of the labels that were given, if the proof
        found one.
    trace : tuple of (float, float)
        When the best certain bound rose: seconds since the work began, and the bound. At most 100
        points.
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
    n_rows: int = 0
    n_clusters: int = 0
    better_labels: Labels | None = field(default=None, compare=False, repr=False)
    trace: Trace = field(default=(), compare=False, repr=False)


def kmeans_lower_bound(
    X: ArrayLike,
    n_clusters: int,
    *,
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
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
    method : {"auto", "spectral", "neighbour", "semidefinite", "full"}, default="auto"
        "spectral" uses singular values. "neighbour" uses distances between rows, for up to 16384
        rows, or 8192 with weights. "semidefinite" searches for the best multipliers of a matrix
        inequality until gains end; more than 2,000 rows are proven in parts, which takes about 15
        ms a row. "full" tries all of these, and "auto" does the same with less work: about 1 ms a
        row with 10 clusters, and 70 s at most. If "auto" would take longer (for "spectral": if both
        rows and columns exceed 4096), the bound comes from four random subsets of the rows, and
        holds with the probability ``confidence``.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative.
    labels : array-like (n,), optional
        A clustering into at most k clusters from which the semidefinite bound starts. By default it
        makes one itself. A good one leads to a better bound.
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
    check_count("n_clusters", n_clusters, most=("n_samples", rows.shape[0]))
    check_choice("method", method, EFFORTS)
    if time_limit is not None:
        check_not_negative("time_limit", time_limit)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is out of range; use a probability in (0, 1)")
    return bound_inertia(
        rows,
        check_weights(sample_weight, rows),
        n_clusters,
        effort=EFFORTS[method],
        key=resolve_key(random_state),
        monitor=Monitor(callback, verbose=0),
        labels=None if labels is None else _check_labels(labels, rows.shape[0], n_clusters),
        confidence=confidence,
        time_limit=time_limit,
    )


def bound_inertia(
    rows: Any,
    weights: Floats | None,
    n_clusters: int,
    *,
    effort: Effort,
    key: int,
    monitor: Monitor,
    labels: Labels | None = None,
    inertia: float = math.inf,
    goal: float = GOAL,
    confidence: float = 0.99,
    time_limit: float | None = None,
    n_threads: int = 0,
    memory: int | None = None,
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
    effort : Effort
        How much work to do; `EFFORTS` has the effort of each method.
    key : int
        Fixes the random subsets, and the deal of rows to parts.
    monitor : Monitor
        Receives the units of work; it may stop the work, as the time limit does.
    labels : ndarray of int32 (n,) or None
        A clustering into at most k clusters, if one is known.
    inertia : float, default=inf
        An upper bound on its inertia, if one is known.
    goal : float, default=1 + 1e-6
        The work ends when inertia / bound is at most this.
    n_threads : int, default=0
        Parts that are proven at a time; 0 means as many as OpenMP allows.
    memory : int, optional
        The most bytes that the matrices of parts may take.
    """
    begin = time.perf_counter()
    given = _drop_weightless(Given(rows, weights, labels, inertia, goal))
    deadline = Deadline(time_limit, monitor.is_over)
    prover = Prover(
        n_clusters,
        effort,
        deadline,
        monitor,
        key=key,
        n_threads=n_threads or _native.max_threads(),
        memory=memory,
    )
    values: dict[str, float] = {}
    with monitor.step("certify", prover.count_units(given.rows.shape)):
        try:
            whole = prepare_rows(given.rows, given.weights, deadline.check)
        except OutOfTime:
            prover.skip_all("the time was over before the rows were centred")
        else:
            values = prover.prove_all(given, whole, confidence)
    bound = _choose_best(values, prover, confidence)
    better = None if labels is None else bound.better_labels
    return replace(
        bound,
        seconds=time.perf_counter() - begin,
        n_rows=int(given.rows.shape[0]),
        n_clusters=n_clusters,
        better_labels=_widen(better, labels, weights),
    )


def _choose_best(values: dict[str, float], prover: Prover, confidence: float) -> LowerBound:
    """Return the best of the bounds that a prover has found."""
    best = max(values, key=lambda name: values[name], default="none")
    certain, found = best != "sampled", prover.semidefinite
    told = found if best == "semidefinite" else None
    return LowerBound(
        value=values.get(best, 0.0),
        method=best,
        certain=certain,
        confidence=1.0 if certain else confidence,
        seconds=0.0,
        values=values,
        skipped=prover.skipped,
        part_rows=0 if told is None else told.part_rows,
        deal_ratio=1.0 if told is None else told.deal_ratio,
        better_labels=None if found is None else found.better_labels,
        trace=prover.trace.points(),
    )


def _drop_weightless(given: Given) -> Given:
    """Return what is given without rows of weight 0, which cost nothing in any cluster."""
    if given.weights is None or given.weights.all():
        return given
    kept = given.weights > 0
    labels = None if given.labels is None else given.labels[kept]
    return replace(given, rows=given.rows[kept], weights=given.weights[kept], labels=labels)


def _widen(found: Labels | None, labels: Labels | None, weights: Floats | None) -> Labels | None:
    """Return labels of all rows, of which those without weight are in any cluster."""
    if found is None or labels is None or weights is None or weights.all():
        return found
    wide = np.zeros_like(labels)
    wide[weights > 0] = found
    return wide


def _check_labels(labels: ArrayLike, n_rows: int, n_clusters: int) -> Labels:
    """Return labels as numbers from 0; raise a ValueError if they do not fit."""
    given = np.asarray(labels)
    if given.shape != (n_rows,):
        raise ValueError(
            f"labels has shape {given.shape} and X {n_rows} rows; pass one label for each row"
        )
    names, codes = np.unique(given, return_inverse=True)
    if len(names) > n_clusters:
        raise ValueError(
            f"labels has {len(names)} clusters and n_clusters={n_clusters}; use at most n_clusters"
        )
    return codes.astype(np.int32)
