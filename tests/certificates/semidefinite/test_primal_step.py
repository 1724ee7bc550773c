"""The nearest matrix X, and the largest eigenpairs of a matrix that changes step by step."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.certificates.semidefinite.primal_step import (
    Diverged,
    Matrix,
    PrimalStep,
    TopEigenpairs,
    clip_to_sum,
)
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.search import clustering_matrix


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


def test_numbers_that_are_too_large_end_the_search() -> None:
    """A matrix with infinite entries raises."""
    step, _ = open_step(8, 2, False)
    with pytest.raises(Diverged), np.errstate(all="ignore"):
        step.project(np.full((8, 8), np.inf, np.float32))


def draw_matrix(n: int, seed: int) -> Matrix:
    """Return a symmetric matrix with some large eigenvalues."""
    stream = np.random.default_rng(seed)
    vectors = np.linalg.qr(stream.normal(size=(n, n)))[0]
    values = np.concatenate([[9.0, 5.0, 4.0, 3.0], stream.uniform(-1, 1, size=n - 4)])
    return ((vectors * values) @ vectors.T).astype(np.float32)


@pytest.mark.parametrize("n", [5, 20, 200])
def test_eigenpairs_converge(n: int) -> None:
    """After some steps the pairs are those of the matrix, whether few or all are computed."""
    matrix, search = draw_matrix(n, n), TopEigenpairs(n, 2)
    for _ in range(8):
        found = search.find(lambda some: matrix @ some, lambda: matrix, 4)
    np.testing.assert_allclose(found.values[:4], [9, 5, 4, 3], rtol=1e-4)
    top = found.vectors[:, :4]
    np.testing.assert_allclose(matrix @ top, top * found.values[:4], atol=1e-3)
    np.testing.assert_allclose(top.T @ top, np.eye(4), atol=1e-5)


def test_eigenpairs_follow_a_matrix_that_changes() -> None:
    """When the matrix moves a little in every step, the eigenvalues follow."""
    first, second, search = draw_matrix(150, 1), draw_matrix(150, 2), TopEigenpairs(150, 2)
    for share in np.linspace(0, 1, 40, dtype=np.float32):
        matrix = (1 - share) * first + share * second
        found = search.find(lambda some, m=matrix: m @ some, lambda m=matrix: m, 6)
    np.testing.assert_allclose(found.values[:4], np.linalg.eigvalsh(second)[:-5:-1], rtol=0.01)


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_matrices_of_low_rank_and_any_scale_are_decomposed(scale: float) -> None:
    """A matrix of rank one, or of zeros, gives finite pairs with its eigenvalue first."""
    vector = np.full((100, 1), 0.1, np.float32)
    matrix = np.float32(scale) * vector @ vector.T
    found = TopEigenpairs(100, 2).find(lambda some: matrix @ some, lambda: matrix, 5)
    assert np.isfinite(found.vectors).all()
    assert found.values[0] == pytest.approx(scale, rel=1e-3)
