"""Bounds and certificates of sparse rows: as true as those of dense ones, and never made dense."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, certify, inertia, kmeans_lower_bound
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.prover import EFFORTS, Effort
from projected_kmeans.certificates.sparse_proof_rows import SparseProofRows
from tests.support.layouts import seeds
from tests.support.optima import exact_optimum


def draw_sparse(seed: int, n: int, d: int, share: float = 0.5) -> NDArray[np.float64]:
    """Return rows with many zeros, as an array."""
    stream = np.random.default_rng(seed)
    return stream.normal(size=(n, d)) * (stream.random((n, d)) < share)


@given(
    seed=seeds,
    n=st.integers(1, 7),
    d=st.integers(1, 9),
    k=st.integers(1, 4),
    scale=st.sampled_from([1.0, 1e-150, 1e140]),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_no_bound_is_above_the_optimum(
    seed: int, n: int, d: int, k: int, scale: float, offset: float
) -> None:
    """Every bound is at most the least inertia, in exact fractions, far from zero too."""
    k = min(k, n)
    X = (draw_sparse(seed, n, d) + offset) * scale
    bound = kmeans_lower_bound(scipy.sparse.csr_matrix(X), k, method="full")
    optimum = exact_optimum(X, k)
    assert all(0 <= Fraction(value) <= optimum for value in bound.values.values())


@given(seed=seeds, n=st.integers(2, 7), d=st.sampled_from([2, 9]), k=st.integers(1, 3))
def test_weights_are_part_of_the_proof(seed: int, n: int, d: int, k: int) -> None:
    """With weights, zeros among them, bounds hold for the weighted inertia."""
    k = min(k, n)
    X = draw_sparse(seed, n, d)
    weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 50.0], n)
    weights[0] = 1.0
    rows = scipy.sparse.csr_array(X)
    bound = kmeans_lower_bound(rows, k, method="full", sample_weight=weights)
    assert Fraction(bound.value) <= exact_optimum(X, k, weights)


@pytest.mark.parametrize("shape", [(120, 700), (300, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_are_those_of_dense_rows(shape: tuple[int, int], weighted: bool) -> None:
    """Sparse and dense rows have the same bounds but for rounding, by either Gram matrix."""
    X = draw_sparse(0, *shape, share=0.1).astype(np.float32)
    weights = np.random.default_rng(1).random(shape[0]) if weighted else None
    options: dict[str, Any] = {"method": "auto", "sample_weight": weights}
    sparse = kmeans_lower_bound(scipy.sparse.csr_matrix(X), 6, **options)
    dense = kmeans_lower_bound(X, 6, **options)
    assert sparse.values.keys() == dense.values.keys()
    for name, rel in {"spectral": 1e-9, "neighbour": 1e-9, "tightened": 1e-4}.items():
        assert sparse.values[name] == pytest.approx(dense.values[name], rel=rel)


@pytest.mark.parametrize("weighted", [False, True])
def test_subsets_are_those_of_dense_rows(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    """Beyond the limit the same subsets give the same bound, with the same probability."""
    monkeypatch.setitem(EFFORTS, "auto", Effort(True, 300, 0, 0, 200))
    X = draw_sparse(2, 1000, 20)
    weights = np.random.default_rng(1).random(1000) if weighted else None
    options: dict[str, Any] = {"random_state": 3, "sample_weight": weights}
    sparse = kmeans_lower_bound(scipy.sparse.csr_matrix(X), 4, **options)
    dense = kmeans_lower_bound(X, 4, **options)
    assert dense.values["sampled"] > 0
    assert sparse.values["sampled"] == pytest.approx(dense.values["sampled"], rel=1e-8)


def test_what_rows_reach_is_the_same() -> None:
    """Norms about the mean, which sparse rows never have, agree with those of centred rows."""
    X = draw_sparse(4, 80, 30) + 3
    sparse, dense = SparseProofRows(scipy.sparse.csr_array(X)), DenseProofRows(X)
    distances = np.sum((X - X.mean(axis=0)) ** 2, axis=1)
    truth = distances.max() + distances.mean()
    for rows in (sparse, dense):
        assert truth <= rows.reach * rows.unit <= truth * (1 + 1e-9)
        assert rows.squares * rows.unit == pytest.approx(distances.sum(), rel=1e-9)


def test_rows_are_never_made_dense() -> None:
    """300 rows of two million columns, 5 GB if they were dense, are bounded in 500 MB."""
    stream = np.random.default_rng(0)
    columns = stream.integers(2_000_000, size=300 * 50)
    cells = (np.repeat(np.arange(300), 50), columns)
    X = scipy.sparse.csr_matrix((stream.random(300 * 50), cells), shape=(300, 2_000_000))
    tracemalloc.start()
    certificate = certify(X, np.arange(300) % 5, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6
    assert 1 < certificate.ratio < 1.5


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_certificates_are_those_of_dense_rows(offset: float) -> None:
    """The inertia of sparse rows is that of dense ones, and so is what is proven of it."""
    X = draw_sparse(3, 200, 30) + offset
    labels = ProjectedKMeans(4, random_state=0).fit_predict(X)
    rows = scipy.sparse.csr_matrix(X)
    assert inertia(rows, labels) == pytest.approx(inertia(X, labels), rel=1e-9)
    if offset == 0:
        assert certify(rows, labels).ratio == pytest.approx(certify(X, labels).ratio, rel=1e-4)


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "NaN at row 1, column 2"), (1e200, "overflow float64")]
)
def test_bad_numbers_are_one_sentence(value: float, message: str) -> None:
    """What cannot be summed up is refused, as with dense rows."""
    X = scipy.sparse.csr_matrix((np.array([1.0, value]), ([0, 1], [0, 2])), shape=(2, 3))
    with pytest.raises(ValueError, match=message):
        kmeans_lower_bound(X, 1)


def test_labels_are_counted() -> None:
    """Too few labels for sparse rows are refused."""
    with pytest.raises(ValueError, match="labels has 1 entries but X 2 rows"):
        inertia(scipy.sparse.eye_array(2).tocsr(), [0])
