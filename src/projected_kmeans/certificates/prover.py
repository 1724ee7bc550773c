"""Try one bound after another, within limits on rows and time, and record what was skipped.

The proofs stand in the modules of the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from projected_kmeans.certificates.neighbour_bound import Dual, Neighbours, measure_neighbours
from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.certificates.sampled_bound import draw_subsets, sampled_bound
from projected_kmeans.certificates.semidefinite.all_rows import AllRowsProof, prove_all_rows
from projected_kmeans.certificates.spectral_bound import (
    SPECTRAL_LIMIT,
    predict_seconds,
    spectral_bound,
)
from projected_kmeans.certificates.tightened_bound import TIGHTEN_LIMIT, tighten
from projected_kmeans.results import Floats
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor


@dataclass(frozen=True)
class Effort:
    """How much work a method may do.

    Attributes
    ----------
    subset_rows : int
        Rows in each of the `N_SUBSETS` random subsets that are used if there are too many rows.
    use_spectral : bool
        Whether the spectral bound is computed.
    max_neighbour_rows, max_tightened_rows : int
        The most rows for which the neighbour bound and the tightened bound are computed; 0 never
        computes them.
    max_tightening_steps : int
        The most steps of the tightened bound.
    use_semidefinite : bool
        Whether the semidefinite bound is computed, for all rows, where a clustering is given.
    """

    subset_rows: int
    use_spectral: bool = True
    max_neighbour_rows: int = 0
    max_tightened_rows: int = 0
    max_tightening_steps: int = 0
    use_semidefinite: bool = False


EFFORTS = {
    "auto": Effort(
        subset_rows=2048,
        max_neighbour_rows=8192,
        max_tightened_rows=1024,
        max_tightening_steps=60,
    ),
    "spectral": Effort(subset_rows=SPECTRAL_LIMIT),
    "neighbour": Effort(subset_rows=4096, use_spectral=False, max_neighbour_rows=16384),
    "full": Effort(
        subset_rows=4096,
        max_neighbour_rows=16384,
        max_tightened_rows=TIGHTEN_LIMIT,
        max_tightening_steps=300,
    ),
    "semidefinite": Effort(subset_rows=SPECTRAL_LIMIT, use_semidefinite=True),
}

# More subsets make the sampled bound vary less from key to key; larger subsets make it higher. Four
# subsets are a compromise.
N_SUBSETS = 4

# The most rows of the neighbour bound if they have weights. Lists of neighbours are then complete,
# so that memory limits the number of rows earlier.
MAX_WEIGHTED_ROWS = 8192


class Prover:
    """Computes the bounds for one number of clusters.

    Parameters
    ----------
    n_clusters : int
        k.
    effort : Effort
        How much work to do.
    deadline : Deadline
        When to stop.
    monitor : Monitor
        Receives every unit of work, and what is skipped.

    Attributes
    ----------
    skipped : dict
        Maps each bound that was skipped or cut short to the reason.
    """

    def __init__(
        self, n_clusters: int, effort: Effort, deadline: Deadline, monitor: Monitor
    ) -> None:
        self.skipped: dict[str, str] = {}
        self._n_clusters, self._effort = n_clusters, effort
        self._deadline, self._monitor, self._done = deadline, monitor, 0

    def prove(self, rows: ProofRows) -> dict[str, float]:
        """Return the bounds for these rows by name, as far as limits on rows and time allow."""
        values: dict[str, float] = {}
        if self._effort.use_spectral:
            self._try_spectral(rows, values)
        if self._effort.max_neighbour_rows:
            self._try_neighbours(rows, values)
        return values

    def skip_all(self, reason: str) -> None:
        """Record why no bound was tried."""
        if self._effort.use_spectral:
            self._skip("spectral", reason)
        if self._effort.max_neighbour_rows:
            self._skip("neighbour", reason)

    def prove_semidefinite(
        self, rows: Any, weights: Floats | None, labels: NDArray[Any] | None, key: int
    ) -> AllRowsProof | None:
        """Return the semidefinite bound for all rows, None if the effort does not include it.

        Parameters
        ----------
        rows : ndarray or CSR (n, d)
            The rows as given, those without weight left out.
        weights : ndarray of float64 (n,) or None
            All above 0; None counts every row once.
        labels : ndarray of int (n,) or None
            A clustering of these rows; without one nothing is proven.
        key : int
            Fixes how rows are dealt over parts.
        """
        if not self._effort.use_semidefinite:
            return None
        if labels is None:
            self._skip("semidefinite", "it starts from a clustering; give labels")
            return None
        if self._deadline.is_over:
            self._skip("semidefinite", "the time was over before it began")
            return None
        found = prove_all_rows(
            rows,
            self._n_clusters,
            labels,
            weights=weights,
            key=key,
            deadline=self._deadline,
            on_part=self._tick,
        )
        if self._deadline.is_over:
            done = f"{found.n_proven} of {found.n_parts} parts"
            self._skip("semidefinite", f"the time was over after {done} were begun")
        return found

    def prove_by_subsets(self, whole: ProofRows, confidence: float, key: int) -> dict[str, float]:
        """Return the sampled bound if there are too many rows for the other bounds, else nothing.

        Parameters
        ----------
        whole : ProofRows
            All rows.
        confidence : float
            The probability with which the bound has to hold.
        key : int
            Fixes the random subsets, together with the content of the rows.
        """
        size = min(self._effort.subset_rows, whole.shape[0] // N_SUBSETS)
        if self._effort.use_semidefinite or self._covers(whole):
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
            subsets = draw_subsets(whole, N_SUBSETS, size, key)
        except OutOfTime:
            self._skip("sampled", "the time was over before the first subset")
            return {}
        skipped_for_all_rows = dict(self.skipped)
        value = sampled_bound(whole, subsets, self._prove_best, confidence)
        self.skipped = skipped_for_all_rows  # what was skipped for subsets is not reported
        if self._deadline.is_over:
            self._skip("sampled", "the time was over in the middle of its subsets")
        return {"sampled": value}

    def _prove_best(self, rows: ProofRows) -> float:
        return max(self.prove(rows).values(), default=0.0)

    def _covers(self, rows: ProofRows) -> bool:
        """Return whether the rows are few enough for the best bound that the effort includes."""
        if self._effort.max_neighbour_rows:
            return rows.shape[0] <= self._max_neighbour_rows(rows)
        return min(rows.shape) <= SPECTRAL_LIMIT

    def _max_neighbour_rows(self, rows: ProofRows) -> int:
        limit = self._effort.max_neighbour_rows
        return min(limit, MAX_WEIGHTED_ROWS) if rows.is_weighted else limit

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

    def _try_neighbours(self, rows: ProofRows, values: dict[str, float]) -> None:
        n_rows, limit = rows.shape[0], self._max_neighbour_rows(rows)
        if n_rows > limit:
            self._skip("neighbour", f"{n_rows} rows exceed {limit}")
            return
        try:
            neighbours = measure_neighbours(rows, self._n_clusters, self._deadline.check)
            dual = neighbours.start(rows.squares)
        except OutOfTime:
            self._skip("neighbour", "the time was over in the middle of its distances")
            return
        dual = neighbours.maximise(dual)
        values["neighbour"] = rows.to_original(neighbours.prove(dual))
        self._tick()
        if neighbours.was_cut_short:
            self._skip("neighbour", "the time was over in the middle of its search")
        if self._effort.max_tightened_rows and dual.value > 0:
            self._try_tightening(rows, neighbours, dual, values)

    def _try_tightening(
        self, rows: ProofRows, neighbours: Neighbours, dual: Dual, values: dict[str, float]
    ) -> None:
        limit = self._effort.max_tightened_rows
        if rows.shape[0] > limit:
            self._skip("tightened", f"{rows.shape[0]} rows exceed {limit}")
            return
        if self._deadline.is_over:
            self._skip("tightened", "the time was over before it began")
            return
        bound = tighten(neighbours, dual, self._effort.max_tightening_steps, self._tick)
        values["tightened"] = rows.to_original(bound)
        if self._deadline.is_over:
            self._skip("tightened", "the time was over in the middle of its search")

    def _skip(self, name: str, reason: str) -> None:
        """Record why a bound was skipped or cut short."""
        self.skipped[name] = reason
        self._monitor.note("%s bound skipped or cut short: %s", name, reason)

    def _tick(self) -> bool:
        """Report a unit of work; return whether to stop."""
        self._done += 1
        return self._monitor.report(self._done) or self._deadline.is_over
