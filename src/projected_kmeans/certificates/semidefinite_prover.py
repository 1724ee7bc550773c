"""Plan and run the semidefinite bound of all rows, within limits on time and memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.certificates.semidefinite.all_rows import AllRowsProof, prove_all_rows
from projected_kmeans.certificates.semidefinite.instance import Instance, cluster_quickly
from projected_kmeans.certificates.semidefinite.proof_plan import (
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
    """

    rows: Any
    weights: Floats | None = None
    labels: Labels | None = None


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
        """Return how often `prove` reports if nothing is cut short; 0 if it would take too long."""
        plan = plan_proof(shape[0], self._n_clusters, long=self._long)
        if plan is None:
            return 0
        plan, _ = fit_memory(plan, shape, self._n_threads, self._memory)
        if plan.part_rows == 0 or shape[0] <= plan.part_rows:
            return plan.effort.max_steps
        return -(-shape[0] // plan.part_rows)

    def prove(self, given: Given, on_unit: Callable[[], bool]) -> AllRowsProof | str:
        """Return what was proven for all rows, or why nothing was tried.

        Parameters
        ----------
        given : Given
            The rows.
        on_unit : callable
            Called after every unit of work; a true answer stops the work.
        """
        if self._deadline.is_over:
            return "the time was over before it began"
        plan = self._plan(given.rows.shape[0])
        if plan is None:
            return self._explain(given.rows.shape[0])
        return self._run(given, plan, on_unit) or "the time was over before there were clusters"

    def bound_subset(self, given: Given, indices: NDArray[np.int64]) -> float:
        """Return the bound of some of the rows, each with weight 1; 0 if there is no time."""
        labels = None if given.labels is None else given.labels[indices]
        some = Given(given.rows[indices], None, labels)
        plan = self._plan(len(indices))
        found = None if plan is None else self._run(some, plan, lambda: False)
        return 0.0 if found is None else found.bound

    def _plan(self, n_rows: int) -> ProofPlan | None:
        left = self._deadline.seconds_left
        if math.isinf(left):
            return plan_proof(n_rows, self._n_clusters, long=self._long)
        speed = TIMED_SECONDS / predict_seconds(TIMED_SIZE)
        seconds = TIME_SHARE * left * speed * self._n_threads
        return plan_proof(n_rows, self._n_clusters, long=self._long, seconds=seconds)

    def _explain(self, n_rows: int) -> str:
        left = self._deadline.seconds_left
        what = f"{n_rows} rows and {self._n_clusters} clusters"
        if math.isinf(left):
            return f'{what} would take minutes; use the method "full"'
        return f"{what} take longer than the {left:.2g} s that are left"

    def _run(
        self, given: Given, plan: ProofPlan, on_unit: Callable[[], bool]
    ) -> AllRowsProof | None:
        """Prove the rows; None if the time was over before there was a clustering."""
        plan, n_threads = fit_memory(plan, given.rows.shape, self._n_threads, self._memory)
        if given.labels is not None:
            instance = Instance(given.rows, self._n_clusters, given.labels, given.weights)
        else:
            try:
                instance = cluster_quickly(
                    given.rows,
                    self._n_clusters,
                    given.weights,
                    key=self._key,
                    n_threads=self._n_threads,
                    deadline=self._deadline,
                )
            except OutOfTime:
                return None
        return prove_all_rows(
            instance,
            plan,
            key=self._key,
            n_threads=n_threads,
            deadline=self._deadline,
            on_unit=on_unit,
        )
