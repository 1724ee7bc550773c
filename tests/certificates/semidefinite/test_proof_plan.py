"""Plans follow from sizes, and obey limits on time and memory."""

from __future__ import annotations

import pytest

from projected_kmeans.certificates.semidefinite.part import PartEffort
from projected_kmeans.certificates.semidefinite.proof_plan import ProofPlan, fit_memory, plan_proof

SIZES = [(75, 4), (400, 40), (1797, 10), (4177, 2), (10_000, 10), (60_000, 10), (40_000, 30)]


@pytest.mark.parametrize(("n_rows", "n_clusters"), SIZES)
def test_a_long_proof_works_at_least_as_long_as_a_quick_one(n_rows: int, n_clusters: int) -> None:
    """Long proofs have parts as large and as many steps as quick ones, and some more of either."""
    quick, long = (plan_proof(n_rows, n_clusters, long=one) for one in (False, True))
    assert quick is not None
    assert long is not None
    assert quick.predict_seconds(n_rows, n_clusters) <= 70
    sizes = [min(n_rows, plan.part_rows or n_rows) for plan in (quick, long)]
    assert sizes[0] <= sizes[1]
    assert quick.effort.max_steps <= long.effort.max_steps
    assert long.effort.cuts


def test_few_rows_are_proven_at_once() -> None:
    """Up to 1,000 rows are one part in a quick proof, up to 2,000 in a long one."""
    for n_rows, long in ((1000, False), (2000, True)):
        whole, parts = (plan_proof(n, 10, long=long) for n in (n_rows, 2 * n_rows))
        assert whole is not None
        assert parts is not None
        assert (whole.part_rows, whole.effort.round) == (0, True)
        assert (parts.part_rows <= n_rows, parts.effort.round) == (True, False)


def test_a_deal_that_loses_little_allows_small_parts() -> None:
    """The less a trial deal loses, the smaller are parts, and the more steps they make."""
    plans = [plan_proof(4000, 4, long=False, loss=loss) for loss in (1e-5, 2e-4, 4e-4, 1e-2)]
    sizes = [plan.part_rows for plan in plans if plan is not None]
    steps = [plan.effort.max_steps for plan in plans if plan is not None]
    assert sizes[0] == 200
    assert sizes[1] == 300
    assert sizes == sorted(sizes)
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 2 * steps[-1]


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("seconds", [0.5, 3.0, 20.0, 100.0])
def test_a_time_limit_is_obeyed(long: bool, seconds: float) -> None:
    """No plan is predicted to take longer than the limit; where none fits, there is none."""
    for n_rows, n_clusters in SIZES:
        plan = plan_proof(n_rows, n_clusters, long=long, seconds=seconds)
        if plan is not None:
            assert plan.predict_seconds(n_rows, n_clusters) <= 1.01 * seconds
    assert plan_proof(60_000, 10, long=long, seconds=0.5) is None


def test_too_much_work_for_a_quick_proof() -> None:
    """A quick proof refuses rows that would take minutes; a long one never does."""
    assert plan_proof(10**7, 10, long=False) is None
    assert plan_proof(60_000, 64, long=False) is None
    assert plan_proof(10**7, 64, long=True) is not None


@pytest.mark.parametrize("memory", [10**5, 10**6, 10**7, 10**8])
def test_memory_is_obeyed(memory: int) -> None:
    """Parts of all threads take at most the bytes that are allowed."""
    plan = ProofPlan(0, PartEffort(cuts=True, max_steps=10))
    fitted, n_threads = fit_memory(plan, (5000, 20), 4, memory)
    assert n_threads * fitted.count_bytes(5000, 20) <= memory
    assert fitted.part_rows > 0


def test_fewer_threads_come_before_smaller_parts() -> None:
    """If one thread has enough memory, the plan stays, so that the proof does, too."""
    plan = ProofPlan(500, PartEffort(cuts=True, max_steps=10))
    needed = plan.count_bytes(5000, 20)
    assert fit_memory(plan, (5000, 20), 4, 2 * needed) == (plan, 2)
    assert fit_memory(plan, (5000, 20), 4, None) == (plan, 4)
    smaller, n_threads = fit_memory(plan, (5000, 20), 4, needed - 1)
    assert (smaller.part_rows < 500, n_threads) == (True, 1)
    assert fit_memory(plan, (5000, 20), 4, 1)[0].part_rows == 1


def test_plans_of_some_sizes() -> None:
    """1,797 rows are proven quickly in parts; ten million would take minutes."""
    quick = plan_proof(1797, 10, long=False)
    assert quick == ProofPlan(612, PartEffort(cuts=True, max_steps=50, goal=1.000001, round=False))
    assert plan_proof(10**7, 10, long=False) is None
