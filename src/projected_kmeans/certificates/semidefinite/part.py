"""One part of the rows: search, check and round, until the gap closes or something else ends it.

Decides what is done when; what is proven is decided by `proof` alone. Checks are made after fixed
numbers of steps, so that the result does not depend on the clock unless time is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.prepare_rows import prepare_rows
from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.certificates.semidefinite.cut_search import CutSearch
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.semidefinite.part_results import (
    PartEffort,
    PartProof,
    PartStep,
)
from projected_kmeans.certificates.semidefinite.plain_search import PlainSearch
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, round_primal
from projected_kmeans.certificates.semidefinite.primal_step import Diverged, Factors
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.spectral_bound import predict_seconds
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime

# Steps before the first check, and between checks: with cuts, and without.
FIRST_CHECK, CHECK_EVERY = 30, 20
PLAIN_CHECK_EVERY = 30
# X is rounded at the first check and at every this many checks.
ROUND_EVERY = 3
# A gain of a check is small if it is below the share MIN_GAIN of the bound, and below a tenth of
# the gap. The search ends after PATIENCE small gains in a row, or after NEAR_PATIENCE if the gap is
# below the share NEAR, because it may still close: wine with 7 clusters does after 1,000 steps.
MIN_GAIN = 1e-4
PATIENCE, NEAR_PATIENCE = 5, 15
NEAR = 2e-3
# If a gain is small and the gap below NEAR, the search goes on from the best clustering. That is
# most likely the optimum, and X may need hundreds of steps to come there from another clustering
# that is almost as good.
# A check is begun only if this many times the seconds of the last one are left.
CHECK_RESERVE = 1.2

OnStep = Callable[[PartStep], object]


class Search(Protocol):
    """What a search for multipliers can do."""

    factors: Factors | None

    def step(self) -> None:
        """Make one step."""

    def restart(self, labels: Labels) -> None:
        """Go on from the matrix of a clustering, with the multipliers found so far."""

    def tighten(self) -> None:
        """Look for cuts that are broken."""

    def multipliers(self) -> Multipliers:
        """Return the multipliers of the present state."""


def prove_part(
    rows: Any,
    n_clusters: int,
    labels: ArrayLike,
    *,
    weights: Floats | None = None,
    effort: PartEffort | None = None,
    deadline: Deadline | None = None,
    on_step: OnStep | None = None,
) -> PartProof:
    """Return a bound for the rows of a part, and the best labels that were found on the way.

    Parameters
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept. CSR rows are never made dense, but matrices of
        n x n are kept: 36 n^2 bytes with cuts, 28 n^2 without, and 24 n^2 more in a check.
    n_clusters : int
        k.
    labels : array-like of int (n,)
        A clustering of the rows into at most k clusters. A better one makes the search faster.
    weights : ndarray of float64 (n,) or None
        All above 0; None counts every row once.
    effort : PartEffort, optional
        How much work to do.
    deadline : Deadline, optional
        Looked at before every step; a step and a check are not interrupted.
    on_step : callable, optional
        Called with a `PartStep` after every step; the search stops if it returns true.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> effort = PartEffort(cuts=True, max_steps=100)
    >>> proof = prove_part(rows, 3, [0, 0, 1, 1, 2], effort=effort)
    >>> round(proof.bound, 6), proof.inertia, proof.ended
    (1.0, 1.0, 'closed')
    """
    begin = time.perf_counter()
    if weights is not None and not weights.min() > 0:
        raise ValueError(f"weights reach down to {weights.min()}; leave out rows without weight")
    deadline = Deadline() if deadline is None else deadline
    source = open_blocks(rows)
    problem = Problem(source, scan_columns(source, 1), weights, n_threads=1)
    start = describe(problem, np.asarray(labels, dtype=np.int32))
    if len(start.mass) > n_clusters:
        raise ValueError(
            f"labels have {len(start.mass)} clusters and n_clusters={n_clusters}; use at most k"
        )
    part = _Part(problem, n_clusters, start, effort or PartEffort())
    try:
        ended = part.prove(prepare_rows(rows, weights, deadline.check), deadline, on_step)
    except OutOfTime:
        ended = _why_over(deadline)
    return PartProof(
        part.bound,
        part.best.inertia,
        part.best.inertia_error,
        part.best.labels,
        part.n_steps,
        time.perf_counter() - begin,
        ended,
    )


class _Part:
    """A part while it is worked on: the best bound, the best labels, and when to stop."""

    def __init__(
        self, problem: Problem, n_clusters: int, best: Clustering, effort: PartEffort
    ) -> None:
        self.best, self.bound, self.n_steps = best, 0.0, 0
        self._problem, self._n_clusters, self._effort = problem, n_clusters, effort
        self._n_checks = self._n_small_gains = 0
        self._check_seconds = 0.0

    def prove(self, rows: ProofRows, deadline: Deadline, on_step: OnStep | None) -> str:
        """Search until something ends it; return what did."""
        if self._is_closed():
            return "closed"
        bound = MatrixBound(rows, self._n_clusters)
        if math.isfinite(deadline.seconds_left):
            self._check_seconds = predict_seconds(rows.shape[0])
        if self._n_clusters == 1 or not bound.total > 0:
            self._check(bound, Multipliers.zero(rows.shape[0]))
            return self._closed_or("no gain")
        search = (CutSearch if self._effort.cuts else PlainSearch)(bound, self.best.labels)
        ended = self._run(search, bound, deadline, on_step)
        if ended in ("steps", "time") and self.n_steps and not self._is_due():
            self._check(bound, search.multipliers())
            self._round(search.factors, bound.roots)
        return self._closed_or(ended)

    def _run(
        self, search: Search, bound: MatrixBound, deadline: Deadline, on_step: OnStep | None
    ) -> str:
        """Make steps and the checks that are due; return why there are no more."""
        while self.n_steps < self._effort.max_steps:
            if deadline.is_over:
                return _why_over(deadline)
            if deadline.seconds_left < CHECK_RESERVE * self._check_seconds:
                return "time"
            try:
                search.step()
            except Diverged:
                return "no gain"
            self.n_steps += 1
            if self._is_due():
                self._check(bound, search.multipliers())
                self._round(search.factors, bound.roots)
                is_near = self._gap() < NEAR
                if self._n_small_gains >= (NEAR_PATIENCE if is_near else PATIENCE):
                    return "no gain"
                if self._is_closed():
                    return "closed"
                if self._n_small_gains and is_near:
                    search.restart(self.best.labels)
                search.tighten()
            told = PartStep(self.n_steps, self.bound, self.best.inertia)
            if on_step is not None and on_step(told):
                return "stopped"
        return "steps"

    def _is_due(self) -> bool:
        """Return whether the multipliers are checked after this step."""
        if not self._effort.cuts:
            return self.n_steps % PLAIN_CHECK_EVERY == 0
        return self.n_steps >= FIRST_CHECK and (self.n_steps - FIRST_CHECK) % CHECK_EVERY == 0

    def _check(self, bound: MatrixBound, multipliers: Multipliers) -> None:
        """Prove a bound with multipliers, and count gains that are small."""
        begin = time.perf_counter()
        proven = bound.to_original(bound.prove(multipliers))
        self._check_seconds = time.perf_counter() - begin
        gain, gap = proven - self.bound, self.best.inertia - self.bound
        is_small = proven > 0 and gain < min(MIN_GAIN * proven, gap / 10)
        self._n_small_gains = self._n_small_gains + 1 if is_small else 0
        self.bound = max(self.bound, proven)

    def _round(self, factors: Factors | None, roots: Floats) -> None:
        """Look for better labels, now and then."""
        self._n_checks += 1
        if factors is None or not self._effort.round or (self._n_checks - 1) % ROUND_EVERY:
            return
        found = round_primal(self._problem, factors, roots, self._n_clusters, self._n_checks)
        if found.inertia < self.best.inertia:
            self.best = found

    def _gap(self) -> float:
        """Return inertia / bound - 1."""
        return self.best.inertia / self.bound - 1 if self.bound > 0 else math.inf

    def _is_closed(self) -> bool:
        return self.best.inertia <= self.bound * self._effort.goal

    def _closed_or(self, otherwise: str) -> str:
        return "closed" if self._is_closed() else otherwise


def _why_over(deadline: Deadline) -> str:
    return "stopped" if deadline.seconds_left > 0 else "time"
