"""The best lower bound on the inertia of every clustering into k clusters, and what it proves.

Checks the input, runs the `Prover`, and returns the best of its bounds, or what that proves about
the labels of a clustering.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.holes import NO_ROWS, Holes, find_holes
from projected_kmeans.blocks.inputs import as_native_rows, check_weights
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.certificates.certificate import Certificate, LowerBound
from projected_kmeans.certificates.proof_rows import prepare_rows
from projected_kmeans.certificates.prover import EFFORTS, ProofEffort, Prover
from projected_kmeans.certificates.semidefinite.proof_plan import GOAL
from projected_kmeans.certificates.semidefinite_prover import Given
from projected_kmeans.certificates.unit_centers import to_unit_centers
from projected_kmeans.checks import check_choice, check_count, check_not_negative
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.passes.scoring import SET_ASIDE, measure_inertia
from projected_kmeans.results import FitState, Floats, Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor


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
    effort: ProofEffort,
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

    The work ends when inertia / bound is at most the goal, where ``inertia`` is an upper bound on
    the inertia of the labels. The key fixes the random subsets, and the deal of rows to parts.
    ``n_threads`` are parts that are proven at a time, 0 means as many as OpenMP allows; their
    matrices take at most ``memory`` bytes.
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
    best = max(values, key=lambda name: values[name], default="none")
    certain, proof = best != "sampled", prover.semidefinite
    best_proof = proof if best == "semidefinite" else None
    return LowerBound(
        value=values.get(best, 0.0),
        method=best,
        certain=certain,
        confidence=1.0 if certain else confidence,
        seconds=time.perf_counter() - begin,
        values=values,
        skipped=prover.skipped,
        part_rows=0 if best_proof is None else best_proof.part_rows,
        deal_ratio=1.0 if best_proof is None else best_proof.deal_ratio,
        n_rows=int(given.rows.shape[0]),
        n_clusters=n_clusters,
        better_labels=None if proof is None else _widen(proof.better_labels, labels, weights),
        trace=prover.trace.points(),
    )


def _drop_weightless(given: Given) -> Given:
    """Return what is given without rows of weight 0, which cost nothing in any cluster."""
    if given.weights is None or given.weights.all():
        return given
    kept = given.weights > 0
    labels = None if given.labels is None else given.labels[kept]
    return replace(given, rows=given.rows[kept], weights=given.weights[kept], labels=labels)


def _widen(better: Labels | None, labels: Labels | None, weights: Floats | None) -> Labels | None:
    """Return labels of all rows, of which those without weight are in any cluster.

    Without given labels, nothing is known that the labels would be better than.
    """
    if better is None or labels is None or weights is None or weights.all():
        return None if labels is None else better
    wide = np.zeros_like(labels)
    wide[weights > 0] = better
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


def certify(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    metric: str = "euclidean",
    on_missing: str = "error",
    method: str = "auto",
    time_limit: float | None = None,
    confidence: float = 0.99,
    random_state: RandomState = None,
    callback: Callable[[FitState], object] | None = None,
) -> Certificate:
    """Return how far a clustering can be from the best one with the same number of clusters.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        Rows; sparse rows are never made dense.
    labels : array-like (n,)
        The cluster of every row; k is the number of different labels. The label -1 is no cluster:
        rows that a fit has set aside take no part.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" proves it for rows of length one and centers of length one, as
        ``ProjectedKMeans(metric="cosine")`` has them.
    on_missing : {"error", "skip"}, default="error"
        What to do with rows that have a hole (NaN): name the first, or leave them out.
    method, time_limit, confidence, random_state, callback : optional
        As in `kmeans_lower_bound`.

    Examples
    --------
    >>> from projected_kmeans import certify
    >>> certify([[0.0], [1.0], [5.0], [6.0], [20.0]], [0, 0, 1, 1, 2]).describe()
    'proven optimal for all 5 rows: no clustering into 3 groups can be better (neighbour bound)'
    """
    check_choice("metric", metric, ("euclidean", "cosine"))
    check_choice("on_missing", on_missing, ("error", "skip"))
    spherical = metric == "cosine"
    X, labels, holes = _leave_out(X, np.asarray(labels), on_missing)
    X = to_unit_rows(as_native_rows(X)) if spherical else X
    measured = measure_inertia(X, labels, spherical=spherical)
    bound = kmeans_lower_bound(
        X,
        len(np.unique(labels)),
        method=method,
        labels=labels,
        time_limit=time_limit,
        confidence=confidence,
        random_state=random_state,
        callback=callback,
    )
    bound = to_unit_centers(bound, X) if spherical else bound
    if bound.better_labels is not None:
        bound = replace(bound, better_labels=holes.spread(bound.better_labels, SET_ASIDE))
    return Certificate.of(measured.value, measured.error, bound)


def _leave_out(X: Any, labels: NDArray[Any], on_missing: str) -> tuple[Any, NDArray[Any], Holes]:
    """Return rows and labels without rows that belong to no cluster or have a hole, and which."""
    missing = np.asarray(labels == SET_ASIDE, dtype=np.bool_)
    holes = Holes(NO_ROWS, labels.size)
    if on_missing == "skip" or missing.any():
        X = as_native_rows(X)
        if labels.shape != (X.shape[0],):
            return X, labels, holes  # refused below
        if on_missing == "skip":
            holes = find_holes(open_blocks(X))
        holes = holes.add(missing)
    if len(holes.rows):
        if not holes.complete.any():
            raise ValueError("no row is complete and has a cluster; give labels of a clustering")
        return X[holes.complete], labels[holes.complete], holes
    return X, labels, holes
