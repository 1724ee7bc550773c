"""SCORE: the bounds that an effort allows, tried one after the other while there is time.

Decides what is tried, and remembers what was not; the proofs stand in the bounds' own modules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from projected_kmeans.certificates.neighbour_bound import measure_neighbours
from projected_kmeans.certificates.proof_rows import ProofRows
from projected_kmeans.certificates.sampled_bound import draw_subsets, sampled_bound
from projected_kmeans.certificates.spectral_bound import (
    SPECTRAL_LIMIT,
    predict_seconds,
    spectral_bound,
)
from projected_kmeans.certificates.tightened_bound import TIGHTEN_LIMIT, tighten
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor


@dataclass(frozen=True)
class Effort:
    """What a method may spend.

    Attributes
    ----------
    spectral : bool
        Whether the spectral bound is computed.
    neighbour_rows, tighten_rows : int
        Rows up to which these bounds are computed; 0 for never.
    steps : int
        Of tightening, at most.
    subset_rows : int
        Rows of each of `N_SUBSETS` subsets, where there are too many rows for all of them.
    """

    spectral: bool
    neighbour_rows: int
    tighten_rows: int
    steps: int
    subset_rows: int


EFFORTS = {
    "auto": Effort(True, 8192, 1024, 60, 2048),
    "spectral": Effort(True, 0, 0, 0, SPECTRAL_LIMIT),
    "neighbour": Effort(False, 16384, 0, 0, 4096),
    "full": Effort(True, 16384, TIGHTEN_LIMIT, 300, 4096),
}
# More subsets draw the probabilistic bound closer to its mean, larger ones raise the mean.
N_SUBSETS = 4

# With weights lists of neighbours are never cut short, so that fewer rows have room.
WEIGHTED_ROWS = 8192


class Prover:
    """Proves bounds for some number of clusters.

    Parameters
    ----------
    n_clusters : int
        k.
    effort : Effort
        What may be tried.
    deadline : Deadline
        When to leave what is not done.
    monitor : Monitor
        Told of every unit of work and of what is skipped.

    Attributes
    ----------
    skipped : dict
        From bounds that were not made, or not to their end, to the reason.
    """

    def __init__(
        self, n_clusters: int, effort: Effort, deadline: Deadline, monitor: Monitor
    ) -> None:
        self.skipped: dict[str, str] = {}
        self._n_clusters, self._effort = n_clusters, effort
        self._deadline, self._monitor, self._done = deadline, monitor, 0

    def prove(self, rows: ProofRows) -> dict[str, float]:
        """Return bounds for these rows by name, those that there is room and time for."""
        values: dict[str, float] = {}
        if self._effort.spectral:
            self._try_spectral(rows, values)
        if self._effort.neighbour_rows:
            self._try_neighbours(rows, values)
        return values

    def skip_all(self, reason: str) -> None:
        """Remember why nothing was tried."""
        if self._effort.spectral:
            self._skip("spectral", reason)
        if self._effort.neighbour_rows:
            self._skip("neighbour", reason)

    def prove_by_subsets(self, whole: ProofRows, confidence: float, key: int) -> dict[str, float]:
        """Return the bound from subsets, where all rows are too many and the subsets enough."""
        size = min(self._effort.subset_rows, whole.shape[0] // N_SUBSETS)
        if self._covers(whole):
            return {}
        if size <= self._n_clusters:
            self._skip("sampled", f"subsets of {size} rows are too small for so many clusters")
            return {}
        if self._deadline.is_over:
            self._skip("sampled", "the time was over before")
            return {}
        try:
            subsets = draw_subsets(whole, N_SUBSETS, size, key)
        except OutOfTime:
            self._skip("sampled", "the time was over before the first subset")
            return {}
        of_all = dict(self.skipped)
        value = sampled_bound(whole, subsets, self._prove_best, confidence)
        self.skipped = of_all  # what subsets had no room for is no news
        if self._deadline.is_over:
            self._skip("sampled", "the time was over in the middle of its subsets")
        return {"sampled": value}

    def _prove_best(self, rows: ProofRows) -> float:
        return max(self.prove(rows).values(), default=0.0)

    def _covers(self, rows: ProofRows) -> bool:
        """Tell whether the rows are few enough for what is sharpest within the effort."""
        if self._effort.neighbour_rows:
            return rows.shape[0] <= self._most_neighbours(rows)
        return min(rows.shape) <= SPECTRAL_LIMIT

    def _most_neighbours(self, rows: ProofRows) -> int:
        most = self._effort.neighbour_rows
        return min(most, WEIGHTED_ROWS) if rows.is_weighted else most

    def _try_spectral(self, rows: ProofRows, values: dict[str, float]) -> None:
        size, left = min(rows.shape), self._deadline.seconds_left
        if size > SPECTRAL_LIMIT:
            self._skip("spectral", f"rows and columns, {size} at least, exceed {SPECTRAL_LIMIT}")
            return
        if self._deadline.is_over:
            self._skip("spectral", "the time was over before")
            return
        needed = 0.0 if math.isinf(left) else predict_seconds(size)
        if needed > left:
            self._skip("spectral", f"eigenvalues take about {needed:.2g} s, of {left:.2g} s left")
            return
        try:
            bound = spectral_bound(rows, self._n_clusters)
        except OutOfTime:
            self._skip("spectral", "the time was over in the middle of its Gram matrix")
            return
        values["spectral"] = rows.to_original(bound)
        self._tick()

    def _try_neighbours(self, rows: ProofRows, values: dict[str, float]) -> None:
        n_rows, most = rows.shape[0], self._most_neighbours(rows)
        if n_rows > most:
            self._skip("neighbour", f"{n_rows} rows exceed {most}")
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
        if neighbours.is_cut:
            self._skip("neighbour", "the time was over in the middle of its search")
        if not self._effort.tighten_rows or dual.value <= 0:
            return
        if n_rows > self._effort.tighten_rows:
            self._skip("tightened", f"{n_rows} rows exceed {self._effort.tighten_rows}")
        elif self._deadline.is_over:
            self._skip("tightened", "the time was over before")
        else:
            bound = tighten(neighbours, dual, self._effort.steps, self._tick)
            values["tightened"] = rows.to_original(bound)
            if self._deadline.is_over:
                self._skip("tightened", "the time was over in the middle of its search")

    def _skip(self, name: str, reason: str) -> None:
        """Remember why a bound was not made, or not to its end."""
        self.skipped[name] = reason
        self._monitor.note("%s bound skipped or cut short: %s", name, reason)

    def _tick(self) -> bool:
        self._done += 1
        return self._monitor.report(self._done) or self._deadline.is_over
