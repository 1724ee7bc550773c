"""Comparing two clusterings: matches, indices of agreement, moved rows, rows set aside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from projected_kmeans import clustering_accuracy, compare_clusterings


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
