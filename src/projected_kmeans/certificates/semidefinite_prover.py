"""Plan and run the semidefinite bound of all rows, within limits on time and memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.certificates.semidefinite.all_rows import (
    AllRowsProof,
    OnUnit,
    prove_all_rows,
)
from projected_kmeans.certificates.semidefinite.dealing import deal_rows
from projected_kmeans.certificates.semidefinite.instance import Instance, cluster_quickly
from projected_kmeans.certificates.semidefinite.proof_plan import (
    GOAL,
    TRIAL_COLUMNS,
    TRIAL_ROWS,
    ProofPlan,
    fit_memory,
    plan_proof,
)
from projected_kmeans.certificates.spectral_bound import TIMED_SIZE, predict_seconds
from projected_kmeans.results import Floats, Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime

# The eigenvalues of a matrix of `TIMED_SIZE` rows take this long where plans were measured.
TIMED_SECONDS = 8e-3
# The share of the time left that a plan may use, because predictions are rough.
TIME_SHARE = 0.7
# A trial deal is made for more rows than this.
TRIAL_FROM_ROWS = 450


@dataclass(frozen=True)
class Given:
    """What a bound is asked for.

    Attributes
    ----------
    rows : ndarray or CSR (n, d)
        Of an element type that the kernels accept.
    weights : ndarray of float64 (n,) or None
        All above 0; None counts every row once.
    labels : ndarray of int32 (n,) or None
        A clustering of the rows into at most k clusters, if one is known.
    inertia : float
        An upper bound on the inertia of the labels; infinity if it is not known.
    goal : float
        Work ends when inertia / bound is at most this.
    """

    rows: Any
    weights: Floats | None = None
    labels: Labels | None = None
    inertia: float = math.inf
    goal: float = GOAL

    def is_met(self, bounds: Iterable[float]) -> bool:
        """Return whether the best of these bounds reaches the goal."""
        return max(bounds, default=0.0) * self.goal >= self.inertia


class SemidefiniteProver:
    """Proves all rows, or a subset of them, for one number of clusters.

    Parameters
    ----------
    n_clusters : int
        k.
    long : bool
        Whether to go on until gains end, rather than for some seconds.
    key : int
        Fixes the deal, and the clustering if none is known.
    n_threads : int
        Parts that are proven at a time.
    memory : int or None
        The most bytes that parts may take.
    deadline : Deadline
        When to stop.
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
        """Return what was proven for all rows, or why nothing was tried.

        Parameters
        ----------
        given : Given
            The rows.
        on_unit : callable
            Called after every unit of work with the bound so far; a true answer stops the work.
        """
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
        found: AllRowsProof | None = None
        for long in self._levels():
            plan = self._plan(shape[0], long, loss)
            is_last = long == self._long
            if plan is not None and (is_last or plan.part_rows):
                found = _join(found, self._run(instance, plan, given.goal, on_unit))
                if found.ratio <= given.goal or self._deadline.is_over:
                    break
        return found or self._explain(shape[0])

    def bound_subset(self, given: Given, indices: NDArray[np.int64]) -> float:
        """Return the bound of some of the rows, each with weight 1; 0 if there is no time."""
        labels = None if given.labels is None else given.labels[indices]
        found = self.prove(Given(given.rows[indices], None, labels), lambda bound: False)
        return 0.0 if isinstance(found, str) else found.bound

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
        if given.labels is not None:
            return Instance(given.rows, self._n_clusters, given.labels, given.weights)
        return cluster_quickly(
            given.rows,
            self._n_clusters,
            given.weights,
            key=self._key,
            n_threads=self._n_threads,
            deadline=self._deadline,
        )

    def _try_deal(self, instance: Instance) -> float:
        """Return what a trial deal loses; infinity if none is made."""
        if not _is_tried(instance.rows.shape):
            return math.inf
        deal = deal_rows(
            instance.rows,
            instance.labels,
            -(-instance.rows.shape[0] // TRIAL_ROWS),
            weights=instance.weights,
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


def _join(one: AllRowsProof | None, other: AllRowsProof) -> AllRowsProof:
    """Return the better of two proofs, with better labels if any has found them."""
    if one is None:
        return other
    best = max(one, other, key=lambda proof: proof.bound)
    labels = other.better_labels if one.better_labels is None else one.better_labels
    return replace(best, better_labels=labels)
