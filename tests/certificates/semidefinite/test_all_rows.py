"""Bounds of parts add up to a certain bound for all rows, wherever the work stops."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from projected_kmeans.certificates.semidefinite import all_rows
from projected_kmeans.certificates.semidefinite.all_rows import AllRowsProof, prove_all_rows
from projected_kmeans.certificates.semidefinite.part import Instance, PartEffort
from projected_kmeans.certificates.semidefinite.proof_plan import ProofPlan
from projected_kmeans.running import deadlines
from projected_kmeans.running.deadlines import Deadline
from tests.support.optima import find_optimum
from tests.support.parts import draw_part

PLAIN = PartEffort(cuts=False, max_steps=30, round=False)
CUTS = PartEffort(cuts=True, max_steps=60, round=False)


def draw_groups(n: int = 240, d: int = 3) -> Instance:
    """Return rows in three groups that overlap a little, with their groups as labels."""
    stream = np.random.default_rng(7)
    groups = (np.arange(n) % 3).astype(np.int32)
    return Instance(stream.normal(size=(n, d)) + 4 * np.eye(3, d)[groups], 3, groups)


def draw_instance(seed: int, max_rows: int = 9) -> tuple[Instance, NDArray[Any]]:
    """Return a few rows with labels that are random or the best, and the rows as an array."""
    part = draw_part(seed, max_rows)
    stream = np.random.default_rng(seed)
    labels = stream.integers(part.n_clusters, size=len(part.rows)).astype(np.int32)
    return Instance(part.given, part.n_clusters, labels, part.weights), part.rows


@pytest.mark.parametrize("seed", range(28))  # all kinds of parts, efforts and sizes
def test_the_sum_of_parts_is_at_most_the_minimum(seed: int) -> None:
    """With parts of two to five rows, the sum of bounds is at most the optimum of all rows."""
    instance, rows = draw_instance(seed)
    labels, optimum = find_optimum(rows, instance.n_clusters, instance.weights)
    for given in (instance, replace(instance, labels=labels)):
        effort = CUTS if seed % 2 else PLAIN
        found = prove_all_rows(given, ProofPlan(2 + seed % 4, effort), key=seed)
        assert 0 <= Fraction(found.bound) <= optimum


class Countdown:
    """Says that the time is over after it was asked a number of times."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> bool:
        """Count a question, and answer it."""
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("seed", range(7))  # all kinds of parts
def test_a_sum_is_certain_wherever_it_stops(seed: int) -> None:
    """Stopped at any question about the time, the sum is at most the optimum of all rows."""
    instance, rows = draw_instance(seed)
    optimum = find_optimum(rows, instance.n_clusters, instance.weights)[1]
    for left in np.random.default_rng(seed).integers(0, 250, 12):
        deadline = Deadline(None, Countdown(int(left)))
        found = prove_all_rows(instance, ProofPlan(3, PLAIN), deadline=deadline)
        assert 0 <= Fraction(found.bound) <= optimum


def test_parts_that_were_not_reached_count_with_cheap_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stop after few of twelve parts counts the others' spectral bound, or 0 if it takes long."""
    instance, plan = draw_groups(), ProofPlan(20, PLAIN)
    whole = prove_all_rows(instance, plan)
    stopped = prove_all_rows(instance, plan, on_unit=lambda bound: True)
    assert (whole.n_parts, whole.n_reached) == (12, 12)
    assert stopped.n_reached < 6
    assert stopped.ratio == np.inf
    monkeypatch.setattr(all_rows, "MAX_REST_WORK", 0)
    alone = prove_all_rows(instance, plan, on_unit=lambda bound: True)
    assert 0 < alone.bound < 0.5 * whole.bound
    assert 0.3 * whole.bound < stopped.bound < whole.bound


@pytest.mark.parametrize("part_rows", [0, 48])
def test_bounds_are_told_while_they_grow(part_rows: int) -> None:
    """After every part the sum so far is told, and at once the best check so far; none exceeds."""
    told: list[float] = []
    found = prove_all_rows(draw_groups(), ProofPlan(part_rows, CUTS), on_unit=told.append)
    assert told == sorted(told)
    if part_rows:
        assert len(told) == found.n_parts == 5
        assert len(set(told)) == 5
        assert told[-1] == found.bound
    else:
        assert told[0] == 0
        assert 0 < told[-1] <= found.bound


def test_without_time_nothing_is_proven() -> None:
    """A deadline that is over gives the bound 0, in parts and at once."""
    instance = draw_groups()
    for part_rows in (0, 20):
        found = prove_all_rows(instance, ProofPlan(part_rows, PLAIN), deadline=Deadline(0.0))
        assert (found.bound, found.ratio, found.n_reached) == (0.0, np.inf, 0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [False, True])
def test_threads_do_not_change_a_bit(sparse: bool, weighted: bool, cuts: bool) -> None:
    """One thread and two give the same bits."""
    instance = draw_groups()
    if sparse:
        instance = replace(instance, rows=csr_array(instance.rows))
    if weighted:
        weights = np.random.default_rng(0).uniform(0.5, 2, 240)
        instance = replace(instance, weights=weights)
    plan = ProofPlan(50, CUTS if cuts else PLAIN)
    one, two = (prove_all_rows(instance, plan, key=3, n_threads=n) for n in (1, 2))
    assert one == two
    assert one.bound > 0


def test_a_proof_says_how_it_was_made() -> None:
    """Part size, the gap of the deal and the ratio follow from each other."""
    instance = draw_groups()
    at_once = prove_all_rows(instance, ProofPlan(0, CUTS))
    assert (at_once.part_rows, at_once.deal_ratio, at_once.n_parts) == (0, 1.0, 1)
    in_parts = prove_all_rows(instance, ProofPlan(50, CUTS))
    assert (in_parts.part_rows, in_parts.n_parts) == (48, 5)
    assert 1 < in_parts.deal_ratio < in_parts.ratio < 1.2
    assert in_parts.bound < at_once.bound
    assert prove_all_rows(instance, ProofPlan(240, CUTS)) == at_once


def test_better_labels_are_offered() -> None:
    """All rows at once lead from random labels to better ones; the best labels stay."""
    instance = draw_groups(90)
    plan = ProofPlan(0, PartEffort(cuts=True, max_steps=200))
    labels = np.random.default_rng(0).integers(3, size=90).astype(np.int32)
    found = prove_all_rows(replace(instance, labels=labels), plan)
    assert found.better_labels is not None
    assert prove_all_rows(replace(instance, labels=found.better_labels), plan).better_labels is None
    renamed = (found.better_labels + 1) % 3
    assert prove_all_rows(replace(instance, labels=renamed), plan).better_labels is None


def test_weak_parts_are_bounded_by_neighbours() -> None:
    """Where a short search proves little, parts count with their neighbour bounds."""
    stream = np.random.default_rng(0)
    rows = np.repeat(30 * stream.normal(size=(40, 2)), 6, axis=0) + stream.normal(size=(240, 2))
    instance = Instance(rows, 40, np.repeat(np.arange(40), 6).astype(np.int32))
    plan = ProofPlan(120, PartEffort(cuts=False, max_steps=1, round=False))
    found = prove_all_rows(instance, plan)
    only = sum_of_searches(instance, plan)
    assert found.bound > only
    assert found == prove_all_rows(instance, plan, n_threads=2)


def sum_of_searches(instance: Instance, plan: ProofPlan) -> float:
    """Return the bound without neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_rows, "bound_by_neighbours", lambda part, deadline: 0.0)
        found: AllRowsProof = prove_all_rows(instance, plan)
    return found.bound


def test_a_time_limit_is_shared_by_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit that is too short for all parts, the others have quicker bounds.

    The clock advances by 1 ms whenever it is read, so that the result depends on no machine.
    """
    clock = SimpleNamespace(perf_counter=count(step=1e-3).__next__)
    monkeypatch.setattr(deadlines, "time", clock)
    instance = draw_groups(600)
    endless = PartEffort(cuts=True, max_steps=100_000, goal=1.0, round=False)
    found = prove_all_rows(instance, ProofPlan(100, endless), deadline=Deadline(2.0))
    assert found.n_parts == 6
    assert 0 < found.n_reached < 6
    assert found.ratio < 1.2


def test_some_rows_are_taken_with_all_that_belongs_to_them() -> None:
    """Rows, labels and weights of the chosen rows stay together."""
    labels = np.array([0, 0, 1, 1], np.int32)
    instance = Instance(np.arange(4.0)[:, None], 2, labels, np.arange(4.0))
    some = instance.take(np.array([1, 3]))
    assert some.rows.ravel().tolist() == [1, 3]
    assert (some.labels.tolist(), some.weights.tolist()) == ([0, 1], [1, 3])
