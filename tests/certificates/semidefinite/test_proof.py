"""The check never proves more than is true, whatever multipliers it is given."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hard_multipliers import draw_multipliers, prove_iterates
from numpy.typing import NDArray

from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.certificates.semidefinite import proof
from projected_kmeans.certificates.semidefinite.multipliers import Multipliers
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.search import Search
from projected_kmeans.certificates.spectral_bound import (
    Eigenvalues,
    find_eigenvalues,
    spectral_bound,
)
from tests.support.optima import find_optimum
from tests.support.parts import draw_part

# Parts on which a false prover shows: 30 of the first 330, which catch each flaw below and
# six others as often as 30 can. They have every kind of `draw_part`, dense and sparse, 2 to 9
# rows, 1 to 4 clusters, as many clusters as rows, and minima of 0. The campaign
# fuzz_certificates.py checks thousands more.
SEEDS = (
    *(8, 17, 22, 27, 43, 46, 49, 67, 71, 92, 100, 106, 133, 137, 144, 147, 148, 156, 157, 180),
    *(207, 232, 269, 272, 274, 288, 292, 322, 325, 328),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_exceeds_the_minimum(seed: int) -> None:
    """Random multipliers and all iterates of a search prove at most the exact minimum."""
    part = draw_part(seed)
    best, optimum = find_optimum(part.rows, part.n_clusters, part.weights)
    bound = part.open()
    proven = [bound.prove(draw_multipliers(4 * seed + i, bound, best)) for i in range(4)]
    proven += prove_iterates(bound, best, seed, n_steps=6)
    assert all(Fraction(bound.to_original(value)) <= optimum for value in proven)


def lower_eigenvalues(matrix: NDArray[Any]) -> Eigenvalues:
    """Return eigenvalues that are too low by a millionth."""
    exact = find_eigenvalues(matrix)
    return exact._replace(values=exact.values * (1 - 1e-6))


def strengthen_cuts(multipliers: Multipliers) -> NDArray[Any]:
    """Return the sum of the cuts with a diagonal that is too small."""
    return SUM_CUTS(multipliers) - 1e-3 * np.diag(np.diagonal(SUM_CUTS(multipliers)))


SUM_CUTS = Multipliers.sum_cuts
FLAWS: dict[str, Callable[[pytest.MonkeyPatch, MatrixBound], object]] = {
    "no margins": lambda patch, bound: patch.setattr(proof, "SLACK", 0.0),
    "one eigenvalue too few": lambda patch, bound: patch.setattr(
        bound, "n_clusters", max(1, bound.n_clusters - 1)
    ),
    "eigenvalues too low": lambda patch, bound: patch.setattr(
        proof, "find_eigenvalues", lower_eigenvalues
    ),
    "trace too high": lambda patch, bound: patch.setattr(bound, "total", bound.total * (1 + 1e-6)),
    "cuts too strong": lambda patch, bound: patch.setattr(Multipliers, "sum_cuts", strengthen_cuts),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_false_proof_is_noticed(flaw: str) -> None:
    """The multipliers of these tests are hard: with a flaw in the prover they prove too much."""
    n_false = 0
    for seed in SEEDS:
        part = draw_part(seed)
        best, optimum = find_optimum(part.rows, part.n_clusters, part.weights)
        bound = part.open()
        drawn = [draw_multipliers(4 * seed + index, bound, best) for index in range(4)]
        with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
            FLAWS[flaw](patch, bound)
            proven = [bound.prove(multipliers) for multipliers in drawn]
        n_false += any(Fraction(bound.to_original(value)) > optimum for value in proven)
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
