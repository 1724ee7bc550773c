"""SCORE: the best lower bound on the inertia of every clustering that a given effort finds.

Chooses among the bounds; each of them is computed in a module of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from projected_kmeans.blocks import as_native
from projected_kmeans.journal import Journal
from projected_kmeans.keys import RandomState, resolve_key
from projected_kmeans.neighbour_bound import measure_neighbours
from projected_kmeans.parameters import (
    check_choice,
    check_count,
    check_not_negative,
    check_weights,
)
from projected_kmeans.results import FitState, Floats
from projected_kmeans.rounded_rows import RoundedRows
from projected_kmeans.sampled_bound import draw_subsets, sampled_bound
from projected_kmeans.spectral_bound import SPECTRAL_LIMIT, spectral_bound
from projected_kmeans.tightened_bound import TIGHTEN_LIMIT, tighten


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


@dataclass(frozen=True)
class LowerBound:
    """A number that the inertia of no clustering into k clusters can be below.

    Attributes
    ----------
    value : float
        The bound.
    method : str
        Which bound is the best: "spectral", "neighbour", "tightened", or "sampled".
    certain : bool
        Whether it is proven; else it holds with probability `confidence`.
    confidence : float
        1.0 where it is certain.
    seconds : float
        It took so long.
    values : dict
        The bound by each of the methods tried.
    """

    value: float
    method: str
    certain: bool
    confidence: float
    seconds: float
    values: dict[str, float] = field(default_factory=dict)


def kmeans_lower_bound(
    X: ArrayLike,
    n_clusters: int,
    *,
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    confidence: float = 0.99,
    random_state: RandomState = None,
    callback: Callable[[FitState], object] | None = None,
) -> LowerBound:
    """Return a number that the inertia of no clustering of X into k clusters can be below.

    Parameters
    ----------
    X : array-like (n, d)
        Rows.
    n_clusters : int
        k.
    method : {"auto", "spectral", "neighbour", "full"}, default="auto"
        "spectral" uses singular values, "neighbour" distances between rows (up to 16384 rows, 8192
        with weights), "full" both and the tightened neighbour bound (up to 4096 rows). "auto" does
        the same for fewer rows: 8192, and 1024 for tightening. Beyond, and where "spectral" has
        more than 4096 rows and columns, the bound comes from four subsets of the rows.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative.
    time_limit : float, optional
        Seconds after which no other bound is begun and tightening stops. By default only the number
        of steps is limited, and the result depends on nothing but X and ``random_state``.
    confidence : float, default=0.99
        The probability with which a bound from subsets has to hold, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        What fixes the subsets.
    callback : callable, optional
        Called with a `FitState` after every unit of work; a true answer stops as the time limit
        does.

    Returns
    -------
    LowerBound
        The best of the bounds, all less their rounding errors.

    Examples
    --------
    >>> from projected_kmeans import kmeans_lower_bound
    >>> bound = kmeans_lower_bound([[0.0], [1.0], [5.0], [6.0], [20.0]], 3)
    >>> round(bound.value, 6), bound.method, bound.certain
    (1.0, 'neighbour', True)
    """
    rows = as_native(check_array(X, dtype="numeric", ensure_all_finite=False))
    check_count("n_clusters", n_clusters)
    check_choice("method", method, EFFORTS)
    if time_limit is not None:
        check_not_negative("time_limit", time_limit)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is no such probability; use one in (0, 1)")
    if n_clusters > len(rows):
        raise ValueError(
            f"n_clusters={n_clusters} exceeds n_samples={len(rows)}; use at most {len(rows)}"
        )
    log = Journal(callback, verbose=0)
    with log.step("certify", count_units(method)):
        return bound_inertia(
            rows,
            check_weights(sample_weight, rows),
            n_clusters,
            method=method,
            key=resolve_key(random_state),
            confidence=confidence,
            time_limit=time_limit,
            on_unit=log.report,
        )


def count_units(method: str) -> int:
    """Return how many units of work a method reports at most."""
    return (2 + EFFORTS[method].steps) * (1 + N_SUBSETS)


def bound_inertia(
    rows: NDArray[Any],
    weights: Floats | None,
    n_clusters: int,
    *,
    method: str,
    key: int,
    confidence: float = 0.99,
    time_limit: float | None = None,
    on_unit: Callable[[int], bool] | None = None,
) -> LowerBound:
    """Return the best bound for rows that were checked already.

    Parameters
    ----------
    rows : ndarray (n, d)
        Of a type that kernels read.
    weights : ndarray of float64 (n,) or None
        None counts every row once.
    n_clusters, method, confidence, time_limit
        As in `kmeans_lower_bound`.
    key : int
        What fixes the subsets.
    on_unit : callable, optional
        Called with the units of work done; True stops as the time limit does.
    """
    if weights is not None and not weights.all():
        rows, weights = rows[weights > 0], weights[weights > 0]
    work = _Work(n_clusters, EFFORTS[method], time_limit, on_unit)
    whole = RoundedRows(rows, weights)
    values = work.prove(whole)
    size = min(EFFORTS[method].subset_rows, len(rows) // N_SUBSETS)
    if not work.covers(whole) and not work.expired and size > n_clusters:
        subsets = draw_subsets(rows, weights, N_SUBSETS, size, key)
        values["sampled"] = sampled_bound(whole, subsets, work.prove_best, confidence)
    best = max(values, key=lambda name: values[name], default="spectral")
    certain = best != "sampled"
    return LowerBound(
        value=values.get(best, 0.0),
        method=best,
        certain=certain,
        confidence=1.0 if certain else confidence,
        seconds=time.perf_counter() - work.begin,
        values=values,
    )


class _Work:
    """Proves bounds within an effort, and knows when there is no time for more."""

    def __init__(
        self,
        n_clusters: int,
        effort: Effort,
        limit: float | None,
        on_unit: Callable[[int], bool] | None,
    ) -> None:
        self.begin = time.perf_counter()
        self.expired = False
        self._n_clusters, self._effort = n_clusters, effort
        self._deadline = math.inf if limit is None else self.begin + limit
        self._on_unit, self._done = on_unit, 0

    def covers(self, centred: RoundedRows) -> bool:
        """Tell whether the rows are few enough for what is sharpest within the effort."""
        if self._effort.neighbour_rows:
            return self._has_neighbours(centred)
        return min(centred.shape) <= SPECTRAL_LIMIT

    def prove(self, centred: RoundedRows) -> dict[str, float]:
        """Return bounds for these rows by name; none where they are too many or time is over."""
        values: dict[str, float] = {}
        if self._effort.spectral and min(centred.shape) <= SPECTRAL_LIMIT:
            bound = spectral_bound(centred, self._n_clusters)
            values["spectral"] = centred.to_original(bound)
            self._tick()
        if not self._has_neighbours(centred) or self.expired:
            return values
        neighbours = measure_neighbours(centred, self._n_clusters)
        dual = neighbours.maximise(neighbours.start(centred.squares))
        values["neighbour"] = centred.to_original(neighbours.prove(dual))
        if not self._tick() and dual.value > 0 and centred.shape[0] <= self._effort.tighten_rows:
            bound = tighten(neighbours, dual, self._effort.steps, self._tick)
            values["tightened"] = centred.to_original(bound)
        return values

    def prove_best(self, centred: RoundedRows) -> float:
        """Return the best bound for these rows, and 0 where time is over."""
        return 0.0 if self.expired else max(self.prove(centred).values(), default=0.0)

    def _has_neighbours(self, centred: RoundedRows) -> bool:
        limit = self._effort.neighbour_rows
        return centred.shape[0] <= (min(limit, 8192) if centred.is_weighted else limit)

    def _tick(self) -> bool:
        self._done += 1
        asked = self._on_unit is not None and self._on_unit(self._done)
        self.expired = self.expired or asked or time.perf_counter() >= self._deadline
        return self.expired
