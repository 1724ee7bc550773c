"""The largest eigenpairs of a matrix that changes from step to step."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.certificates.semidefinite.top_eigenpairs import Matrix, TopEigenpairs


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
