"""How large parts are and how long each is worked on, decided by sizes and by one trial deal.

The clock decides nothing unless there is a time limit, so that a key gives the same proof on every
machine. Seconds here are those of one core of a machine of 2024, predicted from what was measured
on digits (MNIST) with 10 to 64 clusters. Predictions are right within a factor of two.

What a proof misses has three causes. Parts lose by the deal, and what they lose tells how much
their own bounds miss: 3 to 7 times as much. A search that ends early misses the rest, and on rows
with few columns it needs some hundred steps. Steps cost as the square of the rows of a part. So
parts are as small as the deal allows: 300 rows of 10 columns are as good as 2,000, whereas images
need as many rows as there is time for, some 30 rows a cluster at least.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace

from projected_kmeans.certificates.semidefinite.part import PartEffort

# Seconds of a step for each pair of rows, with 10 clusters. Steps with cuts become slower, because
# cuts become more: after 150 steps they take twice as long as at first.
PLAIN_SECONDS = 2.4e-8
CUT_SECONDS = 3e-8
SLOWER_AFTER = 150
# Seconds of the eigenvalues of a check, over the cube of the rows.
CHECK_SECONDS = 1e-10
# A search stops when inertia / bound is at most this; the result is then "proven optimal".
GOAL = 1 + 1e-6
MAX_STEPS = 1000

# The most rows of a part: 240 MB of matrices with cuts.
MAX_PART_ROWS = 2000
# Rows of a part for each cluster, and at least.
ROWS_PER_CLUSTER = 30
MIN_PART_ROWS = 600

# Rows of a part in a trial deal, and the most columns with which a trial costs little.
TRIAL_ROWS, TRIAL_COLUMNS = 300, 96
# Parts are as small as allows a deal to lose this share; a deal loses as (rows of a part)^-1.3.
QUICK_LOSS, LONG_LOSS, LOSS_POWER = 2e-4, 3e-5, 1.3
SMALLEST_PART_ROWS = 200

# A quick proof of up to this many rows treats them as one part, within these seconds, if it can
# make enough steps or if parts would have half of the rows.
QUICK_WHOLE_ROWS, QUICK_WHOLE_SECONDS, ENOUGH_STEPS = 1000, 4.0, 200
# Seconds of a quick proof: for each row (more with more than 20 clusters), at least, at most.
QUICK_ROW_SECONDS, QUICK_MIN_SECONDS, QUICK_MAX_SECONDS = 1e-3, 2.2, 70.0
# Steps of a quick proof in parts at most.
QUICK_STEPS = 300
# Seconds of a long proof of all rows at once, and for each row in parts; more with more clusters.
LONG_WHOLE_SECONDS, LONG_ROW_SECONDS = 40.0, 14e-3
# Fewer steps than this are not worth having cuts.
MIN_CUT_STEPS = 40

# Bytes of matrices for each pair of rows of a part, with and without cuts, the check included.
CUT_BYTES, PLAIN_BYTES = 60, 52
# Copies of the rows of a part in float64 that exist at a time.
ROW_COPIES = 4


@dataclass(frozen=True)
class ProofPlan:
    """How all rows are proven."""

    part_rows: int  # the most rows of a part; 0 proves all rows at once
    effort: PartEffort  # for each part

    def predict_seconds(self, n_rows: int, n_clusters: int) -> float:
        """Return the seconds of all parts on one core."""
        size = min(n_rows, self.part_rows or n_rows)
        return n_rows / size * _predict_part(size, n_clusters, self.effort)

    def shorten(self, n_rows: int, n_clusters: int, seconds: float) -> ProofPlan:
        """Return the plan with fewer steps if it would take longer; with cuts only."""
        size = min(n_rows, self.part_rows or n_rows)
        steps = _count_steps(size, n_clusters, seconds * size / n_rows)
        effort = replace(self.effort, max_steps=min(self.effort.max_steps, steps))
        return replace(self, effort=effort)

    def count_bytes(self, n_rows: int, n_columns: int) -> int:
        """Return the bytes that a part takes."""
        size = min(n_rows, self.part_rows or n_rows)
        pair_bytes = CUT_BYTES if self.effort.cuts else PLAIN_BYTES
        return size * (size * pair_bytes + n_columns * 8 * ROW_COPIES)


def plan_proof(
    n_rows: int, n_clusters: int, *, long: bool, seconds: float = math.inf, loss: float = math.inf
) -> ProofPlan | None:
    """Return the tightest proof that some seconds of one core allow; None if there is none.

    ``long`` goes on until gains end, rather than for some seconds. ``loss`` is what a trial deal
    has lost: its ratio less 1; infinity if none was made.
    """
    small = _smallest_parts(loss, LONG_LOSS if long else QUICK_LOSS)
    if long:
        more = max(1.0, _slower_by(n_clusters))
        whole, limit = more * LONG_WHOLE_SECONDS, more * n_rows * LONG_ROW_SECONDS
        whole_rows, steps = MAX_PART_ROWS, MAX_STEPS
    else:
        whole, limit = QUICK_WHOLE_SECONDS, n_rows * QUICK_ROW_SECONDS * max(1.0, n_clusters / 20)
        limit = min(QUICK_MAX_SECONDS, max(QUICK_MIN_SECONDS, limit))
        whole_rows, steps = QUICK_WHOLE_ROWS, QUICK_STEPS
    if n_rows <= whole_rows:
        at_once = _plan_whole(n_rows, n_clusters, min(seconds, whole))
        if at_once is not None:
            is_enough = at_once.effort.max_steps >= ENOUGH_STEPS
            if long or is_enough or small > n_rows / 2:
                return at_once
    limit = min(seconds, limit)
    parts = ProofPlan(small, PartEffort(True, steps, GOAL, round=False))
    parts = parts.shorten(n_rows, n_clusters, limit)
    least = 2 * MIN_CUT_STEPS if small > MIN_PART_ROWS else MIN_CUT_STEPS
    if parts.effort.max_steps >= least and (long or small <= MIN_PART_ROWS):
        return parts
    return _plan_parts(n_rows, n_clusters, limit, small)


def _smallest_parts(loss: float, allowed: float) -> int:
    """Return the rows of parts whose deal would lose what is allowed."""
    if not math.isfinite(loss):
        return MAX_PART_ROWS
    wanted = TRIAL_ROWS * (max(loss, 1e-12) / allowed) ** (1 / LOSS_POWER)
    return int(min(MAX_PART_ROWS, max(SMALLEST_PART_ROWS, wanted)))


def fit_memory(
    plan: ProofPlan, shape: tuple[int, int], n_threads: int, memory: int | None
) -> tuple[ProofPlan, int]:
    """Return the plan and the number of threads that a number of bytes allows; None is no limit.

    Fewer threads give the same proof, so that parts become smaller only if one thread alone would
    need more.
    """
    if memory is None:
        return plan, n_threads
    while (needed := plan.count_bytes(*shape)) > memory:
        size = min(shape[0], plan.part_rows or shape[0])
        if size == 1:
            break
        smaller = min(size - 1, math.ceil(size * math.sqrt(memory / needed)))
        plan = replace(plan, part_rows=max(1, smaller))
    return plan, max(1, min(n_threads, memory // plan.count_bytes(*shape)))


def _plan_whole(n_rows: int, n_clusters: int, seconds: float) -> ProofPlan | None:
    """Return a proof of all rows at once: with cuts if there is time for enough steps."""
    steps = _count_steps(n_rows, n_clusters, seconds)
    if steps >= MIN_CUT_STEPS:
        return ProofPlan(0, PartEffort(True, steps, GOAL, round=True))
    plain = ProofPlan(0, PartEffort(False, 30, GOAL, round=True))
    return plain if plain.predict_seconds(n_rows, n_clusters) <= seconds else None


def _plan_parts(n_rows: int, n_clusters: int, seconds: float, small: int) -> ProofPlan | None:
    """Return the largest parts within some seconds, for the tightest search that allows enough."""
    enough = min(MAX_PART_ROWS, max(MIN_PART_ROWS, ROWS_PER_CLUSTER * n_clusters), small)
    searches = [
        (True, 50, enough),
        (True, MIN_CUT_STEPS, enough),
        (False, 30, enough),
        (False, 20, enough),
        (False, 20, enough // 2),
        (False, 12, enough // 2),
    ]
    for cuts, steps, least in searches:
        effort = PartEffort(cuts, steps, GOAL, round=False)
        size = _largest_part(n_rows, n_clusters, effort, seconds)
        if size >= least or size >= n_rows:
            return ProofPlan(min(size, MAX_PART_ROWS), effort)
    return None


def _largest_part(n_rows: int, n_clusters: int, effort: PartEffort, seconds: float) -> int:
    """Return the largest number of rows for which all parts are within some seconds."""
    sizes = range(1, min(n_rows, MAX_PART_ROWS) + 1)
    return bisect_right(
        sizes, seconds, key=lambda size: n_rows / size * _predict_part(size, n_clusters, effort)
    )


def _count_steps(n_rows: int, n_clusters: int, seconds: float) -> int:
    """Return how many steps with cuts a part may make within some seconds, at most MAX_STEPS."""
    return bisect_right(
        range(1, MAX_STEPS + 1),
        seconds,
        key=lambda steps: _predict_part(n_rows, n_clusters, PartEffort(True, steps)),
    )


def _predict_part(n_rows: int, n_clusters: int, effort: PartEffort) -> float:
    """Return the seconds of one part."""
    steps = effort.max_steps
    step = CUT_SECONDS * (1 + steps / SLOWER_AFTER) if effort.cuts else PLAIN_SECONDS
    check = 0.0 if effort.cuts else CHECK_SECONDS * n_rows**3
    # Beyond this many clusters all eigenpairs of the part are computed.
    slower = _slower_by(min(n_clusters, n_rows / 2.75))
    return step * steps * n_rows**2 * slower + check


def _slower_by(n_clusters: float) -> float:
    """Return the time of a step over that of a step with 10 clusters."""
    return 0.2 + 0.08 * n_clusters
