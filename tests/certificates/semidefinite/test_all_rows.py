"""Bounds of all rows: at most the optimum of the union, whatever the parts, at any stop."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris

from projected_kmeans import ProjectedKMeans, certify, inertia, kmeans_lower_bound
from projected_kmeans.certificates.semidefinite import all_rows
from projected_kmeans.certificates.semidefinite.all_rows import AllRowsProof, prove_all_rows
from projected_kmeans.running.deadlines import Deadline
from tests.support.optima import find_optimum
from tests.support.parts import draw_part


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let three rows be a part."""
    monkeypatch.setattr(all_rows, "MAX_ROWS_AT_ONCE", 3)
    monkeypatch.setattr(all_rows, "PART_ROWS", 3)


def prove(rows: Any, k: int, labels: Any, **how: Any) -> AllRowsProof:
    """Return the bound of all rows, without a limit of time unless one is given."""
    given = {"weights": None, "key": 0, "deadline": Deadline(), "on_part": lambda: False}
    return prove_all_rows(rows, k, np.asarray(labels), **{**given, **how})


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(60))
def test_parts_prove_at_most_the_minimum_of_all_rows(seed: int) -> None:
    """The sum over parts is at most the optimum, for dense, sparse, weighted and hard rows."""
    part = draw_part(seed)
    _, optimum = find_optimum(part.rows, part.n_clusters, part.weights)
    labels = np.random.default_rng(seed).integers(part.n_clusters, size=len(part.rows))
    found = prove(part.given, part.n_clusters, labels, weights=part.weights)
    assert 0 <= Fraction(found.bound) <= optimum
    assert found.n_proven == found.n_parts == (1 if len(part.rows) <= 3 else -(-len(labels) // 3))


@pytest.mark.usefixtures("small_parts")
def test_parts_that_were_not_reached_count_as_nothing() -> None:
    """However many parts are proven before the work stops, their sum is a bound, and it grows."""
    stream = np.random.default_rng(0)
    rows, labels = stream.normal(size=(30, 2)), np.arange(30) % 2
    bounds = []
    for wanted in (1, 4, 10):
        done = iter(range(1, 31))
        found = prove(
            rows, 2, labels, on_part=lambda wanted=wanted, done=done: next(done) >= wanted
        )
        assert found.n_proven == wanted
        bounds.append(found.bound)
    assert 0 < bounds[0] < bounds[1] < bounds[2] <= inertia(rows, labels)
    assert prove(rows, 2, labels, deadline=Deadline(0.0)).bound == 0


def test_iris_is_nearly_closed() -> None:
    """The semidefinite bound is certain and far nearer to the inertia than the others."""
    rows = load_iris().data
    model = ProjectedKMeans(3, random_state=0, certificate="semidefinite").fit(rows)
    proof = model.certificate_
    assert proof is not None
    assert (proof.method, proof.certain) == ("semidefinite", True)
    assert 1 <= proof.ratio < 1.001
    assert certify(rows, model.labels_).ratio > 1.03
    assert certify(scipy.sparse.csr_array(rows), model.labels_, method="semidefinite").ratio < 1.001


def test_labels_are_needed_and_checked() -> None:
    """Without labels the bound is skipped with a reason; wrong ones are refused in one sentence."""
    rows = np.arange(8.0).reshape(4, 2)
    found = kmeans_lower_bound(rows, 2, method="semidefinite")
    assert "give labels" in found.skipped["semidefinite"]
    with pytest.raises(ValueError, match=r"labels have shape \(3,\); give one for each of 4 rows"):
        kmeans_lower_bound(rows, 2, method="semidefinite", labels=[0, 1, 0])
    with pytest.raises(ValueError, match="labels name 4 clusters, more than n_clusters=2"):
        kmeans_lower_bound(rows, 2, method="semidefinite", labels=[0, 1, 2, 3])


def test_rows_without_weight_are_left_out() -> None:
    """Labels of rows without weight do not count."""
    rows, weights = np.array([[0.0], [1.0], [9.0], [10.0], [50.0]]), [1.0, 1.0, 1.0, 1.0, 0.0]
    how: dict[str, Any] = {"sample_weight": weights, "method": "semidefinite"}
    found = kmeans_lower_bound(rows, 3, labels=[0, 0, 1, 1, 2], **how)
    assert 0.4 < found.value <= 0.5
