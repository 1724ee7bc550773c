"""A certain bound for all rows, from the bounds of parts.

Leaving rows out of a clustering cannot raise its inertia. So the minimum inertia of all rows is at
least the sum of the minimum inertias of parts that have no row in common, and the sum of lower
bounds of the parts is a lower bound for all rows. Parts that were not reached count with the
spectral bound of all their rows together if it is cheap, and else with 0, so that the sum is
certain whenever the work stops.

If the search proves little for the first part, as with few rows a cluster, the neighbour bound is
computed for it, too. If that is higher, it is computed for all parts, and the higher one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from projected_kmeans.certificates.neighbour_bound import measure_neighbours
from projected_kmeans.certificates.proof_rows import Indices, prepare_rows
from projected_kmeans.certificates.semidefinite.dealing import Deal, deal_rows
from projected_kmeans.certificates.semidefinite.part import (
    Instance,
    OnUnit,
    PartEffort,
    PartProof,
    prove_part,
)
from projected_kmeans.certificates.semidefinite.proof_plan import GOAL, ProofPlan
from projected_kmeans.certificates.semidefinite.side_by_side import work_side_by_side
from projected_kmeans.certificates.spectral_bound import spectral_bound
from projected_kmeans.results import Labels
from projected_kmeans.running.deadlines import Deadline, OutOfTime

# Tightening closes less than this share of the gap of the neighbour bound.
TIGHTENING_SHARE = 0.5

# A ratio above this is weak: the neighbour bound may be better.
WEAK_RATIO = 1.1

# The spectral bound of rows that were not reached is computed if it takes at most this many
# multiplications (about half a second) and a matrix of at most this many rows.
MAX_REST_WORK = 2**34
MAX_REST_SIZE = 1024


@dataclass(frozen=True)
class AllRowsProof:
    """What was proven for all rows."""

    # No clustering of the rows as given into at most k clusters has a smaller inertia.
    bound: float
    # The inertia of the best labels known over the bound, as computed; infinity if it is unknown.
    ratio: float
    part_rows: int = 0  # the most rows of a part; 0 if all rows were proven at once
    # The smallest ratio that the parts could have proven for the labels that were given.
    deal_ratio: float = 1.0
    # A clustering with a smaller inertia than the one that was given, if one was found.
    better_labels: Labels | None = None
    n_parts: int = 1
    n_reached: int = 0  # parts that were worked on until their own end

    def has_closed_more(self, other: float) -> bool:
        """Return whether tightening the neighbour bound ``other`` cannot reach this bound."""
        if not math.isfinite(self.ratio):
            return False
        inertia = self.ratio * self.bound
        return inertia - self.bound <= TIGHTENING_SHARE * (inertia - other)


def prove_all_rows(
    instance: Instance,
    plan: ProofPlan,
    *,
    goal: float = GOAL,
    key: int = 0,
    n_threads: int = 1,
    deadline: Deadline | None = None,
    on_unit: OnUnit | None = None,
) -> AllRowsProof:
    """Return a certain bound for all rows; the same bits for any number of threads.

    The search ends when inertia / bound of all rows is at most the goal. The key fixes the deal. If
    the deadline has a limit, each part gets its share of the time that is left. ``on_unit`` is
    called in this thread with the bound for all rows: after every part, or after every step if all
    rows are proven at once.
    """
    deadline = Deadline() if deadline is None else deadline
    n_rows = instance.rows.shape[0]
    if plan.part_rows == 0 or n_rows <= plan.part_rows:
        return _prove_at_once(instance, replace(plan.effort, goal=goal), deadline, on_unit)
    n_parts = -(-n_rows // plan.part_rows)
    part_rows = -(-n_rows // n_parts)
    try:
        deal = deal_rows(instance, n_parts, key=key, n_threads=n_threads, check=deadline.check)
    except OutOfTime:
        return AllRowsProof(0.0, math.inf, part_rows, n_parts=n_parts)
    # The inertias of the parts sum up to that of all rows over the ratio of the deal.
    effort = replace(plan.effort, goal=max(GOAL, goal / deal.ratio))
    reached: list[float] = []

    def prove(part: Indices, own: Deadline) -> PartProof:
        return prove_part(instance.take(part), effort, own)

    def add_part(proof: PartProof) -> bool:
        reached.append(proof.bound)
        return on_unit is not None and bool(on_unit(_add_up(reached)))

    proofs = work_side_by_side(
        deal.parts, prove, n_threads=n_threads, deadline=deadline, on_item=add_part
    )
    bounds = _raise_bounds(instance, deal.parts, proofs, n_threads, deadline)
    return _sum_up(instance, deal, proofs, bounds, part_rows)


def _prove_at_once(
    instance: Instance, effort: PartEffort, deadline: Deadline, on_unit: OnUnit | None
) -> AllRowsProof:
    """Prove a bound for all rows as one part."""
    proof = prove_part(instance, effort, deadline, on_unit)
    return AllRowsProof(
        proof.bound,
        proof.inertia / proof.bound if proof.bound > 0 else math.inf,
        better_labels=None if _is_same(proof.labels, instance.labels) else proof.labels,
        n_reached=int(proof.has_ended),
    )


def _is_same(labels: Labels, others: Labels) -> bool:
    """Return whether two clusterings have the same clusters, whatever their numbers."""
    n_pairs = np.unique(np.stack([labels, others]), axis=1).shape[1]
    return bool(n_pairs == len(np.unique(labels)) == len(np.unique(others)))


def _raise_bounds(
    instance: Instance,
    parts: Sequence[Indices],
    proofs: Sequence[PartProof | None],
    n_threads: int,
    deadline: Deadline,
) -> list[float]:
    """Return the best bound of each part, where the first part decides what is tried."""
    bounds = [0.0 if proof is None else proof.bound for proof in proofs]
    first = proofs[0]
    if first is None or first.inertia <= WEAK_RATIO * first.bound or deadline.is_over:
        return bounds
    if not bound_by_neighbours(instance.take(parts[0]), deadline) > first.bound:
        return bounds

    def work(part: Indices, own: Deadline) -> float:
        return bound_by_neighbours(instance.take(part), own)

    others = work_side_by_side(parts, work, n_threads=n_threads, deadline=deadline)
    return [max(bound, other or 0.0) for bound, other in zip(bounds, others, strict=True)]


def bound_by_neighbours(part: Instance, deadline: Deadline) -> float:
    """Return the neighbour bound of a part; 0 if the time is over."""
    try:
        rows = prepare_rows(part.rows, part.weights, deadline.check)
        neighbours = measure_neighbours(rows, part.n_clusters, deadline.check)
        dual = neighbours.maximise(neighbours.start(rows.squares))
    except OutOfTime:
        return 0.0
    return rows.to_original(neighbours.prove(dual))


def _sum_up(
    instance: Instance,
    deal: Deal,
    proofs: Sequence[PartProof | None],
    bounds: Sequence[float],
    part_rows: int,
) -> AllRowsProof:
    n_reached = sum(proof is not None and proof.has_ended for proof in proofs)
    missed = [part for part, bound in zip(deal.parts, bounds, strict=True) if not bound > 0]
    is_cut = n_reached < len(proofs)
    rest = _bound_rest(instance, np.concatenate(missed)) if missed and is_cut else 0.0
    bound = _add_up([*bounds, rest])
    inertia = math.fsum(math.inf if proof is None else proof.inertia for proof in proofs)
    ratio = inertia * deal.ratio / bound if bound > 0 else math.inf
    return AllRowsProof(
        bound, ratio, part_rows, deal.ratio, n_parts=len(proofs), n_reached=n_reached
    )


def _add_up(bounds: Sequence[float]) -> float:
    """Return the sum of the bounds of parts, rounded down."""
    return max(0.0, math.nextafter(math.fsum(bounds), 0.0))


def _bound_rest(instance: Instance, indices: Indices) -> float:
    """Return the spectral bound of rows that were not reached, or 0 if it would take long."""
    n_rows, n_columns = len(indices), instance.rows.shape[1]
    size = min(n_rows, n_columns)
    if size > MAX_REST_SIZE or n_rows * n_columns * size > MAX_REST_WORK:
        return 0.0
    rest = instance.take(indices)
    rows = prepare_rows(rest.rows, rest.weights)
    return rows.to_original(spectral_bound(rows, rest.n_clusters))
