"""A deal covers all rows once, in parts that mirror the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from projected_kmeans import inertia
from projected_kmeans.certificates.semidefinite.dealing import Deal, deal_rows
from projected_kmeans.certificates.semidefinite.part import Instance
from projected_kmeans.running.deadlines import OutOfTime
from tests.support.optima import exact_inertia
from tests.support.proofs import Patience, draw_instance, draw_sparse


def draw_labels(seed: int, n_rows: int, n_clusters: int) -> NDArray[np.int64]:
    """Return labels of clusters of unequal sizes."""
    return np.random.default_rng(seed).integers(0, n_clusters, n_rows) ** 2 % n_clusters


def deal(rows: Any, labels: Any, n_parts: int, weights: Any = None, **how: Any) -> Deal:
    """Return how rows with labels are dealt."""
    instance = Instance(rows, int(max(labels)) + 1, np.asarray(labels, np.int32), weights)
    return deal_rows(instance, n_parts, **how)


def assert_covers(dealt: Deal, n_rows: int) -> None:
    """Every row is in one part, and parts differ by at most one row."""
    assert sorted(np.concatenate(dealt.parts).tolist()) == list(range(n_rows))
    sizes = [len(part) for part in dealt.parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("n_parts", [1, 2, 7, 60, 61])
@pytest.mark.parametrize("n_columns", [2, 150])
@pytest.mark.parametrize("kind", ["normal", "duplicates", "far offset", "tiny", "huge"])
def test_every_row_is_in_one_part(n_parts: int, n_columns: int, kind: str) -> None:
    """Parts cover all rows once, with equal sizes, also if clusters have fewer rows than that."""
    dealt = deal(draw_instance(1, 61, n_columns, kind), draw_labels(0, 61, 9), n_parts)
    assert len(dealt.parts) == n_parts
    assert_covers(dealt, 61)
    assert dealt.ratio >= 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_ratio_is_what_the_parts_lose(weighted: bool, sparse: bool) -> None:
    """The ratio is the inertia over the sum of the inertias of the parts."""
    X, labels = draw_sparse(3, 40, 5), draw_labels(1, 40, 4)
    weights = np.random.default_rng(2).uniform(0.5, 4, 40) if weighted else None
    dealt = deal(csr_array(X) if sparse else X, labels, 6, weights=weights)
    ones = np.ones(40) if weights is None else weights
    whole = exact_inertia(X, ones, tuple(labels))
    parts = sum(exact_inertia(X[part], ones[part], tuple(labels[part])) for part in dealt.parts)
    assert dealt.ratio == pytest.approx(float(whole / parts), rel=1e-9)


@pytest.mark.parametrize("n_columns", [8, 150])
def test_parts_mirror_the_whole(n_columns: int) -> None:
    """Parts of 100 rows lose less than a fifth of what they lose if rows are dealt at random."""
    X = draw_instance(0, 1000, n_columns, "normal") * 0.9 ** np.arange(n_columns)
    labels = draw_labels(0, 1000, 3)
    shuffled = np.random.default_rng(0).permutation(1000).reshape(10, 100)
    at_random = inertia(X, labels) / sum(inertia(X[part], labels[part]) for part in shuffled)
    dealt = deal(X, labels, 10)
    assert dealt.ratio - 1 < (at_random - 1) / 5


@pytest.mark.parametrize("sparse", [False, True])
def test_a_deal_does_not_depend_on_threads(sparse: bool) -> None:
    """One thread and three give the same parts and the same ratio."""
    X: Any = draw_sparse(5, 500, 120)
    X = csr_array(X) if sparse else X
    labels = draw_labels(2, 500, 6)
    one, three = (deal(X, labels, 7, key=1, n_threads=n) for n in (1, 3))
    assert one.ratio == three.ratio
    assert all((a == b).all() for a, b in zip(one.parts, three.parts, strict=True))


def test_sparse_rows_are_dealt_like_dense_ones() -> None:
    """CSR rows lose as little as the same rows in an array."""
    X, labels = draw_sparse(7, 400, 130), draw_labels(3, 400, 5)
    dense, sparse = deal(X, labels, 8), deal(csr_array(X), labels, 8)
    assert_covers(sparse, 400)
    assert sparse.ratio == pytest.approx(dense.ratio, rel=1e-3)


def test_equal_rows_lose_nothing() -> None:
    """If all rows of a cluster coincide, its parts lose nothing, and the ratio is 1."""
    X = np.repeat(draw_instance(0, 3, 4, "normal"), 5, axis=0)
    assert deal(X, np.repeat([0, 1, 2], 5), 4).ratio == 1.0


def test_a_deal_can_be_stopped() -> None:
    """The check may raise anywhere, and the deal ends with what it raised."""
    X, labels = draw_instance(0, 300, 120, "normal"), draw_labels(0, 300, 3)
    for n_checks in (0, 1, 5, 20):
        with pytest.raises(OutOfTime):
            deal(X, labels, 10, check=Patience(n_checks))


def test_far_rows_are_dealt_first() -> None:
    """Eight rows on a line are dealt to two parts that have the same mean."""
    rows = np.array([[0.0], [9.0], [1.0], [8.0], [2.0], [7.0], [3.0], [6.0]])
    dealt = deal(rows, np.zeros(8, int), 2)
    assert [rows[part, 0].tolist() for part in dealt.parts] == [[0, 8, 7, 3], [9, 1, 2, 6]]
    assert dealt.ratio == 1.0
