"""CERTIFY: prove how near a clustering is to the best one, and take a better one where one shows.

Without a guarantee there is one proof. With one, clusterings and proofs take turns, and what costs
less comes first: the quick proof, another clustering, the long proof, further clusterings. Each
proof starts from the best labels so far, and each bound holds for all clusterings, so that the best
bound and the best clustering of all rounds count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from projected_kmeans.certificates.bound_trace import join_traces
from projected_kmeans.certificates.certificate import Certificate, LowerBound
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.prover import EFFORTS
from projected_kmeans.certificates.semidefinite.primal_rounding import describe, polish
from projected_kmeans.certificates.semidefinite.proof_plan import GOAL, MAX_PART_ROWS
from projected_kmeans.certificates.unit_centers import to_unit_centers
from projected_kmeans.checks import check_choice, check_not_negative
from projected_kmeans.choices import CERTIFICATES
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


def check_proofs(settings: Settings) -> None:
    """Raise one sentence if no fit can be asked for such a proof."""
    check_choice("certificate", settings.certificate, (None, *CERTIFICATES))
    if settings.guarantee is None:
        return
    check_not_negative("guarantee", settings.guarantee)
    if settings.guarantee < 1:
        raise ValueError(
            f"guarantee={settings.guarantee:g} is below 1; for 1 % above the minimum inertia use "
            "1.01"
        )


def check_proof_size(n_samples: int) -> None:
    """Raise one sentence if there are too many rows for the solver "sdp"."""
    if n_samples > MAX_PART_ROWS:  # its matrices have as many rows and columns
        raise ValueError(
            f'solver="sdp" takes at most {MAX_PART_ROWS} rows, and X has {n_samples}; '
            'use solver="auto"'
        )


def certify_partition(
    settings: Settings,
    recipe: Recipe,
    approach: Approach,
    reduced: Reduced,
    finished: Finished,
    run: Run,
) -> Finished:
    """Prove how far the inertia is from the lowest possible; settings must ask for a proof."""
    if run.monitor.stopped:
        return finished
    methods = list_proofs(settings)
    deadline = Deadline(run.monitor.seconds_left, run.monitor.is_over)
    proving = _Proving(settings, recipe, approach, reduced, run, finished, deadline)
    for method in methods:
        proving.prove(method)
        if settings.guarantee is not None:
            proving.cluster_again(1 if method != methods[-1] else MAX_CLUSTERINGS)
    return proving.conclude()


@dataclass
class _Proving:
    """The best clustering and the best bound so far."""

    settings: Settings
    recipe: Recipe
    approach: Approach
    reduced: Reduced
    run: Run
    best: Finished
    deadline: Deadline
    bound: LowerBound | None = None
    n_clusterings: int = 0

    def prove(self, method: str) -> None:
        """Look for a better bound, and take better labels if the proof finds any."""
        if self.bound is not None and (self._is_met() or self.deadline.is_over):
            return
        original, best = self.reduced.original, self.best.polished
        rows, left = original.source.select(), self.deadline.seconds_left
        bound = bound_inertia(
            rows,
            original.weights,
            self.recipe.n_clusters,
            effort=EFFORTS[method],
            key=self.recipe.key,
            monitor=self.run.monitor,
            labels=np.asarray(best.labels),
            inertia=best.inertia + best.inertia_error,
            goal=self.goal,
            time_limit=None if math.isinf(left) else left,
            n_threads=self.recipe.n_threads,
            memory=self.recipe.memory.left_bytes,
        )
        if original.spherical:
            bound = to_unit_centers(bound, rows, original.weights)
        free = self.recipe.limits is None  # a proof does not know of limits of cluster sizes
        if bound.better_labels is not None and free and self.settings.solver in ("auto", "sdp"):
            self._take_labels(bound.better_labels)
            bound = replace(bound, better_labels=None)
        self.bound = bound if self.bound is None else _join(self.bound, bound)

    def cluster_again(self, n_times: int) -> None:
        """Cluster the sketch from other first centers, while that gains anything."""
        original, sketch = self.reduced
        if not (isinstance(self.recipe.init, str) or callable(self.recipe.init)):
            return  # another key gives the same first centers
        n_vain = 0
        for _ in range(n_times):
            is_over = self._is_met() or self.deadline.is_over or n_vain == PATIENCE
            if is_over or self.n_clusterings == MAX_CLUSTERINGS:
                return
            self.n_clusterings += 1
            stream = open_stream(self.recipe.key, CERTIFICATE, self.n_clusterings)
            recipe = replace(self.recipe, key=int(stream.integers(2**63)))
            recipe = replace(recipe, solve=open_solver(self.settings, recipe))
            run = Run(self.run.monitor)  # a checkpoint knows one clustering only
            sketched = search_sketch(recipe, self.approach, original, sketch, run)
            again = search_original(recipe, self.approach, original, sketch, sketched, run)
            n_vain = 0 if self._take(Finished(*again)) else n_vain + 1

    def conclude(self) -> Finished:
        """Return the best clustering with what is proven about it."""
        assert self.bound is not None
        best = self.best.polished
        certificate = Certificate.of(best.inertia, best.inertia_error, self.bound)
        certificate = replace(certificate, of_any_size=self.recipe.limits is not None)
        if self.settings.guarantee is not None:
            why = "time" if self.deadline.is_over else "no gain"
            certificate = certificate.judge(self.settings.guarantee, why)
        return replace(self.best, certificate=certificate)

    @property
    def goal(self) -> float:
        """The ratio of inertia to bound at which a proof may end."""
        return max(GOAL, self.settings.guarantee or 0.0)

    def _is_met(self) -> bool:
        """Return whether the bound and the clustering are as near as was asked for."""
        best = self.best.polished
        known = 0.0 if self.bound is None else self.bound.value
        return best.inertia + best.inertia_error <= self.goal * known

    def _take_labels(self, labels: Labels) -> None:
        """Take the clustering that a proof has found, if it is better with as many clusters."""
        if len(np.unique(labels)) != self.recipe.n_clusters:
            return
        original = self.reduced.original
        settled = settle_labels(original, polish(original, describe(original, labels)))
        self._take(replace(self.best, polished=settled))

    def _take(self, finished: Finished) -> bool:
        """Keep a clustering if it is better; return whether it gains enough to go on."""
        before = self.best.polished.inertia
        if finished.polished.inertia < before:
            self.best = finished
        return finished.polished.inertia < (1 - MIN_GAIN) * before


def _join(first: LowerBound, second: LowerBound) -> LowerBound:
    """Return the better of two bounds, a certain one first, with the time and values of both."""
    best = max(first, second, key=lambda bound: (bound.certain, bound.value))
    values = {
        name: max(first.values.get(name, 0.0), second.values.get(name, 0.0))
        for name in {**first.values, **second.values}
    }
    largest = best.value if best.certain else math.inf
    trace = join_traces(first.trace, second.trace, first.seconds, largest)
    return replace(best, seconds=first.seconds + second.seconds, values=values, trace=trace)
