"""The paper's measures against their definitions, and two clusterings compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from projected_kmeans import (
    clustering_accuracy,
    compare_clusterings,
    indicator_matrix,
    inertia,
    normalized_inertia,
)
from tests import reference
from tests.support.layouts import draw_rows, seeds, types


def test_hand_computed_inertia() -> None:
    """Two clusters of two rows each have the inertia computed by hand."""
    X = [[0.0, 0.0], [2.0, 0.0], [5.0, 5.0], [5.0, 9.0]]
    assert inertia(X, [0, 0, 1, 1]) == 2.0 + 8.0
    assert normalized_inertia(X, [0, 0, 1, 1]) == 10.0 / (4 + 50 + 106)


@settings(max_examples=25)
@given(seed=seeds, n=st.integers(1, 25), d=st.integers(1, 8), k=st.integers(1, 5), dtype=types)
def test_inertia_is_exact(seed: int, n: int, d: int, k: int, dtype: str) -> None:
    """Inertia agrees with exact fractions for every type of rows, and F~ is its share."""
    X = draw_rows(seed, n, d, dtype)
    labels = np.random.default_rng(seed).integers(k, size=n)
    exact = reference.inertia(X, labels)
    squares = float(np.sum(X.astype(np.longdouble) ** 2))
    assert inertia(X, labels) == pytest.approx(exact, rel=1e-12, abs=1e-14 * squares)
    share = exact / squares if squares else 0.0
    assert normalized_inertia(X, labels) == pytest.approx(share, rel=1e-12, abs=1e-14)


@given(seed=seeds, n=st.integers(1, 30), d=st.integers(1, 6), k=st.integers(1, 5))
def test_the_indicator_matrix_gives_the_inertia(seed: int, n: int, d: int, k: int) -> None:
    """X^T X = I and ||A - X X^T A||_F^2 is the inertia, as the paper writes it."""
    A = draw_rows(seed, n, d, "float64")
    labels = np.unique(np.random.default_rng(seed).integers(k, size=n), return_inverse=True)[1]
    X = indicator_matrix(labels)
    assert scipy.sparse.issparse(X)
    assert X.nnz == n
    np.testing.assert_allclose((X.T @ X).toarray(), np.eye(labels.max() + 1), atol=1e-14)
    residual = A - X @ (X.T @ A)
    assert np.sum(residual**2) == pytest.approx(inertia(A, labels), rel=1e-12, abs=1e-12)


def test_an_empty_cluster_is_a_zero_column() -> None:
    """Clusters beyond the largest label have columns without entries."""
    X = indicator_matrix([0, 2, 2], n_clusters=4).toarray()
    np.testing.assert_allclose(X, [[1, 0, 0, 0], [0, 0, np.sqrt(0.5), 0], [0, 0, np.sqrt(0.5), 0]])


@settings(max_examples=40)
@given(seed=seeds, n=st.integers(1, 12), classes=st.integers(1, 4), clusters=st.integers(1, 5))
def test_accuracy_is_the_best_of_all_matchings(
    seed: int, n: int, classes: int, clusters: int
) -> None:
    """P is the largest share over all one-to-one matchings, tried one by one."""
    stream = np.random.default_rng(seed)
    true, found = stream.integers(classes, size=n), stream.integers(clusters, size=n)
    assert clustering_accuracy(true, found) == reference.best_matching(true, found)
    assert clustering_accuracy(found, true) == clustering_accuracy(true, found)


def test_names_do_not_matter() -> None:
    """Labels may be strings, negative or far apart, and clusters renamed."""
    true = ["b", "b", "a", "c", "c", "c"]
    assert clustering_accuracy(true, [-5, -5, 10**9, 7, 7, 7]) == 1.0
    assert clustering_accuracy(true, np.array([0, 0, 0, 1, 1, 2])) == 4 / 6


def test_rows_set_aside_match_no_class() -> None:
    """Rows of the cluster -1 count as wrong, also if they make up a class of their own."""
    true = ["a", "a", "b", "b", "c", "c", "c", "c"]
    assert clustering_accuracy(true, [0, 0, 1, 1, -1, -1, -1, -1]) == 0.5
    assert clustering_accuracy(true, np.full(8, -1)) == 0.0
    assert clustering_accuracy([-1, -1, 1], [0, 0, 2]) == 1.0
    assert clustering_accuracy(true, ["x"] * 4 + ["-1"] * 4) == 0.75
    X = [[0.0], [1.0], [5.0], [6.0]]
    assert inertia(X, ["x", "x", "y", "y"]) == inertia(X, [7, 7, -1, -1]) == 1.0


def test_normalized_inertia_is_between_zero_and_one() -> None:
    """One cluster about the origin gives one, each row alone zero, and zeros give zero."""
    assert normalized_inertia([[1.0], [-1.0]], [0, 0]) == 1.0
    assert normalized_inertia([[1.0], [-1.0]], [0, 1]) == 0.0
    assert normalized_inertia(np.zeros((3, 2)), [0, 0, 1]) == 0.0


def test_rows_are_not_centred() -> None:
    """A common offset leaves the inertia and lowers the normalized one."""
    X = np.array([[0.0], [2.0], [10.0]])
    assert inertia(X + 100, [0, 0, 1]) == inertia(X, [0, 0, 1]) == 2.0
    assert normalized_inertia(X + 100, [0, 0, 1]) == pytest.approx(2 / (100**2 + 102**2 + 110**2))


@pytest.mark.parametrize(
    ("call", "arguments", "sentence"),
    [
        (inertia, ([[1.0], [2.0]], [0]), "labels has 1 entries but X 2 rows"),
        (inertia, ([[1.0], [2.0]], [[0, 1]]), r"labels has shape \(1, 2\)"),
        (inertia, ([[np.nan], [2.0]], [0, 1]), "X contains NaN at row 0, column 0"),
        (inertia, ([1.0, 2.0], [0, 1]), "Expected 2D array, got 1D array"),
        (inertia, ([[1j], [2.0]], [0, 1]), "Complex data not supported"),
        (normalized_inertia, ([[1.0], [np.inf]], [0, 1]), "X contains infinity .* row 1"),
        (clustering_accuracy, ([0, 1], [0]), "labels_true has 2 entries but labels_pred 1"),
        (clustering_accuracy, ([], []), r"labels_true has shape \(0,\)"),
        (clustering_accuracy, ([0], [[0]]), r"labels_pred has shape \(1, 1\)"),
        (indicator_matrix, ([0, -1],), "labels are int64 from -1; use integers from 0"),
        (indicator_matrix, ([0.5, 1.0],), r"labels are float64 from 0\.5; use integers"),
        (indicator_matrix, ([0, 3], 3), "labels reach 3, but n_clusters=3; use n_clusters=4"),
    ],
)
def test_bad_input_is_named(call: Any, arguments: tuple[Any, ...], sentence: str) -> None:
    """Input that does not fit together is refused with one sentence."""
    with pytest.raises(ValueError, match=sentence):
        call(*arguments)


def test_other_names_are_the_same_clustering() -> None:
    """Numbers or texts in another order agree fully, and no row moved."""
    found = compare_clusterings([0, 1, 1, 2], ["x", "b", "b", "a"])
    assert (found.overlap, found.adjusted_rand_index) == (1.0, 1.0)
    assert found.normalized_mutual_information == pytest.approx(1.0)
    assert len(found.moved_rows) == 0
    assert [(one.a, one.b) for one in found.matches] == [(0, "x"), (1, "b"), (2, "a")]


def test_measures_are_those_of_the_field() -> None:
    """Overlap is the accuracy of the best matching; the indices are scikit-learn's."""
    stream = np.random.default_rng(0)
    a = stream.integers(5, size=500)
    b = np.where(stream.random(500) < 0.3, stream.integers(7, size=500), (a + 2) % 5)
    found = compare_clusterings(a, b)
    assert found.overlap == clustering_accuracy(a, b)
    assert found.adjusted_rand_index == adjusted_rand_score(a, b)
    assert found.normalized_mutual_information == normalized_mutual_info_score(a, b)
    became = {one.a: one.b for one in found.matches if one.a is not None}
    wanted = [row for row in range(500) if became[a[row]] != b[row]]
    assert found.moved_rows.tolist() == wanted
    assert sum(one.n_shared for one in found.matches) == 500 - len(wanted)
    assert sum(one.n_a for one in found.matches) == sum(one.n_b for one in found.matches) == 500


def test_rows_set_aside_are_counted_and_not_compared() -> None:
    """A label of -1 is no cluster: such rows moved if they have a cluster on the other side."""
    found = compare_clusterings([0, 0, 1, 1, -1, -1], np.array([5, -1, 6, 6, -1, 5]))
    assert (found.n_compared, found.overlap) == (3, 1.0)
    assert (found.n_left, found.n_joined) == (1, 1)
    assert found.moved_rows.tolist() == [1, 5]
    assert "without 3 rows that were set aside" in repr(found)
    alone = compare_clusterings([-1, 0], [0, -1])
    assert (alone.n_compared, alone.overlap, alone.moved_rows.tolist()) == (0, 0.0, [0, 1])
    assert alone.matches == ()


def test_text_of_numbers_and_text_for_no_cluster() -> None:
    """Labels of a text file may be text; "-1" is no cluster there, either."""
    found = compare_clusterings(np.array(["a", "-1", "b"]), np.array(["a", "b", "b"], dtype=object))
    assert (found.n_compared, found.n_joined) == (2, 1)


def test_displays_are_short() -> None:
    """The repr is one line, and the HTML a small table."""
    found = compare_clusterings([0, 0, 1], [0, 1, 1])
    assert repr(found) == (
        "<ClusteringComparison: 1 of 3 rows moved; overlap 66.67%, adjusted Rand index -0.5000, "
        "normalized mutual information 0.2740>"
    )
    assert found._repr_html_().count("<tr>") == 5


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ([0, 1], [0], "a has 2 labels and b 1; give both for the same rows"),
        ([], [], "a holds float64 values of shape"),
        ([[0]], [[0]], "shape"),
        ([0.0, np.nan], [0, 1], "use -1 for rows without a cluster"),
    ],
)
def test_labels_that_cannot_be_compared(a: Any, b: Any, sentence: str) -> None:
    """One sentence says what is wrong."""
    with pytest.raises(ValueError, match=r"give|use") as raised:
        compare_clusterings(a, b)
    assert sentence in str(raised.value)
