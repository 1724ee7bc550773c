"""The search comes close to the optimum with its cuts, and gives the same bits again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from projected_kmeans import ProjectedKMeans
from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.certificates.semidefinite.multipliers import NO_ROW
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.search import (
    Search,
    clustering_matrix,
    find_cuts,
    merge_cuts,
    only_finite,
)

IRIS = load_iris().data
LABELS = ProjectedKMeans(3, projection=None, random_state=0).fit(IRIS).labels_


def prove_iris(n_steps: int, *, cuts: bool) -> float:
    """Return inertia / bound after some steps on iris."""
    bound = MatrixBound(DenseProofRows(IRIS), 3)
    search = Search(bound, LABELS, cuts=cuts)
    for step in range(n_steps):
        search.step()
        if step % 20 == 19:
            search.tighten()
    inertia = 78.85144142614601
    return inertia / bound.to_original(bound.prove(search.multipliers()))


def test_cuts_close_the_gap_of_iris() -> None:
    """Without cuts the relaxation of iris has a gap of some percent; cuts close it."""
    assert 1.01 < prove_iris(100, cuts=False) < 1.1
    assert 1.0 <= prove_iris(160, cuts=True) < 1.001


@pytest.mark.parametrize("cuts", [False, True])
def test_the_bits_do_not_depend_on_threads(cuts: bool) -> None:
    """The same multipliers come out however many threads BLAS may use."""
    rows = np.random.default_rng(0).normal(size=(220, 40))
    labels = np.arange(220, dtype=np.int32) % 7
    found = set()
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            search = Search(MatrixBound(DenseProofRows(rows), 7), labels, cuts=cuts)
            for step in range(9):
                search.step()
                if step == 4:
                    search.tighten()
            made = search.multipliers()
            found.add(made.entries.tobytes() + made.cuts.tobytes() + made.values.tobytes())
    assert len(found) == 1


def test_a_search_ends_with_the_best_clustering_as_its_matrix() -> None:
    """Where the gap closes, X is the matrix of the best clustering: 0 or 1 / size."""
    stream = np.random.default_rng(2)
    labels = (np.arange(60) % 3).astype(np.int32)
    rows = stream.normal(size=(60, 2)) + 20 * np.eye(3, 2)[labels]
    search = Search(MatrixBound(DenseProofRows(rows), 3), np.zeros(60, np.int32), cuts=False)
    for _ in range(60):
        search.step()
    assert search.factors is not None
    X = (search.factors.vectors * search.factors.values) @ search.factors.vectors.T + 1 / 60
    np.testing.assert_allclose(X, (labels[:, None] == labels) / 20, atol=2e-3)


def test_broken_cuts_are_found() -> None:
    """In a matrix that breaks one pair cut and one triangle cut, these come out, and no others."""
    matrix = np.eye(6, dtype=np.float32)
    matrix[0, 1] = matrix[1, 0] = 1.25
    matrix[1, 1] = 1.5
    matrix[2, 3] = matrix[3, 2] = matrix[2, 4] = matrix[4, 2] = 0.625
    found = find_cuts(matrix, 1e-6)
    assert sorted(found.tolist()) == [[0, 1, NO_ROW], [2, 3, 4]] or [2, 3, 4] in found.tolist()
    assert [0, 1, NO_ROW] in found.tolist()
    assert [1, 0, NO_ROW] not in found.tolist()
    assert not len(find_cuts(np.eye(6, dtype=np.float32), 1e-6))


def test_cuts_without_effect_are_dropped_and_none_is_kept_twice() -> None:
    """A merged list is in ascending order, keeps multipliers above 0, and has each cut once."""
    cuts = np.array([[3, 1, 2], [0, 1, 2], [2, 1, NO_ROW]], np.int32)
    values = np.array([0.5, 0.0, 0.25], np.float32)
    new = np.array([[3, 1, 2], [1, 0, 2], [2, 1, 0]], np.int32)
    merged, kept = merge_cuts(cuts, values, new, 4)
    assert merged.tolist() == [[1, 0, 2], [2, 1, NO_ROW], [2, 1, 0], [3, 1, 2]]
    assert kept.tolist() == [0.0, 0.25, 0.0, 0.5]


def test_the_matrix_of_a_clustering_is_a_projection() -> None:
    """Z = Z^2, its trace is the number of clusters, and Z times the roots gives the roots."""
    roots = np.sqrt(np.random.default_rng(0).random(30) + 0.1)
    Z = clustering_matrix(np.arange(30, dtype=np.int32) % 4, roots).astype(np.float64)
    np.testing.assert_allclose(Z @ Z, Z, atol=1e-6)
    np.testing.assert_allclose(Z @ roots, roots, rtol=1e-6)
    assert np.trace(Z) == pytest.approx(4, rel=1e-6)


def test_the_penalty_follows_the_residuals() -> None:
    """It rises if X and Z differ too much, and falls if Z moves too much; multipliers stay."""
    search = Search(MatrixBound(DenseProofRows(IRIS), 3), LABELS, cuts=True)
    for _ in range(9):
        search.step()
    for residuals, factor in (((4.0, 1.0), 1.5), ((1.5, 1.0), 1.0), ((1.0, 4.0), 1 / 1.5)):
        penalty, before = search._primal.penalty, search.multipliers().entries
        search._balance(*residuals)
        assert search._primal.penalty == pytest.approx(factor * penalty)
        np.testing.assert_allclose(search.multipliers().entries, before, rtol=1e-6)


def test_multipliers_keep_what_is_finite() -> None:
    """Numbers that float32 could not hold become 0."""
    kept = only_finite(np.array([np.inf, -np.inf, np.nan, 2.0], np.float32))
    assert kept.tolist() == [0.0, 0.0, 0.0, 2.0]
