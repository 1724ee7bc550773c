"""All maps as transformers: Lemma 1, sparse rows, and their place in the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import (
    ColumnSampling,
    GaussianProjection,
    HadamardProjection,
    ProjectedKMeans,
    SignProjection,
    SparseSignProjection,
    SpectralProjection,
    clustering_accuracy,
)
from projected_kmeans.projections.named_maps import MAPS as NAMED_MAPS
from tests.support.blobs import draw_blobs
from tests.support.layouts import draw_rows

MAPS = (SignProjection, SparseSignProjection, HadamardProjection, GaussianProjection)
ALL_MAPS = (*MAPS, SpectralProjection, ColumnSampling)
KEYS = range(400)


def matrix_of(kind: Any, key: int, d: int, t: int, **extra: Any) -> NDArray[np.float64]:
    """Return R in full, as the map of the unit vectors."""
    R: NDArray[np.float64] = kind(t, random_state=key, **extra).fit_transform(np.eye(d))
    return R


@pytest.mark.parametrize("kind", MAPS)
def test_lemma_one_part_one(kind: Any) -> None:
    """The singular values of V_k^T R lie within 1 +- eps where t is large enough for the map."""
    # k = 4, t = 400, d = 512: deviations are about sqrt(k / t) = 0.1 at one standard deviation of
    # the largest; eps = 0.35 is beyond 5 of them (less than 1e-5 over the 20 keys together).
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(512, 4)))[0]
    for key in range(20):
        values = np.linalg.svd(V.T @ matrix_of(kind, key, 512, 400), compute_uv=False)
        assert np.abs(1 - values).max() <= 0.35


@pytest.mark.parametrize("kind", MAPS)
def test_lemma_one_part_two(kind: Any) -> None:
    """E ||S T - S R R^T T||_F^2 is at most (2/t) ||S||_F^2 ||T||_F^2."""
    # The bound is met with equality only where S and T are parallel; here the mean is about half of
    # it, and 400 keys put it beyond the bound with probability below 1e-9.
    stream = np.random.default_rng(1)
    S, T = stream.normal(size=(5, 64)), stream.normal(size=(64, 3))
    errors = []
    for key in KEYS:
        R = matrix_of(kind, key, 64, 16)
        errors.append(np.sum((S @ T - S @ R @ R.T @ T) ** 2))
    assert np.mean(errors) <= 2 / 16 * np.sum(S**2) * np.sum(T**2)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("extra", [{}, {"n_nonzeros": 1}])
def test_lemma_one_part_three(kind: Any, extra: dict[str, int]) -> None:
    """||C R||_F^2 has mean ||C||_F^2 and a variance of at most 2 ||C||_F^4 / t."""
    # The mean of 400 keys lies within 5 of its deviations (fails for 6e-7 of key ranges); a sample
    # variance of 400 exceeds the true one by 40 % with probability below 1e-6.
    if extra and kind is not SparseSignProjection:
        pytest.skip("only the sparse map has a number of nonzeros")
    C = np.random.default_rng(2).normal(size=(3, 64))
    total, t = np.sum(C**2), 16
    sizes = [np.sum((C @ matrix_of(kind, key, 64, t, **extra)) ** 2) for key in KEYS]
    deviation = np.sqrt(2 / t) * total
    assert abs(np.mean(sizes) - total) <= 5 * deviation / np.sqrt(len(KEYS))
    assert np.var(sizes) <= 1.4 * deviation**2


@pytest.mark.parametrize("kind", ALL_MAPS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array"])
def test_sparse_rows_are_projected_as_dense_ones(kind: Any, index: Any, form: str) -> None:
    """Any sparse form and index type gives the sketch of the dense rows, up to rounding."""
    X = draw_rows(4, 30, 200, "float64") * (np.random.default_rng(4).random((30, 200)) < 0.1)
    rows = scipy.sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    sparse = getattr(scipy.sparse, form)(rows)
    model = kind(20, random_state=3).fit(sparse)
    np.testing.assert_allclose(model.transform(sparse), model.transform(X), atol=1e-12)


@pytest.mark.parametrize("kind", ALL_MAPS)
def test_sparse_rows_need_no_order(kind: Any) -> None:
    """Indices out of order and entries that are stored twice are sorted and added, in a copy."""
    rows = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([3, 0, 3, 1]), np.array([0, 3, 4])), shape=(2, 5)
    )
    kept = rows.indices.copy()
    found = kind(4, random_state=3).fit_transform(rows)
    dense = np.array([[2.0, 0, 0, 5, 0], [0, 8, 0, 0, 0]])
    np.testing.assert_allclose(found, kind(4, random_state=3).fit_transform(dense), atol=1e-14)
    np.testing.assert_array_equal(rows.indices, kept)


@pytest.mark.parametrize("kind", ALL_MAPS)
@pytest.mark.parametrize(("bad", "name"), [(np.nan, "NaN"), (-np.inf, "inf")])
def test_bad_sparse_entries_are_named(kind: Any, bad: float, name: str) -> None:
    """An entry of sparse rows that is not finite is named by row and column."""
    rows = scipy.sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, bad]]))
    with pytest.raises(ValueError, match=rf"{name}.*row 1, column 2"):
        kind(2).fit(rows)


@pytest.mark.parametrize("name", NAMED_MAPS)
def test_the_estimator_takes_every_map_by_name(name: str) -> None:
    """Well separated clusters are found through each of the maps."""
    X, truth = draw_blobs(gap=3.0)
    model = ProjectedKMeans(5, projection=name, n_components=20, random_state=0, polish_iter=0)
    assert clustering_accuracy(truth, model.fit(X).labels_) == 1
    assert type(model.projection_) is NAMED_MAPS[name]


def test_too_many_nonzeros_are_refused() -> None:
    """Too many nonzeros give a sentence; more nonzeros than columns fill the row."""
    X = draw_rows(1, 5, 9, "float64")
    with pytest.raises(ValueError, match="n_nonzeros=65 is too many; use at most 64"):
        SparseSignProjection(4, n_nonzeros=65).fit(X)
    R = matrix_of(SparseSignProjection, 1, 9, 4)
    np.testing.assert_allclose(np.abs(R), 0.5)
