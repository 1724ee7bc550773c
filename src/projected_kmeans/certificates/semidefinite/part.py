"""One part of the rows: search, check and round, until the gap closes or something else ends it.

Decides what is done when; what is proven is decided by `proof` alone. Checks are made after fixed
numbers of steps, so that the result does not depend on the clock unless time is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.proof_rows import Indices, ProofRows, prepare_rows
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, round_primal
from projected_kmeans.certificates.semidefinite.primal_step import Diverged
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.search import Search
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

# Is told the bound after a unit of work; a true answer stops the work.
OnUnit = Callable[[float], object]


@dataclass(frozen=True)
class Instance:
    """Rows to prove something about, with a clustering of them."""

    rows: Any  # an array or CSR of an element type that the kernels accept
    n_clusters: int
    labels: Labels  # a clustering into at most k clusters
    weights: Floats | None = None  # all above 0; None counts every row once

    def take(self, indices: Indices) -> Instance:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[indices]
        return Instance(self.rows[indices], self.n_clusters, self.labels[indices], weights)


@dataclass(frozen=True)
class PartEffort:
    """How much work to do for a part."""

    cuts: bool = False  # search with cuts: tighter, and several times as long
    max_steps: int = 30  # without cuts 30 are enough; with cuts, some hundred
    goal: float = 1 + 1e-4  # the search ends when inertia / bound is at most this
    round: bool = True  # look for better labels


@dataclass(frozen=True)
class PartProof:
    """What was proven for a part."""

    # No clustering of the rows as given into at most k clusters has a smaller inertia.
    bound: float
    inertia: float  # of the labels, as computed
    inertia_error: float  # the most that it can differ from the exact inertia
    labels: Labels  # the best clustering known: the one given, or one that rounding found
    steps: int
    # "closed": inertia / bound is at most the goal. "no gain": several checks in a row gained
    # little. "steps" and "time": the limit was reached. "stopped": somebody asked to stop.
    ended: str

    @property
    def has_ended(self) -> bool:
        """Whether the work went on until its own end."""
        return self.ended not in ("time", "stopped")


def prove_part(
    instance: Instance,
    effort: PartEffort,
    deadline: Deadline | None = None,
    on_step: OnUnit | None = None,
) -> PartProof:
    """Return a bound for the rows of a part, and the best labels that were found on the way.

    A better clustering makes the search faster. CSR rows are never made dense, but matrices of
    n x n are kept: 36 n^2 bytes with cuts, 32 n^2 without, and 24 n^2 more in a check. The deadline
    is looked at before every step; a step and a check are not interrupted.
    """
    rows, weights = instance.rows, instance.weights
    if weights is not None and not weights.min() > 0:
        raise ValueError(f"weights reach down to {weights.min()}; leave out rows without weight")
    deadline = Deadline() if deadline is None else deadline
    source = open_blocks(rows)
    problem = Problem(source, scan_columns(source, 1), weights, n_threads=1)
    start = describe(problem, instance.labels)
    if len(start.mass) > instance.n_clusters:
        raise ValueError(
            f"labels have {len(start.mass)} clusters and n_clusters={instance.n_clusters}; "
            "use at most k"
        )
    part = _Part(problem, instance.n_clusters, start, effort, deadline)
    try:
        ended = part.prove(prepare_rows(rows, weights, deadline.check), on_step)
    except OutOfTime:
        ended = part.why_over()
    best = part.best
    return PartProof(part.bound, best.inertia, best.inertia_error, best.labels, part.n_steps, ended)


class _Part:
    """A part while it is worked on: the best bound, the best labels, and when to stop."""

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        best: Clustering,
        effort: PartEffort,
        deadline: Deadline,
    ) -> None:
        self.best, self.bound, self.n_steps = best, 0.0, 0
        self._problem, self._n_clusters = problem, n_clusters
        self._effort, self._deadline = effort, deadline
        self._n_checks = self._n_small_gains = 0
        self._check_seconds = 0.0

    def prove(self, rows: ProofRows, on_step: OnUnit | None) -> str:
        """Search until something ends it; return what did."""
        if self._is_closed():
            return "closed"
        bound = MatrixBound(rows, self._n_clusters)
        if math.isfinite(self._deadline.seconds_left):
            self._check_seconds = predict_seconds(rows.shape[0])
        if self._n_clusters == 1 or not bound.total > 0:
            self._check(bound, Multipliers.zero(rows.shape[0]))
            return self._closed_or("no gain")
        search = Search(bound, self.best.labels, cuts=self._effort.cuts)
        ended = self._run(search, bound, on_step)
        if ended in ("steps", "time") and self.n_steps and not self._is_due():
            self._check(bound, search.multipliers())
            self._round(search, bound.roots)
        return self._closed_or(ended)

    def _run(self, search: Search, bound: MatrixBound, on_step: OnUnit | None) -> str:
        """Make steps and the checks that are due; return why there are no more."""
        while self.n_steps < self._effort.max_steps:
            if self._deadline.is_over:
                return self.why_over()
            if self._deadline.seconds_left < CHECK_RESERVE * self._check_seconds:
                return "time"
            try:
                search.step()
            except Diverged:
                return "no gain"
            self.n_steps += 1
            if self._is_due():
                self._check(bound, search.multipliers())
                self._round(search, bound.roots)
                is_near = self._gap() < NEAR
                if self._n_small_gains >= (NEAR_PATIENCE if is_near else PATIENCE):
                    return "no gain"
                if self._is_closed():
                    return "closed"
                if self._n_small_gains and is_near:
                    search.restart(self.best.labels)
                search.tighten()
            if on_step is not None and on_step(self.bound):
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

    def _round(self, search: Search, roots: Floats) -> None:
        """Look for better labels, now and then."""
        self._n_checks += 1
        X = search.factors
        if X is None or not self._effort.round or (self._n_checks - 1) % ROUND_EVERY:
            return
        rounded = round_primal(self._problem, X, roots, self._n_clusters, self._n_checks)
        if rounded.inertia < self.best.inertia:
            self.best = rounded

    def _gap(self) -> float:
        """Return inertia / bound - 1."""
        return self.best.inertia / self.bound - 1 if self.bound > 0 else math.inf

    def _is_closed(self) -> bool:
        return self.best.inertia <= self.bound * self._effort.goal

    def _closed_or(self, otherwise: str) -> str:
        return "closed" if self._is_closed() else otherwise

    def why_over(self) -> str:
        """Return what has ended the work if the deadline is over."""
        return "stopped" if self._deadline.seconds_left > 0 else "time"
