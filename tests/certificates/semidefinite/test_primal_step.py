"""The nearest matrix X: its trace, its eigenvalues, and that none is nearer."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.semidefinite.primal_step import (
    Balance,
    Diverged,
    PrimalStep,
    clip_to_sum,
    clustering_matrix,
    only_finite,
)
from projected_kmeans.certificates.semidefinite.proof import MatrixBound


def open_step(n: int, k: int, weights: bool) -> tuple[PrimalStep, MatrixBound]:
    """Return the step for some rows."""
    stream = np.random.default_rng(n)
    given = stream.random(n) + 0.1 if weights else None
    bound = MatrixBound(DenseProofRows(stream.normal(size=(n, 3)), given), k)
    return PrimalStep(bound, 2), bound


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(("n", "k"), [(8, 2), (8, 7), (8, 8), (90, 3)])
def test_x_is_the_nearest_of_its_kind(n: int, k: int, weights: bool) -> None:
    """X has X q = q, trace k and eigenvalues in [0, 1], and clusterings are farther away."""
    step, bound = open_step(n, k, weights)
    stream = np.random.default_rng(1)
    target = stream.normal(size=(n, n)).astype(np.float32)
    target = (target + target.T) / 2
    X = np.empty_like(target)
    for _ in range(30):
        step.write(step.project(target), X)
    q = bound.roots / np.linalg.norm(bound.roots)
    np.testing.assert_allclose(X @ q, q, atol=1e-4)
    assert np.trace(X) == pytest.approx(k, abs=1e-3)
    values = np.linalg.eigvalsh(X)
    assert values[0] > -1e-4
    assert values[-1] < 1 + 1e-4
    for seed in range(20):
        labels = np.random.default_rng(seed).permutation(np.arange(n) % k).astype(np.int32)
        other = clustering_matrix(labels, bound.roots)
        assert np.linalg.norm(X - target) < np.linalg.norm(other - target) + 1e-3


@pytest.mark.parametrize("total", [0.0, 1.0, 2.5, 4.0, 7.0])
def test_clipped_values_have_the_sum(total: float) -> None:
    """Values less a number, clipped to [0, 1], add up to the total, or all become 1."""
    values = np.array([5.0, 1.2, 1.1, 0.3, -4.0])
    clipped = clip_to_sum(values, total)
    assert clipped.sum() == pytest.approx(min(total, 5))
    assert (np.diff(clipped) <= 0).all()


def test_the_matrix_of_a_clustering_is_a_projection() -> None:
    """Z = Z^2, its trace is the number of clusters, and Z times the roots gives the roots."""
    roots = np.sqrt(np.random.default_rng(0).random(30) + 0.1)
    Z = clustering_matrix(np.arange(30, dtype=np.int32) % 4, roots).astype(np.float64)
    np.testing.assert_allclose(Z @ Z, Z, atol=1e-6)
    np.testing.assert_allclose(Z @ roots, roots, rtol=1e-6)
    assert np.trace(Z) == pytest.approx(4, rel=1e-6)


def test_the_penalty_follows_the_residuals() -> None:
    """It rises if X and Z differ too much, falls if Z moves too much, and only at some steps."""
    balance = Balance(5, 1.5)
    assert [step for step in range(1, 12) if balance.is_due(step)] == [5, 10]
    assert balance.choose_factor(4.0, 1.0) == pytest.approx(1.5)
    assert balance.choose_factor(1.5, 1.0) == 1
    assert balance.choose_factor(1.0, 4.0) == pytest.approx(1 / 1.5)


def test_numbers_that_are_too_large_end_the_search() -> None:
    """A matrix with infinite entries raises; multipliers keep what is finite."""
    step, _ = open_step(8, 2, False)
    with pytest.raises(Diverged), np.errstate(all="ignore"):
        step.project(np.full((8, 8), np.inf, np.float32))
    kept = only_finite(np.array([np.inf, -np.inf, np.nan, 2.0], np.float32))
    assert kept.tolist() == [0.0, 0.0, 0.0, 2.0]
