"""CERTIFY: prove how near a clustering is to the best one, and take a better one where one shows.

Without a guarantee there is one proof. With one, clusterings and proofs take turns, and what costs
less comes first: the quick proof, another clustering, the long proof, further clusterings. Each
proof starts from the best labels so far, and each bound holds for all clusterings, so that the best
bound and the best clustering of all rounds count.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from projected_kmeans.certificates.bound_trace import join_traces
from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.certificates.efforts import EFFORTS
from projected_kmeans.certificates.lower_bounds import LowerBound, bound_inertia
from projected_kmeans.certificates.requests import check_certificate, check_guarantee
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, polish
from projected_kmeans.certificates.semidefinite.proof_plan import GOAL, MAX_PART_ROWS
from projected_kmeans.certificates.unit_centers import to_unit_centers
from projected_kmeans.estimator.fit_checkpoint import Finished
from projected_kmeans.estimator.sketch_solvers import open_solver
from projected_kmeans.keys import CERTIFICATE, open_stream
from projected_kmeans.results import Labels
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.deadlines import Deadline
from projected_kmeans.search.approach import Approach
from projected_kmeans.search.levels import search_original, search_sketch
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.reduction import Reduced
from projected_kmeans.search.settings import Settings, list_proofs
from projected_kmeans.search.settling import settle_labels

# A clustering has not gained if it lowers the inertia by less than this share. After so many
# further clusterings in a row without a gain, there are no more.
MIN_GAIN, PATIENCE = 1e-6, 3
MAX_CLUSTERINGS = 20


# The most rows of the solver "sdp", whose matrices have as many rows and columns.
MAX_SDP_ROWS = MAX_PART_ROWS


def check_proofs(settings: Settings) -> None:
    """Raise one sentence if no fit can be asked for such a proof."""
    check_certificate(settings.certificate, settings.certificate_time)
    if settings.guarantee is not None:
        check_guarantee(settings.guarantee)


def check_proof_size(n_samples: int) -> None:
    """Raise one sentence if there are too many rows for the solver "sdp"."""
    if n_samples > MAX_SDP_ROWS:
        raise ValueError(
            f'solver="sdp" takes at most {MAX_SDP_ROWS} rows, and X has {n_samples}; '
            'use solver="auto"'
        )


def certify_partition(
    settings: Settings,
    recipe: Recipe,
    approach: Approach,
    reduced: Reduced,
    found: Finished,
    run: Run,
) -> Finished:
    """Prove how far the inertia is from the lowest possible; settings must ask for a proof."""
    methods = list_proofs(settings)
    if run.monitor.stopped:
        return found
    proving = _Proving(settings, recipe, approach, reduced, found, run)
    for method in methods:
        proving.prove(method)
        if settings.guarantee is not None:
            proving.cluster_again(1 if method != methods[-1] else MAX_CLUSTERINGS)
    return proving.conclude()


class _Proving:
    """The best clustering and the best bound so far."""

    def __init__(
        self,
        settings: Settings,
        recipe: Recipe,
        approach: Approach,
        reduced: Reduced,
        found: Finished,
        run: Run,
    ) -> None:
        self._settings, self._recipe, self._reduced, self._run = settings, recipe, reduced, run
        self._approach = approach
        self._best = found
        self._deadline = Deadline(settings.certificate_time, run.monitor.is_over)
        self._goal = max(GOAL, settings.guarantee or 0.0)
        self._n_clusterings = 0
        self._bound: LowerBound | None = None

    def prove(self, method: str) -> None:
        """Look for a better bound, and take better labels if the proof finds any."""
        if self._bound is not None and (self._is_met() or self._deadline.is_over):
            return
        original, best = self._reduced.original, self._best.polished
        rows, left = original.source.select(), self._deadline.seconds_left
        bound = bound_inertia(
            rows,
            original.weights,
            self._recipe.n_clusters,
            effort=EFFORTS[method],
            key=self._recipe.key,
            monitor=self._run.monitor,
            labels=np.asarray(best.labels),
            inertia=best.inertia + best.inertia_error,
            goal=self._goal,
            time_limit=None if math.isinf(left) else left,
            n_threads=self._recipe.n_threads,
            memory=self._recipe.memory.left_bytes,
        )
        if original.spherical:
            bound = to_unit_centers(bound, rows, original.weights)
        free = self._recipe.limits is None  # a proof does not know of limits of cluster sizes
        if bound.better_labels is not None and free and self._settings.solver in ("auto", "sdp"):
            self._take_labels(bound.better_labels)
            bound = replace(bound, better_labels=None)
        self._bound = bound if self._bound is None else _join(self._bound, bound)

    def cluster_again(self, n_times: int) -> None:
        """Cluster the sketch from other first centers, while that gains anything."""
        n_vain = 0
        for _ in range(n_times):
            is_over = self._is_met() or self._deadline.is_over or n_vain == PATIENCE
            if is_over or self._n_clusterings == MAX_CLUSTERINGS or not self._draws_centers():
                return
            self._n_clusterings += 1
            n_vain = 0 if self._take(self._cluster()) else n_vain + 1

    def conclude(self) -> Finished:
        """Return the best clustering with what is proven about it."""
        assert self._bound is not None
        best = self._best.polished
        certificate = Certificate.of(best.inertia, best.inertia_error, self._bound)
        certificate = replace(certificate, of_any_size=self._recipe.limits is not None)
        if self._settings.guarantee is not None:
            why = "time" if self._deadline.is_over else "no gain"
            certificate = certificate.judge(self._settings.guarantee, why)
        return replace(self._best, certificate=certificate)

    def _is_met(self) -> bool:
        """Return whether the bound and the clustering are as near as was asked for."""
        best = self._best.polished
        known = 0.0 if self._bound is None else self._bound.value
        return best.inertia + best.inertia_error <= self._goal * known

    def _draws_centers(self) -> bool:
        """Return whether another key gives other first centers."""
        return isinstance(self._recipe.init, str) or callable(self._recipe.init)

    def _cluster(self) -> Finished:
        stream = open_stream(self._recipe.key, CERTIFICATE, self._n_clusterings)
        recipe = replace(self._recipe, key=int(stream.integers(2**63)))
        recipe = replace(recipe, solve=open_solver(self._settings, recipe))
        run = Run(self._run.monitor)  # a checkpoint knows one clustering only
        original, sketch = self._reduced
        sketched = search_sketch(recipe, self._approach, original, sketch, run)
        return Finished(*search_original(recipe, self._approach, original, sketch, sketched, run))

    def _take_labels(self, labels: Labels) -> None:
        """Take the clustering that a proof has found, if it is better with as many clusters."""
        if len(np.unique(labels)) != self._recipe.n_clusters:
            return
        original = self._reduced.original
        found = settle_labels(original, polish(original, describe(original, labels)))
        self._take(replace(self._best, polished=found))

    def _take(self, found: Finished) -> bool:
        """Keep a clustering if it is better; return whether it gains enough to go on."""
        before = self._best.polished.inertia
        if found.polished.inertia < before:
            self._best = found
        return found.polished.inertia < (1 - MIN_GAIN) * before


def _join(one: LowerBound, other: LowerBound) -> LowerBound:
    """Return the better of two bounds, a certain one first, with the time and values of both."""
    best = max(one, other, key=lambda bound: (bound.certain, bound.value))
    values = {
        name: max(one.values.get(name, 0.0), other.values.get(name, 0.0))
        for name in {**one.values, **other.values}
    }
    largest = best.value if best.certain else math.inf
    trace = join_traces(one.trace, other.trace, one.seconds, largest)
    return replace(best, seconds=one.seconds + other.seconds, values=values, trace=trace)
