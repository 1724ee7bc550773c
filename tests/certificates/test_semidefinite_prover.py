"""The semidefinite bound is planned by sizes, time and memory, and says why it is skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from projected_kmeans import inertia, kmeans_lower_bound
from projected_kmeans.certificates import semidefinite_prover
from projected_kmeans.certificates.semidefinite import proof_plan
from projected_kmeans.certificates.semidefinite.all_rows import AllRowsProof
from projected_kmeans.certificates.semidefinite_prover import (
    Given,
    SemidefiniteProver,
    cluster_quickly,
)
from projected_kmeans.running.deadlines import Deadline, OutOfTime


def draw_groups(n: int) -> tuple[Any, Any]:
    """Return rows in three groups that overlap a little, and their groups."""
    groups = (np.arange(n) % 3).astype(np.int32)
    return np.random.default_rng(7).normal(size=(n, 2)) + 4 * np.eye(3, 2)[groups], groups


def open_prover(**options: Any) -> SemidefiniteProver:
    """Return a prover for three clusters."""
    settings = {"long": False, "key": 0, "n_threads": 1, "memory": None, "deadline": Deadline()}
    return SemidefiniteProver(3, **(settings | options))


def test_units_are_counted_before_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof reports at most as often as was announced: steps at once, parts otherwise."""
    monkeypatch.setattr(proof_plan, "QUICK_STEPS", 60)
    for n, memory, long in ((120, None, False), (120, 100_000, True), (1200, None, False)):
        rows, groups = draw_groups(n)
        done: list[float] = []
        prover = open_prover(memory=memory, long=long)
        found = prover.prove(Given(rows, None, groups), lambda bound, into=done: into.append(bound))
        assert isinstance(found, AllRowsProof)
        assert 0 < max(done) <= found.bound
        assert (found.part_rows == 0) == (n == 120 and memory is None)
        assert 0 < len(done) <= prover.count_units(rows.shape)


def test_a_long_proof_keeps_what_a_quick_one_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long proof that is stopped in its first steps has the bound of the quick proof in parts."""
    monkeypatch.setattr(proof_plan, "QUICK_STEPS", 60)
    rows, groups = draw_groups(1200)
    quick = open_prover().prove(Given(rows, None, groups), lambda bound: False)
    assert isinstance(quick, AllRowsProof)
    assert quick.part_rows > 0
    done: list[int] = []

    def stop(bound: float) -> bool:
        done.append(1)
        return len(done) > quick.n_parts

    stopped = open_prover(long=True).prove(Given(rows, None, groups), stop)
    assert isinstance(stopped, AllRowsProof)
    assert (stopped.bound, stopped.part_rows) == (quick.bound, quick.part_rows)


def test_labels_are_made_if_none_are_known() -> None:
    """Without labels the bound is close to that with good labels."""
    rows, groups = draw_groups(300)
    own, given = (
        open_prover().prove(Given(rows, None, labels), lambda bound: False)
        for labels in (None, groups)
    )
    assert isinstance(own, AllRowsProof)
    assert isinstance(given, AllRowsProof)
    assert own.bound == pytest.approx(given.bound, rel=1e-2)


def test_reasons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time, too little time, and too much work are told apart."""
    rows, groups = draw_groups(60)
    given = Given(rows, None, groups)
    over = open_prover(deadline=Deadline(0.0)).prove(given, lambda bound: False)
    assert over == "the time was over before it began"
    monkeypatch.setattr(semidefinite_prover, "predict_seconds", lambda size: 1e6)
    slow = open_prover(deadline=Deadline(100)).prove(given, lambda bound: False)
    assert slow == "60 rows and 3 clusters take longer than the 1e+02 s that are left"
    monkeypatch.setattr(semidefinite_prover, "plan_proof", lambda *sizes, **options: None)
    large = open_prover().prove(given, lambda bound: False)
    assert large == '60 rows and 3 clusters would take minutes; use the method "full"'
    assert open_prover().count_units(rows.shape) == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_the_bound_has_a_method_of_its_own(sparse: bool) -> None:
    """method="semidefinite" computes this bound alone, with its part size and the deal's gap."""
    rows, groups = draw_groups(150)
    given = csr_array(rows) if sparse else rows
    bound = kmeans_lower_bound(given, 3, method="semidefinite", labels=groups)
    assert set(bound.values) == {"semidefinite"}
    assert (bound.method, bound.certain, bound.confidence) == ("semidefinite", True, 1.0)
    assert (bound.part_rows, bound.deal_ratio) == (0, 1.0)
    assert (bound.n_rows, bound.n_clusters) == (150, 3)
    best = inertia(rows, groups if bound.better_labels is None else bound.better_labels)
    assert 1 <= best / bound.value < 1.001


def test_subsets_have_no_weights() -> None:
    """The bound of a subset counts each of its rows once, with or without labels."""
    rows, groups = draw_groups(90)
    some = np.arange(0, 90, 2)
    values = [
        open_prover().bound_subset(Given(rows, np.full(90, 7.0), labels), some)
        for labels in (groups, None)
    ]
    assert values[0] == pytest.approx(inertia(rows[some], groups[some]), rel=0.05)
    assert values[1] == pytest.approx(values[0], rel=0.05)
    assert open_prover(deadline=Deadline(0.0)).bound_subset(Given(rows), some) == 0.0


@pytest.mark.parametrize("sparse", [False, True])
def test_groups_are_found(sparse: bool) -> None:
    """Rows in three far groups get the labels of their groups, the same with any threads."""
    groups = np.arange(60) % 3
    rows = np.random.default_rng(0).normal(size=(60, 3)) + 50 * np.eye(3)[groups]
    given = csr_array(rows) if sparse else rows
    for n_threads in (1, 2):
        asked = Given(given, np.ones(60))
        labels = cluster_quickly(asked, 3, key=1, n_threads=n_threads, deadline=Deadline())
        assert len(set(zip(groups, labels.tolist(), strict=True))) == 3


def test_without_time_there_are_no_labels() -> None:
    """A deadline that is over ends the seeding."""
    with pytest.raises(OutOfTime):
        cluster_quickly(Given(np.eye(5)), 2, key=0, n_threads=1, deadline=Deadline(0.0))
