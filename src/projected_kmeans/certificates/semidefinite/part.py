"""One part of the rows: search, check, round, until the gap closes, gains end or time is over.

Decides what is done when; what is proven is decided by `proof` alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.certificates.semidefinite.cut_search import CutSearch
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.semidefinite.plain_search import PlainSearch
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, round_primal
from projected_kmeans.certificates.semidefinite.primal_step import Factors
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.sparse_proof_rows import SparseProofRows
from projected_kmeans.certificates.spectral_bound import predict_seconds
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime

# Steps before the first check and between checks.
FIRST_CHECK = 30
CHECK_EVERY = 20
PLAIN_CHECK_EVERY = 30
# X is rounded at the first check and at every this many checks.
ROUND_EVERY = 4
# Gains of a check that are below the share MIN_GAIN of the bound, and below a tenth of the gap,
# are small. The search ends after PATIENCE small gains in a row.
MIN_GAIN = 1e-4
PATIENCE = 5


@dataclass(frozen=True)
class PartEffort:
    """How much work to do for a part.

    Attributes
    ----------
    cuts : bool
        Whether to search with cuts: tighter, and several times as long.
    max_steps : int
        Steps at most. 30 are enough without cuts; with cuts, some hundred.
    goal : float
        The search ends when inertia / bound is at most this.
    round : bool
        Whether to look for better labels.
    """

    cuts: bool = False
    max_steps: int = 30
    goal: float = 1 + 1e-4
    round: bool = True


class PartStep(NamedTuple):
    """What `on_step` is told after each step.

    Attributes
    ----------
    step : int
        Steps made.
    bound : float
        The best bound proven so far, as in `PartProof`.
    inertia : float
        The inertia of the best labels so far.
    """

    step: int
    bound: float
    inertia: float


@dataclass(frozen=True)
class PartProof:
    """What was proven for a part.

    Attributes
    ----------
    bound : float
        No clustering of the rows as given into at most k clusters has a smaller inertia.
    inertia : float
        The inertia of ``labels``, as computed.
    labels : ndarray of int32 (n,)
        The best clustering known: the one given, or one that rounding found.
    steps : int
        Steps of the search.
    seconds : float
        The time that all of it took.
    ended : {"closed", "no gain", "steps", "time", "stopped"}
        Why the search ended. "closed": inertia / bound is at most the goal.
    """

    bound: float
    inertia: float
    labels: Labels
    steps: int
    seconds: float
    ended: str


class Search(Protocol):
    """What a search for multipliers can do."""

    @property
    def factors(self) -> Factors | None:
        """X after the last step."""

    def step(self) -> None:
        """Make one step."""

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
    effort: PartEffort = PartEffort(),
    deadline: Deadline | None = None,
    on_step: Callable[[PartStep], object] | None = None,
) -> PartProof:
    """Return a bound for the rows of a part, and the best labels that were found on the way.

    Parameters
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept. A CSR part is never made dense, but matrices of
        n x n are.
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
    >>> proof = prove_part(rows, 3, [0, 0, 1, 1, 2])
    >>> round(proof.bound, 6), proof.inertia, proof.ended
    (1.0, 1.0, 'closed')
    """
    begin = time.perf_counter()
    deadline = Deadline() if deadline is None else deadline
    source = open_blocks(rows)
    problem = Problem(source, scan_columns(source, 1), weights, n_threads=1)
    part = _Part(problem, n_clusters, describe(problem, np.asarray(labels, np.int32)), effort)
    try:
        ended = part.prove(_prepare(rows, weights, deadline.check), deadline, on_step)
    except OutOfTime:
        ended = "time"
    seconds = time.perf_counter() - begin
    best = part.best
    return PartProof(part.bound, best.inertia, best.labels, part.n_steps, seconds, ended)


class _Part:
    """A part while it is worked on: the best bound, the best labels, and when to stop."""

    def __init__(
        self, problem: Problem, n_clusters: int, best: Clustering, effort: PartEffort
    ) -> None:
        self.best, self.bound, self.n_steps = best, 0.0, 0
        self._problem, self._n_clusters, self._effort = problem, n_clusters, effort
        self._n_checks = self._n_small_gains = 0
        self._check_seconds = 0.0

    def prove(
        self, rows: ProofRows, deadline: Deadline, on_step: Callable[[PartStep], object] | None
    ) -> str:
        """Search until something ends it; return what did."""
        effort = self._effort
        if self._is_closed():
            return "closed"
        matrix_bound = MatrixBound(rows, self._n_clusters)
        if math.isfinite(deadline.seconds_left):
            self._check_seconds = predict_seconds(rows.shape[0])
        if self._n_clusters == 1 or rows.shape[0] == 1:
            self._check(matrix_bound, Multipliers.zero(rows.shape[0]))
            return "closed" if self._is_closed() else "no gain"
        search: Search = (CutSearch if effort.cuts else PlainSearch)(matrix_bound, self.best.labels)
        is_proven = False
        while self.n_steps < effort.max_steps:
            if deadline.is_over or deadline.seconds_left < 1.2 * self._check_seconds:
                break
            search.step()
            self.n_steps += 1
            is_proven = self._is_due()
            if is_proven:
                self._check(matrix_bound, search.multipliers())
                self._round(search.factors, matrix_bound.roots)
                if self._is_closed() or self._n_small_gains >= PATIENCE:
                    return "closed" if self._is_closed() else "no gain"
                search.tighten()
            if on_step is not None and on_step(
                PartStep(self.n_steps, self.bound, self.best.inertia)
            ):
                return "stopped"
        ended = "steps" if self.n_steps >= effort.max_steps else "time"
        if not is_proven and self.n_steps:
            self._check(matrix_bound, search.multipliers())
            self._round(search.factors, matrix_bound.roots)
        return "closed" if self._is_closed() else ended

    def _is_due(self) -> bool:
        """Return whether the multipliers are checked after this step."""
        if not self._effort.cuts:
            return self.n_steps % PLAIN_CHECK_EVERY == 0
        return self.n_steps >= FIRST_CHECK and (self.n_steps - FIRST_CHECK) % CHECK_EVERY == 0

    def _check(self, matrix_bound: MatrixBound, multipliers: Multipliers) -> None:
        """Prove a bound with multipliers, and count gains that are small."""
        begin = time.perf_counter()
        bound = matrix_bound.to_original(matrix_bound.prove(multipliers))
        self._check_seconds = time.perf_counter() - begin
        gap = self.best.inertia - self.bound
        is_small = bound > 0 and bound - self.bound < min(MIN_GAIN * bound, gap / 10)
        self._n_small_gains = self._n_small_gains + 1 if is_small else 0
        self.bound = max(self.bound, bound)

    def _round(self, factors: Factors | None, roots: Floats) -> None:
        """Look for better labels, now and then."""
        self._n_checks += 1
        if factors is None or not self._effort.round or (self._n_checks - 1) % ROUND_EVERY:
            return
        found = round_primal(self._problem, factors, roots, self._n_clusters, self._n_checks)
        if found.inertia < self.best.inertia:
            self.best = found

    def _is_closed(self) -> bool:
        return self.best.inertia <= self.bound * self._effort.goal


def _prepare(rows: Any, weights: Floats | None, check: Callable[[], None]) -> ProofRows:
    if scipy.sparse.issparse(rows):
        return SparseProofRows(rows, weights, check)
    return DenseProofRows(rows, weights, check)
