"""Try one bound after another, within limits on rows and time, and record what was skipped.

The proofs stand in the modules of the bounds. The semidefinite bound is usually far better than all
others. So others that take long are tried only if it was not, and the best of all counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from projected_kmeans.certificates.bound_trace import BoundTrace
from projected_kmeans.certificates.neighbour_bound import (
    TIGHTEN_LIMIT,
    Dual,
    Neighbours,
    measure_neighbours,
    tighten,
)
from projected_kmeans.certificates.proof_rows import Indices, ProofRows
from projected_kmeans.certificates.sampled_bound import draw_subsets, sampled_bound
from projected_kmeans.certificates.semidefinite.all_rows import WEAK_RATIO, AllRowsProof
from projected_kmeans.certificates.semidefinite_prover import Given, SemidefiniteProver
from projected_kmeans.certificates.spectral_bound import (
    SPECTRAL_LIMIT,
    predict_seconds,
    spectral_bound,
)
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor

# More subsets make the sampled bound vary less from key to key; larger subsets make it higher. Four
# subsets are a compromise.
N_SUBSETS = 4

# The most rows of the neighbour bound if they have weights. Lists of neighbours are then complete,
# so that memory limits the number of rows earlier.
MAX_WEIGHTED_ROWS = 8192

# Up to this many rows the neighbour bound takes a fraction of a second and is always computed.
ALWAYS_NEIGHBOUR_ROWS = 1024

IS_CLOSE = "not tried, because the semidefinite bound is close to the inertia"

# The lists of neighbours and the best dual of the neighbour bound.
Searched: TypeAlias = tuple[Neighbours, Dual]


@dataclass(frozen=True)
class ProofEffort:
    """How much work a method may do."""

    # Rows in each of the `N_SUBSETS` random subsets that are used if there are too many rows; 0
    # never draws subsets.
    subset_rows: int
    use_spectral: bool = True
    # The most rows for which the neighbour bound and the tightened bound are computed; 0 never
    # computes them.
    max_neighbour_rows: int = 0
    max_tightened_rows: int = 0
    max_tightening_steps: int = 0
    # Whether the semidefinite bound is computed for some seconds, or until gains end.
    semidefinite: Literal["quick", "long"] | None = None

    def count_neighbour_rows(self, *, is_weighted: bool) -> int:
        """Return the most rows for which the neighbour bound is computed."""
        limit = self.max_neighbour_rows
        return min(limit, MAX_WEIGHTED_ROWS) if is_weighted else limit


EFFORTS = {
    "auto": ProofEffort(
        subset_rows=2048,
        max_neighbour_rows=8192,
        max_tightened_rows=1024,
        max_tightening_steps=60,
        semidefinite="quick",
    ),
    "spectral": ProofEffort(subset_rows=SPECTRAL_LIMIT),
    "neighbour": ProofEffort(subset_rows=4096, use_spectral=False, max_neighbour_rows=16384),
    "semidefinite": ProofEffort(subset_rows=0, use_spectral=False, semidefinite="long"),
    "full": ProofEffort(
        subset_rows=4096,
        max_neighbour_rows=16384,
        max_tightened_rows=TIGHTEN_LIMIT,
        max_tightening_steps=300,
        semidefinite="long",
    ),
}


class Prover:
    """Computes the bounds for one number of clusters.

    The monitor receives every unit of work, and what is skipped. ``skipped`` maps each bound that
    was skipped or cut short to the reason, ``semidefinite`` is what the semidefinite bound of all
    rows has found, and ``trace`` has when the best certain bound of all rows rose.
    """

    def __init__(
        self,
        n_clusters: int,
        effort: ProofEffort,
        deadline: Deadline,
        monitor: Monitor,
        *,
        key: int = 0,
        n_threads: int = 1,
        memory: int | None = None,
    ) -> None:
        self.skipped: dict[str, str] = {}
        self.semidefinite: AllRowsProof | None = None
        self.trace = BoundTrace()
        self._n_clusters, self._effort, self._key = n_clusters, effort, key
        self._deadline, self._monitor, self._done = deadline, monitor, 0
        self._parts = SemidefiniteProver(
            n_clusters,
            long=effort.semidefinite == "long",
            key=key,
            n_threads=n_threads,
            memory=memory,
            deadline=deadline,
        )

    def count_units(self, shape: tuple[int, int]) -> int:
        """Return the units of work that rows of this shape take, unless bounds turn out weak."""
        tightening = self._effort.max_tightening_steps
        units = 0 if self._effort.semidefinite is None else self._parts.count_units(shape)
        if not units:
            return (2 + tightening) * (1 + N_SUBSETS)
        return 2 + units + (tightening if shape[0] <= ALWAYS_NEIGHBOUR_ROWS else 0)

    def prove_all(self, given: Given, whole: ProofRows, confidence: float) -> dict[str, float]:
        """Return the bounds for all rows by name, as far as limits on rows and time allow.

        ``whole`` are the given rows, prepared. ``confidence`` is the probability with which a bound
        from subsets has to hold.
        """
        values: dict[str, float] = {}
        searched = None
        if self._effort.use_spectral:
            self._try_spectral(whole, values)
            self.trace.note(values.get("spectral", 0.0))
        is_small = whole.shape[0] <= ALWAYS_NEIGHBOUR_ROWS
        if is_small and self._effort.max_neighbour_rows and not given.is_met(values.values()):
            searched = self._try_neighbours(whole, values)
            self.trace.note(values.get("neighbour", 0.0))
        if given.is_met(values.values()):
            return values
        if self._effort.semidefinite is not None and whole.shape[0] > self._n_clusters:
            self._try_semidefinite(given, values)
        if given.is_met(values.values()):
            return values
        if not is_small and self._effort.max_neighbour_rows:
            if self._is_close():
                self._skip("neighbour", IS_CLOSE)
            else:
                searched = self._try_neighbours(whole, values)
        if searched is not None:
            self._try_tightening(whole, searched, values)
        self.trace.note(max(values.values(), default=0.0))
        return values | self._prove_by_subsets(given, whole, confidence)

    def skip_all(self, reason: str) -> None:
        """Record why no bound was tried."""
        if self._effort.use_spectral:
            self._skip("spectral", reason)
        if self._effort.max_neighbour_rows:
            self._skip("neighbour", reason)
        if self._effort.semidefinite is not None:
            self._skip("semidefinite", reason)

    def _prove_by_subsets(
        self, given: Given, whole: ProofRows, confidence: float
    ) -> dict[str, float]:
        """Return the sampled bound if rows are too many for the other bounds, else nothing."""
        size = min(self._effort.subset_rows, whole.shape[0] // N_SUBSETS)
        if not self._effort.subset_rows or self._covers(whole) or self._is_close():
            return {}
        if size <= self._n_clusters:
            self._skip(
                "sampled", f"subsets of {size} rows are too small for {self._n_clusters} clusters"
            )
            return {}
        if self._deadline.is_over:
            self._skip("sampled", "the time was over before it began")
            return {}
        try:
            subsets = draw_subsets(whole, N_SUBSETS, size, self._key)
        except OutOfTime:
            self._skip("sampled", "the time was over before the first subset")
            return {}
        skipped_for_all_rows = dict(self.skipped)

        def prove_best(indices: Indices) -> float:
            return self._prove_subset(given, whole, indices)

        value = sampled_bound(whole, subsets, prove_best, confidence)
        self.skipped = skipped_for_all_rows  # what was skipped for subsets is not reported
        if self._deadline.is_over:
            self._skip("sampled", "the time was over in the middle of its subsets")
        return {"sampled": value}

    def _prove_subset(self, given: Given, whole: ProofRows, indices: Indices) -> float:
        """Return the best bound of some rows, each with weight 1; 0 if there is no time."""
        values: dict[str, float] = {}
        try:
            rows = whole.take(indices)
        except OutOfTime:
            return 0.0
        if self._effort.use_spectral:
            self._try_spectral(rows, values)
        if self._effort.max_neighbour_rows:
            searched = self._try_neighbours(rows, values)
            if searched is not None:
                self._try_tightening(rows, searched, values)
        if self._effort.semidefinite is not None and not self._deadline.is_over:
            values["semidefinite"] = self._parts.bound_subset(given, indices)
        return max(values.values(), default=0.0)

    def _covers(self, rows: ProofRows) -> bool:
        """Return whether the rows are few enough for the best bound that the effort includes."""
        if self._effort.max_neighbour_rows:
            return rows.shape[0] <= self._effort.count_neighbour_rows(is_weighted=rows.is_weighted)
        return min(rows.shape) <= SPECTRAL_LIMIT

    def _try_spectral(self, rows: ProofRows, values: dict[str, float]) -> None:
        size, left = min(rows.shape), self._deadline.seconds_left
        if size > SPECTRAL_LIMIT:
            self._skip("spectral", f"both rows and columns exceed {SPECTRAL_LIMIT}")
            return
        if self._deadline.is_over:
            self._skip("spectral", "the time was over before it began")
            return
        needed = 0.0 if math.isinf(left) else predict_seconds(size)
        if needed > left:
            self._skip(
                "spectral", f"eigenvalues take about {needed:.2g} s and {left:.2g} s are left"
            )
            return
        try:
            bound = spectral_bound(rows, self._n_clusters)
        except OutOfTime:
            self._skip("spectral", "the time was over in the middle of its Gram matrix")
            return
        values["spectral"] = rows.to_original(bound)
        self._tick()

    def _try_neighbours(self, rows: ProofRows, values: dict[str, float]) -> Searched | None:
        n_rows = rows.shape[0]
        limit = self._effort.count_neighbour_rows(is_weighted=rows.is_weighted)
        if n_rows > limit:
            self._skip("neighbour", f"{n_rows} rows exceed {limit}")
            return None
        try:
            neighbours = measure_neighbours(rows, self._n_clusters, self._deadline.check)
            dual = neighbours.start(rows.squares)
        except OutOfTime:
            self._skip("neighbour", "the time was over in the middle of its distances")
            return None
        dual = neighbours.maximise(dual)
        values["neighbour"] = rows.to_original(neighbours.prove(dual))
        self._tick()
        if neighbours.was_cut_short:
            self._skip("neighbour", "the time was over in the middle of its search")
        return neighbours, dual

    def _try_tightening(
        self, rows: ProofRows, searched: Searched, values: dict[str, float]
    ) -> None:
        limit = self._effort.max_tightened_rows
        if limit == 0 or searched[1].value <= 0:
            return
        if rows.shape[0] > limit:
            self._skip("tightened", f"{rows.shape[0]} rows exceed {limit}")
            return
        if self.semidefinite is not None and self.semidefinite.has_closed_more(values["neighbour"]):
            self._skip("tightened", IS_CLOSE)
            return
        if self._deadline.is_over:
            self._skip("tightened", "the time was over before it began")
            return
        bound = tighten(*searched, self._effort.max_tightening_steps, self._tick)
        values["tightened"] = rows.to_original(bound)
        if self._deadline.is_over:
            self._skip("tightened", "the time was over in the middle of its search")

    def _try_semidefinite(self, given: Given, values: dict[str, float]) -> None:
        proof = self._parts.prove(given, self._tick)
        if isinstance(proof, str):
            self._skip("semidefinite", proof)
            return
        self.semidefinite = proof
        values["semidefinite"] = proof.bound
        self.trace.note(proof.bound)
        if proof.n_reached < proof.n_parts:
            where = f"after {proof.n_reached} of {proof.n_parts} parts"
            where = where if proof.part_rows else "in the middle of its search"
            self._skip("semidefinite", f"the time was over {where}")

    def _is_close(self) -> bool:
        """Return whether the semidefinite bound leaves little for other bounds to gain."""
        return self.semidefinite is not None and self.semidefinite.ratio <= WEAK_RATIO

    def _skip(self, name: str, reason: str) -> None:
        """Record why a bound was skipped or cut short."""
        self.skipped[name] = reason
        self._monitor.note("%s bound skipped or cut short: %s", name, reason)

    def _tick(self, bound: float = 0.0) -> bool:
        """Report a unit of work, and what it proves for all rows; return whether to stop."""
        self.trace.note(bound)
        self._done += 1
        return self._monitor.report(self._done) or self._deadline.is_over
