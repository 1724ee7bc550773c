"""Plan and run the semidefinite bound of all rows, within limits on time and memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.proof_rows import Indices
from projected_kmeans.certificates.semidefinite.all_rows import AllRowsProof, prove_all_rows
from projected_kmeans.certificates.semidefinite.dealing import deal_rows
from projected_kmeans.certificates.semidefinite.part import Instance, OnUnit
from projected_kmeans.certificates.semidefinite.proof_plan import (
    GOAL,
    TRIAL_COLUMNS,
    TRIAL_ROWS,
    ProofPlan,
    fit_memory,
    plan_proof,
)
from projected_kmeans.certificates.spectral_bound import TIMED_SIZE, predict_seconds
from projected_kmeans.keys import CERTIFICATE, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.search.kmeans_plus_plus import seed_plus_plus, sketch_signs
from projected_kmeans.search.lloyd import run_lloyd

# The eigenvalues of a matrix of `TIMED_SIZE` rows take this long where plans were measured.
TIMED_SECONDS = 8e-3
# The share of the time left that a plan may use, because predictions are rough.
TIME_SHARE = 0.7
# A trial deal is made for more rows than this.
TRIAL_FROM_ROWS = 450
# Passes of Lloyd's method if nobody gave labels.
MAX_PASSES = 30


@dataclass(frozen=True)
class Given:
    """What a bound is asked for."""

    rows: Any  # an array or CSR of an element type that the kernels accept
    weights: Floats | None = None  # all above 0; None counts every row once
    labels: Labels | None = None  # a clustering into at most k clusters, if one is known
    inertia: float = math.inf  # an upper bound on the inertia of the labels
    goal: float = GOAL  # work ends when inertia / bound is at most this

    def is_met(self, bounds: Iterable[float]) -> bool:
        """Return whether the best of these bounds reaches the goal."""
        return max(bounds, default=0.0) * self.goal >= self.inertia


class SemidefiniteProver:
    """Proves all rows, or a subset of them, for one number of clusters.

    ``long`` goes on until gains end, rather than for some seconds. The key fixes the deal, and the
    clustering if none is known. ``n_threads`` parts are proven at a time, in at most ``memory``
    bytes.
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        long: bool,
        key: int,
        n_threads: int,
        memory: int | None,
        deadline: Deadline,
    ) -> None:
        self._n_clusters, self._long, self._key = n_clusters, long, key
        self._n_threads, self._memory, self._deadline = n_threads, memory, deadline

    def count_units(self, shape: tuple[int, int]) -> int:
        """Return how often `prove` reports at most; 0 if it would take too long."""
        loss = 0.0 if _is_tried(shape) else math.inf
        units = 0
        for long in self._levels():
            plan = plan_proof(shape[0], self._n_clusters, long=long, loss=loss)
            if plan is not None:
                plan, _ = fit_memory(plan, shape, self._n_threads, self._memory)
                size = min(shape[0], plan.part_rows or shape[0])
                units += max(plan.effort.max_steps * (size == shape[0]), -(-shape[0] // size))
        return units

    def prove(self, given: Given, on_unit: OnUnit) -> AllRowsProof | str:
        """Return what was proven for all rows, or why nothing was tried."""
        if self._deadline.is_over:
            return "the time was over before it began"
        shape = given.rows.shape
        if self._plan(shape[0], self._long, 0.0 if _is_tried(shape) else math.inf) is None:
            return self._explain(shape[0])
        try:
            instance = self._open(given)
            loss = self._try_deal(instance)
        except OutOfTime:
            return "the time was over before there were parts"
        best: AllRowsProof | None = None
        for long in self._levels():
            plan = self._plan(shape[0], long, loss)
            is_last = long == self._long
            if plan is not None and (is_last or plan.part_rows):
                best = _join(best, self._run(instance, plan, given.goal, on_unit))
                if best.ratio <= given.goal or self._deadline.is_over:
                    break
        return best or self._explain(shape[0])

    def bound_subset(self, given: Given, indices: Indices) -> float:
        """Return the bound of some of the rows, each with weight 1; 0 if there is no time."""
        labels = None if given.labels is None else given.labels[indices]
        proof = self.prove(Given(given.rows[indices], None, labels), lambda bound: False)
        return 0.0 if isinstance(proof, str) else proof.bound

    def _levels(self) -> tuple[bool, ...]:
        """Return which proofs are tried: a quick one also before a long one.

        The quick one is in parts. It often proves more where rows have few columns, and it is there
        if the long one is stopped.
        """
        return (False, True) if self._long else (False,)

    def _plan(self, n_rows: int, long: bool, loss: float) -> ProofPlan | None:
        left = self._deadline.seconds_left
        if math.isinf(left):
            return plan_proof(n_rows, self._n_clusters, long=long, loss=loss)
        speed = TIMED_SECONDS / predict_seconds(TIMED_SIZE)
        seconds = TIME_SHARE * left * speed * self._n_threads
        return plan_proof(n_rows, self._n_clusters, long=long, seconds=seconds, loss=loss)

    def _open(self, given: Given) -> Instance:
        """Return the rows with labels; raise `OutOfTime` if there is no time to make them."""
        labels = given.labels
        if labels is None:
            labels = cluster_quickly(
                given,
                self._n_clusters,
                key=self._key,
                n_threads=self._n_threads,
                deadline=self._deadline,
            )
        return Instance(given.rows, self._n_clusters, labels, given.weights)

    def _try_deal(self, instance: Instance) -> float:
        """Return what a trial deal loses; infinity if none is made."""
        if not _is_tried(instance.rows.shape):
            return math.inf
        deal = deal_rows(
            instance,
            -(-instance.rows.shape[0] // TRIAL_ROWS),
            key=self._key,
            n_threads=self._n_threads,
            check=self._deadline.check,
        )
        return deal.ratio - 1

    def _explain(self, n_rows: int) -> str:
        left = self._deadline.seconds_left
        what = f"{n_rows} rows and {self._n_clusters} clusters"
        if math.isinf(left):
            return f'{what} would take minutes; use the method "full"'
        return f"{what} take longer than the {left:.2g} s that are left"

    def _run(
        self, instance: Instance, plan: ProofPlan, goal: float, on_unit: OnUnit
    ) -> AllRowsProof:
        plan, n_threads = fit_memory(plan, instance.rows.shape, self._n_threads, self._memory)
        return prove_all_rows(
            instance,
            plan,
            goal=goal,
            key=self._key,
            n_threads=n_threads,
            deadline=self._deadline,
            on_unit=on_unit,
        )


def _is_tried(shape: tuple[int, int]) -> bool:
    """Return whether a trial deal helps to choose the size of parts, and costs little."""
    return shape[0] > TRIAL_FROM_ROWS and shape[1] <= TRIAL_COLUMNS


def _join(first: AllRowsProof | None, second: AllRowsProof) -> AllRowsProof:
    """Return the better of two proofs, with better labels if any has found them."""
    if first is None:
        return second
    best = max(first, second, key=lambda proof: proof.bound)
    labels = second.better_labels if first.better_labels is None else first.better_labels
    return replace(best, better_labels=labels)


def cluster_quickly(
    given: Given, n_clusters: int, *, key: int, n_threads: int, deadline: Deadline
) -> Labels:
    """Return labels made by k-means++ and Lloyd's method.

    A better clustering makes a proof faster; any clustering allows one. The deadline is looked at
    between passes; `OutOfTime` is raised if it passes before there are centers.
    """
    source = open_blocks(given.rows)
    problem = Problem(source, scan_columns(source, n_threads), given.weights, n_threads)
    stream = open_stream(key, CERTIFICATE, 0)
    seeded = sketch_signs(problem, key) if source.sparse else problem
    chosen = seed_plus_plus(seeded, n_clusters, stream, lambda n_chosen: deadline.check())
    return run_lloyd(
        problem,
        source.take(chosen),
        max_iter=MAX_PASSES,
        on_pass=lambda done, inertia: deadline.is_over,
    ).labels
