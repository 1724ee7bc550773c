"""The tightened bound: what was proven before the search stops is kept."""

from __future__ import annotations

import numpy as np

from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.neighbour_bound import Neighbours, measure_neighbours
from projected_kmeans.certificates.tightened_bound import tighten
from tests.support.proofs import Patience


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
