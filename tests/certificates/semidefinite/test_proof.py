"""The check never proves more than is true, whatever multipliers it is given."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hard_multipliers import draw_multipliers, prove_iterates

from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.certificates.semidefinite import proof
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.search import Search
from projected_kmeans.certificates.spectral_bound import spectral_bound
from tests.support.optima import find_optimum
from tests.support.parts import draw_part

N_INSTANCES = 210  # campaigns/fuzz_certificates.py checks thousands


@pytest.mark.parametrize("seed", range(N_INSTANCES))
def test_no_bound_exceeds_the_minimum(seed: int) -> None:
    """Random multipliers and all iterates of a search prove at most the exact minimum."""
    part = draw_part(seed)
    best, optimum = find_optimum(part.rows, part.n_clusters, part.weights)
    bound = part.open()
    proven = [bound.prove(draw_multipliers(4 * seed + i, bound, best)) for i in range(4)]
    proven += prove_iterates(bound, best, seed, n_steps=6)
    assert all(Fraction(bound.to_original(one)) <= optimum for one in proven)


def test_without_margins_a_proof_would_be_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """The multipliers of these tests are hard: without rounding margins they prove too much."""
    monkeypatch.setattr(proof, "SLACK", 0.0)
    n_false = 0
    for seed in (120, 168, 263, 299, *range(40)):
        part = draw_part(seed)
        best, optimum = find_optimum(part.rows, part.n_clusters, part.weights)
        bound = part.open()
        for index in range(4):
            found = bound.prove(draw_multipliers(4 * seed + index, bound, best))
            n_false += Fraction(bound.to_original(found)) > optimum
    assert n_false > 0


@pytest.mark.parametrize("k", [1, 2, 5])
def test_zero_multipliers_prove_the_spectral_bound(k: int) -> None:
    """N = 0 gives the spectral bound, up to margins."""
    rows = DenseProofRows(np.random.default_rng(k).normal(size=(60, 9)))
    found = MatrixBound(rows, k).prove(Multipliers.zero(60))
    assert found == pytest.approx(spectral_bound(rows, k), rel=1e-9)


def test_the_margin_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """For 500 rows the margin is below 1e-8 of the bound, so that a closed gap can be seen."""
    rows = np.random.default_rng(1).normal(size=(500, 20))
    bound = MatrixBound(DenseProofRows(rows), 5)
    search = Search(bound, np.arange(500, dtype=np.int32) % 5, cuts=False)
    for _ in range(5):
        search.step()
    proven = bound.prove(search.multipliers())
    monkeypatch.setattr(proof, "SLACK", 0.0)
    computed = bound.prove(search.multipliers())
    assert proven < computed < proven * (1 + 1e-8)


def test_a_weight_is_a_number_of_copies() -> None:
    """Rows with weights have the bound of as many copies, after the same search."""
    stream = np.random.default_rng(5)
    rows, weights = stream.normal(size=(24, 2)), stream.integers(1, 4, size=24)
    labels = stream.integers(3, size=24).astype(np.int32)
    one = MatrixBound(DenseProofRows(rows, weights.astype(float)), 3)
    other = MatrixBound(DenseProofRows(np.repeat(rows, weights, axis=0)), 3)
    for cuts in (False, True):
        few = Search(one, labels, cuts=cuts)
        many = Search(other, np.repeat(labels, weights), cuts=cuts)
        for step in range(150):
            few.step()
            many.step()
            if step % 20 == 19:
                few.tighten()
                many.tighten()
        values = [
            bound.to_original(bound.prove(search.multipliers()))
            for bound, search in ((one, few), (other, many))
        ]
        # Copies of a row may go to different clusters, which lowers no optimum.
        assert values[0] == pytest.approx(values[1], rel=0.01)


@pytest.mark.parametrize("size", [1e-320, 1e150, 1e300])
def test_numbers_at_the_end_of_float64_prove_nothing_false(size: float) -> None:
    """Multipliers that overflow prove nothing, and tiny ones prove the spectral bound."""
    bound = MatrixBound(DenseProofRows(np.random.default_rng(0).normal(size=(6, 2))), 2)
    cuts = np.array([[0, 1, 2], [1, 2, -1]], np.int32)
    found = bound.prove(Multipliers(np.full((6, 6), size), cuts, np.full(2, size)))
    plain = bound.prove(Multipliers.zero(6))
    assert found == (pytest.approx(plain, rel=1e-6) if size < 1 else -math.inf) or found < plain


def test_tiny_weights_make_cuts_prove_nothing() -> None:
    """Cuts divide by roots of weights; if these have few digits, no bound is told."""
    rows, weights = np.random.default_rng(0).normal(size=(6, 2)), np.ones(6)
    weights[2] = 1e-200
    bound = MatrixBound(DenseProofRows(rows, weights), 2)
    cuts = np.array([[0, 1, 2]], np.int32)
    assert bound.prove(Multipliers(np.zeros((6, 6)), cuts, np.array([1e-210]))) == -math.inf
    assert bound.prove(Multipliers.zero(6)) > 0


def test_multipliers_of_other_rows_are_refused() -> None:
    """Multipliers must have the size of the part."""
    bound = MatrixBound(DenseProofRows(np.eye(4)), 2)
    with pytest.raises(ValueError, match="multipliers are for 5 rows and the part has 4"):
        bound.prove(Multipliers.zero(5))
