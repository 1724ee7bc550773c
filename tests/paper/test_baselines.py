"""The paper's baselines agree with independent computations, and keep scikit-learn's contract."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.utils.estimator_checks import parametrize_with_checks

from projected_kmeans.paper import (
    FisherScore,
    LaplacianScore,
    LocallyLinearFeatures,
    SVDFeatures,
)
from projected_kmeans.paper.baselines import decompose_exactly, score_columns
from projected_kmeans.results import Floats
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.normal_rows import draw_normal_rows


@pytest.mark.parametrize("algorithm", ["exact", "arpack", "randomized"])
def test_svd_is_that_of_numpy(algorithm: str) -> None:
    """U_t Sigma_t and U_t are NumPy's up to signs, and transform repeats them on new rows."""
    rows = draw_normal_rows(30, 12) * np.geomspace(10, 0.01, 12)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    for scaled, wanted in ((True, left * values), (False, left)):
        svd = SVDFeatures(3, scaled=scaled, algorithm=algorithm, random_state=0)
        found = svd.fit_transform(rows)
        np.testing.assert_allclose(np.abs(found), np.abs(wanted[:, :3]), atol=1e-6)
        np.testing.assert_allclose(svd.transform(rows), found, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["arpack", "randomized"])
def test_sparse_rows_give_what_dense_ones_do(algorithm: str) -> None:
    """Sparse rows have the same coordinates; LAPACK refuses them with scikit-learn's sentence."""
    rows = draw_normal_rows(30, 12) * np.geomspace(10, 0.01, 12)
    rows[np.abs(rows) < 0.05] = 0.0
    sparse = scipy.sparse.csr_matrix(rows)
    svd = SVDFeatures(3, algorithm=algorithm, random_state=0)
    wanted = svd.fit_transform(rows)
    np.testing.assert_allclose(svd.fit_transform(sparse), wanted, atol=1e-8)
    np.testing.assert_allclose(svd.transform(sparse), wanted, atol=1e-8)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        SVDFeatures(3).fit(sparse)


def test_svd_limits_are_told() -> None:
    """More components than the rank allows give one sentence, and ARPACK allows one fewer."""
    with pytest.raises(ValueError, match=r"n_components=5 is too much .*; use at most 4"):
        SVDFeatures(5).fit(draw_normal_rows(4, 9))
    with pytest.raises(ValueError, match="algorithm='arpack'; use at most 3"):
        SVDFeatures(4, algorithm="arpack").fit(draw_normal_rows(4, 9))


def test_the_decomposition_is_cut() -> None:
    """Of the singular values, the leading ones are kept."""
    np.testing.assert_array_equal(decompose_exactly(np.diag([1.0, 5.0]), 1).values, [5.0])


def test_textbook_embedding_is_that_of_scikit_learn() -> None:
    """With textbook indexing the embedding is scikit-learn's without regulariser, up to signs."""
    rows = draw_normal_rows(60, 30)
    found = LocallyLinearFeatures(3, n_neighbors=10).fit_transform(rows)
    theirs = LocallyLinearEmbedding(
        n_neighbors=10, n_components=3, reg=0, eigen_solver="dense"
    ).fit_transform(rows)
    np.testing.assert_allclose(np.abs(found), np.abs(theirs), atol=1e-9)


def test_paper_indexing_begins_with_the_constant_vector() -> None:
    """The paper's columns are a constant unit vector and all but the last of the textbook's."""
    rows = draw_normal_rows(60, 30)
    textbook = LocallyLinearFeatures(3, n_neighbors=10).fit(rows)
    paper = LocallyLinearFeatures(3, n_neighbors=10, indexing="paper").fit(rows)
    np.testing.assert_allclose(paper.embedding_[:, 0], 1 / math.sqrt(60))
    np.testing.assert_array_equal(paper.embedding_[:, 1:], textbook.embedding_[:, :2])
    np.testing.assert_allclose(paper.transform(rows), paper.embedding_, atol=0.05)


def laplacian_scores_2007(rows: Floats) -> Floats:
    """Return the scores of May 2007 column by column, straight from the recipe."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T
    graph = np.zeros_like(cosines)
    for index, row in enumerate(cosines):
        graph[index, np.argsort(-row)[:6]] = 1
    return scores_by_columns(rows, np.maximum(graph, graph.T))


def laplacian_scores_today(rows: Floats) -> Floats:
    """Return the scores with heat kernel weights between five nearest rows, without loops."""
    squared = np.stack([np.sum((rows - row) ** 2, axis=1) for row in rows])
    width = np.sqrt(squared).mean()
    graph = np.zeros_like(squared)
    for index, row in enumerate(squared):
        nearest = [other for other in np.argsort(row) if other != index][:5]
        graph[index, nearest] = np.exp(-row[nearest] / (2 * width**2))
    return scores_by_columns(rows, np.maximum(graph, graph.T))


def scores_by_columns(rows: Floats, graph: Floats) -> Floats:
    """Return the ratio of the recipe for every column, by a loop."""
    degrees = graph.sum(axis=1)
    scores = []
    for x in rows.T:
        shift = (degrees @ x) ** 2 / degrees.sum()
        spread = x @ (degrees * x) - shift
        scores.append((x @ graph @ x - shift) / spread if spread > 1e-9 else 0.0)
    return np.array(scores)


@pytest.mark.parametrize(
    ("graph", "reference"), [("2007", laplacian_scores_2007), ("today", laplacian_scores_today)]
)
def test_laplacian_score_on_real_images(
    graph: str, reference: Callable[[Floats], Floats], find_data: Callable[[str], Path]
) -> None:
    """On a third of COIL20 both scores agree with an independent computation to 1e-10."""
    rows = read_matrix(find_data("COIL20.mat")).rows[::3].astype(np.float64)
    found = LaplacianScore(graph=graph).fit(rows).scores_
    wanted = reference(rows)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    best = np.sort(np.argsort(-wanted, kind="stable")[:10])
    np.testing.assert_array_equal(
        np.flatnonzero(LaplacianScore(10, graph=graph).fit(rows).get_support()), best
    )


def test_laplacian_scores_do_not_lose_digits_to_an_offset() -> None:
    """A common offset, a million times the spread, leaves today's scores as they are."""
    rows = draw_normal_rows(40, 6)
    shifted = LaplacianScore(1).fit(rows + 1e6).scores_
    np.testing.assert_allclose(shifted, LaplacianScore(1).fit(rows).scores_, atol=1e-6)


def test_constant_columns_have_no_laplacian_score() -> None:
    """A constant column scores zero, and no warning is given."""
    rows = draw_normal_rows(30, 3)
    rows[:, 1] = 4.0
    assert LaplacianScore(1).fit(rows).scores_[1] == 0


def test_impossible_selections_are_refused() -> None:
    """Too many columns and too few rows give one sentence each."""
    rows = draw_normal_rows(8, 3)
    with pytest.raises(ValueError, match="n_features_to_select=4 exceeds n_features=3"):
        LaplacianScore(4).fit(rows)
    with pytest.raises(ValueError, match="n_neighbors=8 is not below n_samples=8"):
        LaplacianScore(1, n_neighbors=8).fit(rows)


def test_a_column_of_neighbours_has_score_one() -> None:
    """A column that is the same within pairs scores one; one that differs within them, zero."""
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    graph = scipy.sparse.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    np.testing.assert_array_equal(score_columns(rows, graph), [1.0, 0.0])


def test_of_equal_scores_the_first_columns_are_kept() -> None:
    """Columns that score alike are taken in their order."""
    group = np.repeat([0.0, 9.0], 8)
    rows = np.column_stack([np.tile([0.0, 1.0], 8), group, group])
    assert LaplacianScore(1).fit(rows).get_support().tolist() == [False, True, False]


def test_fisher_score_on_real_images(find_data: Callable[[str], Path]) -> None:
    """On COIL20 the Fisher score agrees with an independent computation to 1e-10."""
    matrix = read_matrix(find_data("COIL20.mat"))
    rows = matrix.rows.astype(np.float64)
    between, within = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for one in np.unique(matrix.labels):
        members = rows[matrix.labels == one]
        between += len(members) * (members.mean(axis=0) - rows.mean(axis=0)) ** 2
        within += len(members) * members.var(axis=0)
    wanted = np.divide(between, within, out=np.zeros_like(between), where=within > 0)
    found = FisherScore().fit(rows, matrix.labels).scores_
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_constant_columns_have_no_fisher_score() -> None:
    """A constant column scores zero, and no warning is given."""
    rows = draw_normal_rows(30, 3)
    rows[:, 1] = 4.0
    classes = (rows[:, 0] > 0).astype(int)
    assert FisherScore(1).fit(rows, classes).scores_[1] == 0


def test_useless_classes_are_refused() -> None:
    """A single class, and a class for every row, give one sentence each."""
    rows = draw_normal_rows(8, 3)
    with pytest.raises(ValueError, match="y holds one class"):
        FisherScore(1).fit(rows, np.zeros(8, dtype=int))
    with pytest.raises(ValueError, match="a class of its own"):
        FisherScore(1).fit(rows, np.arange(8))


@parametrize_with_checks(
    [
        SVDFeatures(1),
        SVDFeatures(2, scaled=False),
        SVDFeatures(1, algorithm="randomized", random_state=0),
        LaplacianScore(1),
        LaplacianScore(1, graph="2007"),
        FisherScore(1),
        LocallyLinearFeatures(1, n_neighbors=5),
    ]
)
def test_scikit_learn_contract(estimator: BaseEstimator, check: Callable[..., Any]) -> None:
    """Every baseline passes scikit-learn's own checks, without exception."""
    check(estimator)
