"""Between which two numbers the smallest possible inertia lies, for every number of clusters.

Proves bounds for the rows themselves, not for their sketch, where that takes seconds. How much work
is done follows from sizes alone, so that a key gives the same intervals on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.certificates.semidefinite.all_rows import WEAK_RATIO, bound_by_neighbours
from projected_kmeans.certificates.semidefinite.part import Instance, PartEffort, prove_part
from projected_kmeans.certificates.semidefinite.proof_plan import GOAL, ProofPlan
from projected_kmeans.certificates.semidefinite.side_by_side import work_side_by_side
from projected_kmeans.results import Floats, Labels
from projected_kmeans.running.deadlines import Deadline

# The most rows and numbers of rows for which anything is proven.
MAX_ROWS = 1000
MAX_ENTRIES = 2**24

# What may be done for every number of clusters, the tightest first. The first that is predicted to
# take at most `TOTAL_SECONDS` of one core for all numbers together is done.
EFFORTS = (
    PartEffort(cuts=True, max_steps=250, goal=GOAL),
    PartEffort(cuts=True, max_steps=90, goal=GOAL),
    PartEffort(cuts=True, max_steps=50, goal=GOAL),
    PartEffort(cuts=False, max_steps=30, goal=GOAL),
)
TOTAL_SECONDS = 8.0
# Plans are made for large parts. Few rows take about twice as long, and a millisecond a step.
SLOWER_BY, STEP_SECONDS = 2.0, 1e-3


class Intervals(NamedTuple):
    """The proven intervals, one for each number of clusters; neither end rises with the number."""

    bound: Floats  # no clustering of the rows into this number of clusters has a smaller inertia
    # A clustering of the rows into this number of clusters that has at most this inertia is known.
    inertia: Floats


def choose_effort(shape: tuple[int, int], counts: Sequence[int]) -> PartEffort | None:
    """Return what is done for each number of clusters; None if all would take too long."""
    n_rows, n_columns = shape
    if n_rows > MAX_ROWS or n_rows * n_columns > MAX_ENTRIES:
        return None
    for effort in EFFORTS:
        plan = ProofPlan(0, effort)
        seconds = SLOWER_BY * sum(plan.predict_seconds(n_rows, count) for count in counts)
        if seconds + STEP_SECONDS * effort.max_steps * len(counts) <= TOTAL_SECONDS:
            return effort
    return None


def prove_intervals(
    source: BlockSource,
    weights: Floats | None,
    clusterings: Sequence[tuple[int, Labels]],
    effort: PartEffort,
    *,
    n_threads: int = 0,
    on_count: Callable[[], object] | None = None,
) -> Intervals:
    """Return the proven intervals.

    The clusterings are into ascending numbers of clusters or fewer. ``on_count`` is called after
    every number, in this thread.
    """
    kept = np.ones(source.shape[0], dtype=bool) if weights is None else weights > 0
    rows, weights = source.select()[kept], None if weights is None else weights[kept]

    def prove(clustering: tuple[int, Labels], deadline: Deadline) -> tuple[float, float]:
        count, labels = clustering
        return _prove(Instance(rows, count, labels[kept], weights), effort, deadline)

    def note(proven: tuple[float, float]) -> None:
        if on_count is not None:
            on_count()

    proven = work_side_by_side(
        clusterings,
        prove,
        n_threads=_native.max_threads(n_threads),
        deadline=Deadline(),
        on_item=note,
    )
    bounds, inertias = np.array(proven).T
    # A clustering into fewer clusters is also one into more, so that a bound for more clusters
    # holds for fewer, and an inertia of fewer clusters can be had with more.
    bounds = np.maximum.accumulate(bounds[::-1])[::-1]
    return Intervals(bounds, np.minimum.accumulate(inertias))


def _prove(instance: Instance, effort: PartEffort, deadline: Deadline) -> tuple[float, float]:
    """Return a bound for the rows, and the largest value that the best known inertia can have."""
    if instance.n_clusters >= instance.rows.shape[0]:
        return 0.0, 0.0
    proof = prove_part(instance, effort, deadline)
    most = proof.inertia
    if proof.inertia_error > 0:
        most = math.nextafter(proof.inertia + proof.inertia_error, math.inf)
    bound = proof.bound
    if proof.inertia > WEAK_RATIO * bound:
        bound = max(bound, bound_by_neighbours(instance, deadline))
    return bound, most
