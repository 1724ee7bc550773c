"""Rows for proofs stop between blocks; sparse ones are never made dense and have equal bounds."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans import ProjectedKMeans, certify, inertia, kmeans_lower_bound
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.proof_rows import DenseProofRows, SparseProofRows
from projected_kmeans.certificates.prover import EFFORTS
from projected_kmeans.certificates.semidefinite import proof_plan
from projected_kmeans.running.deadlines import OutOfTime
from projected_kmeans.running.monitor import Monitor
from tests.support.layouts import seeds
from tests.support.optima import exact_optimum
from tests.support.proofs import Patience, draw_sparse


@given(
    seed=seeds,
    n=st.integers(1, 7),
    d=st.integers(1, 9),
    k=st.integers(1, 4),
    scale=st.sampled_from([1.0, 1e-150, 1e140]),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_no_bound_exceeds_the_minimum(
    seed: int, n: int, d: int, k: int, scale: float, offset: float
) -> None:
    """Every bound is at most the exact minimum inertia, also far from zero."""
    k = min(k, n)
    X = (draw_sparse(seed, n, d) + offset) * scale
    bound = kmeans_lower_bound(scipy.sparse.csr_matrix(X), k, method="full")
    optimum = exact_optimum(X, k)
    assert all(0 <= Fraction(value) <= optimum for value in bound.values.values())


@given(seed=seeds, n=st.integers(2, 7), d=st.sampled_from([2, 9]), k=st.integers(1, 3))
def test_bounds_hold_for_weighted_rows(seed: int, n: int, d: int, k: int) -> None:
    """With weights, some of them 0, the bound is at most the exact weighted minimum."""
    k = min(k, n)
    X = draw_sparse(seed, n, d)
    weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 50.0], n)
    weights[0] = 1.0
    rows = scipy.sparse.csr_array(X)
    bound = kmeans_lower_bound(rows, k, method="full", sample_weight=weights)
    assert Fraction(bound.value) <= exact_optimum(X, k, weights)


@pytest.mark.parametrize("shape", [(120, 700), (130, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_are_those_of_dense_rows(
    shape: tuple[int, int], weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sparse and dense rows have the same bounds up to rounding, by either Gram matrix."""
    monkeypatch.setattr(proof_plan, "MAX_STEPS", 100)
    X = draw_sparse(0, *shape, share=0.1).astype(np.float32)
    weights = np.random.default_rng(1).random(shape[0]) if weighted else None
    close = {"spectral": 1e-9, "neighbour": 1e-9, "tightened": 1e-4, "semidefinite": 1e-3}
    without = replace(EFFORTS["auto"], semidefinite=None)
    labels = np.arange(shape[0], dtype=np.int32) % 6
    for effort in (EFFORTS["auto"], without):
        sparse, dense = (
            bound_inertia(
                rows, weights, 6, effort=effort, key=0, monitor=Monitor(None, 0), labels=labels
            )
            for rows in (scipy.sparse.csr_matrix(X), X)
        )
        assert sparse.values.keys() == dense.values.keys()
        assert ("tightened" in dense.values) or effort is not without
        for name, value in dense.values.items():
            assert sparse.values[name] == pytest.approx(value, rel=close[name])


def test_the_reach_is_that_of_dense_rows() -> None:
    """Distances from the mean, computed without centred rows, agree with those of dense rows."""
    X = draw_sparse(4, 80, 30) + 3
    sparse, dense = SparseProofRows(scipy.sparse.csr_array(X)), DenseProofRows(X)
    distances = np.sum((X - X.mean(axis=0)) ** 2, axis=1)
    truth = distances.max() + distances.mean()
    for rows in (sparse, dense):
        assert truth <= rows.reach * rows.unit <= truth * (1 + 1e-9)
        assert rows.squares * rows.unit == pytest.approx(distances.sum(), rel=1e-9)


def test_preparing_dense_rows_stops_between_blocks() -> None:
    """The four walks that find ranges, two means and norms check the time at every block."""
    X = np.random.default_rng(0).normal(size=(700, 4))
    for too_few in range(4):
        with pytest.raises(OutOfTime):
            DenseProofRows(X, None, Patience(too_few))
    assert DenseProofRows(X, None, Patience(4)).shape == (700, 4)


def test_preparing_sparse_rows_checks_the_time() -> None:
    """Without time no row is looked at."""
    with pytest.raises(OutOfTime):
        SparseProofRows(scipy.sparse.eye_array(3).tocsr(), None, Patience(0))


def test_rows_are_never_made_dense() -> None:
    """200 rows of 200,000 columns, 320 MB if they were dense, are certified in 80 MB."""
    stream = np.random.default_rng(0)
    columns = stream.integers(200_000, size=200 * 50)
    cells = (np.repeat(np.arange(200), 50), columns)
    X = scipy.sparse.csr_matrix((stream.random(200 * 50), cells), shape=(200, 200_000))
    tracemalloc.start()
    ratios = [certify(X, np.arange(200) % 5, method=one).ratio for one in ("spectral", "neighbour")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80e6
    assert all(1 < ratio < 1.5 for ratio in ratios)


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_the_inertia_is_that_of_dense_rows(offset: float) -> None:
    """Sparse rows have the inertia of dense rows, also far from zero."""
    X = draw_sparse(3, 200, 30) + offset
    labels = np.arange(200) % 4
    assert inertia(scipy.sparse.csr_matrix(X), labels) == pytest.approx(
        inertia(X, labels), rel=1e-9
    )


def test_certificates_are_those_of_dense_rows() -> None:
    """Sparse rows have the ratio of dense rows."""
    X = draw_sparse(3, 100, 30)
    labels = ProjectedKMeans(4, random_state=0).fit_predict(X)
    rows = scipy.sparse.csr_matrix(X)
    assert certify(rows, labels).ratio == pytest.approx(certify(X, labels).ratio, rel=1e-4)


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "NaN at row 1, column 2"), (1e200, "overflow float64")]
)
def test_bad_numbers_get_one_sentence(value: float, message: str) -> None:
    """Numbers whose squares cannot be summed are refused, as with dense rows."""
    X = scipy.sparse.csr_matrix((np.array([1.0, value]), ([0, 1], [0, 2])), shape=(2, 3))
    with pytest.raises(ValueError, match=message):
        kmeans_lower_bound(X, 1)


def test_too_few_labels_are_refused() -> None:
    """Labels of sparse rows are counted."""
    with pytest.raises(ValueError, match="labels has 1 entries but X 2 rows"):
        inertia(scipy.sparse.eye_array(2).tocsr(), [0])
