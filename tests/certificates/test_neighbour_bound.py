"""Neighbour and tightened bound: any dual gives a proof, also from an unfinished search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from projected_kmeans.certificates import neighbour_bound
from projected_kmeans.certificates.neighbour_bound import Neighbours, measure_neighbours, tighten
from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.running.deadlines import OutOfTime
from tests.support.proofs import Patience, draw_instance, open_proof_rows


def bound_with_lists(rows: DenseProofRows, length: int) -> float:
    """Return the bound for 5 clusters from lists of a length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour_bound, "MAX_LIST_ENTRIES", rows.shape[0] * length)
        neighbours = measure_neighbours(rows, 5)
    assert neighbours.costs.shape[1] == length
    return neighbours.prove(neighbours.maximise(neighbours.start(rows.squares)))


def test_shares_that_are_too_high_are_lowered() -> None:
    """The bound of four integers is 4 up to rounding; shares that promise more prove less."""
    rows = DenseProofRows(np.array([[0.0], [2.0], [10.0], [12.0]]))
    neighbours = measure_neighbours(rows, 2)
    dual = neighbours.maximise(neighbours.start(rows.squares))
    assert 4 * (1 - 1e-9) <= rows.to_original(neighbours.prove(dual)) <= 4
    too_high = replace(dual, shares=dual.shares + 0.1)
    assert rows.to_original(neighbours.prove(too_high)) <= 4


def test_short_lists_give_lower_bounds() -> None:
    """The fewer neighbours are listed, the lower is the bound; half of them are enough."""
    rows = DenseProofRows(draw_instance(5, 60, 2, "normal"))
    values = [bound_with_lists(rows, length) for length in (2, 10, 30, 60)]
    assert values[:3] == sorted(values[:3])
    assert 0 < values[0] < values[1] <= values[3] * (1 + 1e-6)
    assert values[2] == pytest.approx(values[3], rel=1e-5)


@pytest.mark.parametrize(("kind", "n_checks"), [("dense", 3), ("sparse", 2)])
def test_distances_stop_between_stretches(kind: str, n_checks: int) -> None:
    """700 rows are two stretches; dense rows are read in one block before. Each has a check."""
    X = np.random.default_rng(0).normal(size=(700, 4))
    for too_few in range(n_checks):
        with pytest.raises(OutOfTime):
            measure_neighbours(open_proof_rows(kind, X, too_few), 5)
    assert measure_neighbours(open_proof_rows(kind, X, n_checks), 5).costs.shape == (700, 700)


def test_a_search_that_is_cut_short_gives_a_proof() -> None:
    """The longer the search, the better the bound; none exceeds that of the whole search."""
    rows = DenseProofRows(np.random.default_rng(0).normal(size=(400, 4)))
    whole = measure_neighbours(rows, 5)
    first = whole.start(rows.squares)
    best = whole.prove(whole.maximise(first))
    pieces = len(whole._pieces())
    values = []
    for n_solved in (0.5, 3, 6):
        some = Neighbours(whole.costs, whole.weights, 5, Patience(n_solved * pieces))
        values.append(some.prove(some.maximise(first)))
        assert some.was_cut_short
    assert values == sorted(values)
    assert values[0] < values[-1]
    assert all(value <= best * (1 + 1e-12) for value in values)


def test_tightening_stops_in_the_middle_of_a_step() -> None:
    """A search that is cut short proves more than the start, and no more than a whole search."""
    rows = DenseProofRows(np.random.default_rng(0).normal(size=(300, 4)))
    whole = measure_neighbours(rows, 5)
    start = whole.maximise(whole.start(rows.squares))
    patience = Patience(40.5 * len(whole._pieces()))
    some = Neighbours(whole.costs, whole.weights, 5, patience)
    found = tighten(some, start, 50, lambda: False)
    assert patience.left < 0
    assert whole.prove(start) < found <= tighten(whole, start, 50, lambda: False)


def test_tightening_stops_when_it_is_told_to() -> None:
    """The search ends after the step at which `on_step` returns True."""
    rows = DenseProofRows(np.random.default_rng(0).normal(size=(100, 4)))
    neighbours = measure_neighbours(rows, 5)
    start = neighbours.maximise(neighbours.start(rows.squares))
    answers = iter([False, False, True])
    tighten(neighbours, start, 50, lambda: next(answers))
    assert list(answers) == []
