"""Maps that do not look at rows: the paper's Lemma 1, the same bits everywhere, finite sketches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from numpy.typing import NDArray

from projected_kmeans import (
    GaussianProjection,
    HadamardProjection,
    ProjectedKMeans,
    SignProjection,
    SparseSignProjection,
    clustering_accuracy,
)
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.projections.map_protocol import sketch_rows
from projected_kmeans.projections.maps import MAPS, PANEL_BYTES, draw_normals, normals_from_words
from tests.support.blobs import draw_blobs
from tests.support.layouts import TYPES, draw_rows

RANDOM_MAPS = (SignProjection, SparseSignProjection, HadamardProjection, GaussianProjection)
KEYS = range(400)


def matrix_of(kind: Any, key: int, d: int, t: int, **extra: Any) -> NDArray[np.float64]:
    """Return R in full, as the map of the unit vectors."""
    R: NDArray[np.float64] = kind(t, random_state=key, **extra).fit_transform(np.eye(d))
    return R


@pytest.mark.parametrize("kind", RANDOM_MAPS)
def test_lemma_one_part_one(kind: Any) -> None:
    """The singular values of V_k^T R lie within 1 +- eps if t is large enough for the map."""
    # k = 4, t = 400, d = 512: deviations are about sqrt(k / t) = 0.1 at one standard deviation of
    # the largest; eps = 0.35 is beyond 5 of them (less than 1e-5 over the 20 keys together).
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(512, 4)))[0]
    for key in range(20):
        values = np.linalg.svd(V.T @ matrix_of(kind, key, 512, 400), compute_uv=False)
        assert np.abs(1 - values).max() <= 0.35


@pytest.mark.parametrize("kind", RANDOM_MAPS)
def test_lemma_one_part_two(kind: Any) -> None:
    """E ||S T - S R R^T T||_F^2 is at most (2/t) ||S||_F^2 ||T||_F^2."""
    # The bound is met with equality only if S and T are parallel; here the mean is about half of
    # it, and 400 keys put it beyond the bound with probability below 1e-9.
    stream = np.random.default_rng(1)
    S, T = stream.normal(size=(5, 64)), stream.normal(size=(64, 3))
    errors = []
    for key in KEYS:
        R = matrix_of(kind, key, 64, 16)
        errors.append(np.sum((S @ T - S @ R @ R.T @ T) ** 2))
    assert np.mean(errors) <= 2 / 16 * np.sum(S**2) * np.sum(T**2)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [*((kind, {}) for kind in RANDOM_MAPS), (SparseSignProjection, {"n_nonzeros": 1})],
)
def test_lemma_one_part_three(kind: Any, extra: dict[str, int]) -> None:
    """||C R||_F^2 has mean ||C||_F^2 and a variance of at most 2 ||C||_F^4 / t."""
    # The mean of 400 keys lies within 5 of its deviations (fails for 6e-7 of key ranges); a sample
    # variance of 400 exceeds the true one by 40 % with probability below 1e-6.
    C = np.random.default_rng(2).normal(size=(3, 64))
    total, t = np.sum(C**2), 16
    sizes = [np.sum((C @ matrix_of(kind, key, 64, t, **extra)) ** 2) for key in KEYS]
    deviation = np.sqrt(2 / t) * total
    assert abs(np.mean(sizes) - total) <= 5 * deviation / np.sqrt(len(KEYS))
    assert np.var(sizes) <= 1.4 * deviation**2


@pytest.mark.parametrize("name", MAPS)
def test_the_estimator_takes_every_map_by_name(name: str) -> None:
    """Well separated clusters are found through each of the maps."""
    X, truth = draw_blobs(gap=3.0)
    model = ProjectedKMeans(5, projection=name, n_components=20, random_state=0, polish_iter=0)
    assert clustering_accuracy(truth, model.fit(X).labels_) == 1
    assert type(model.projection_) is MAPS[name]


@pytest.mark.parametrize("dtype", TYPES)
def test_sign_sketches_have_the_same_bits_in_any_blocks_and_threads(dtype: str) -> None:
    """Blocks and threads do not change a bit of the sketch."""
    X = draw_rows(5, 70, 90, dtype)
    projection = SignProjection(33, random_state=3).fit(X)
    whole = projection.transform(X)
    for rows, n_threads in ((1, 1), (7, 2), (64, 3)):
        projection.set_params(n_threads=n_threads)
        np.testing.assert_array_equal(sketch_rows(projection, ArrayBlocks(X, rows)), whole)


def test_too_many_nonzeros_are_refused() -> None:
    """More than 64 nonzeros are refused; with fewer columns than nonzeros every entry is one."""
    X = draw_rows(1, 5, 9, "float64")
    with pytest.raises(ValueError, match="n_nonzeros=65 is too many; use at most 64"):
        SparseSignProjection(4, n_nonzeros=65).fit(X)
    R = SparseSignProjection(4, random_state=1).fit_transform(np.eye(9))
    np.testing.assert_allclose(np.abs(R), 0.5)


def test_all_entries_keep_all_distances() -> None:
    """With t = d = a power of two nothing is dropped: the map is orthogonal."""
    R = HadamardProjection(64, random_state=2).fit_transform(np.eye(64))
    np.testing.assert_allclose(R @ R.T, np.eye(64), atol=1e-12)
    np.testing.assert_allclose(np.abs(R), 1 / 8)


def test_a_smaller_map_is_the_first_part_of_a_larger_one() -> None:
    """The first 5 of 40 components are those of t = 5, up to the scale 1/sqrt(t)."""
    X = np.random.default_rng(0).normal(size=(10, 60))
    narrow, wide = (HadamardProjection(t, random_state=9).fit_transform(X) for t in (5, 40))
    np.testing.assert_allclose(narrow * np.sqrt(5), wide[:, :5] * np.sqrt(40), atol=1e-12)


def test_normal_numbers_are_normal() -> None:
    """Drawn normals follow the normal distribution, and any rectangle is part of a larger one."""
    # Kolmogorov-Smirnov with failure probability 1e-6 over keys; the key is fixed.
    normals = draw_normals(4, (300, 200))
    assert scipy.stats.kstest(normals.ravel(), "norm").pvalue > 1e-6
    columns = normals.T @ normals / math.sqrt(300)
    np.fill_diagonal(columns, 0)
    assert np.abs(columns).max() < 6  # 19,900 pairs, |z| < 6: about 4e-5 of keys
    np.testing.assert_array_equal(
        draw_normals(4, (20, 31), row=100, column=77), normals[100:120, 77:108]
    )


def test_every_word_gives_a_finite_number() -> None:
    """The smallest and the largest random word give normal numbers of the same finite size."""
    found = normals_from_words(np.array([0, 2**64 - 1, 2**63 - 1, 2**63], np.uint64))
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(-found[1], rel=1e-2)
    assert abs(found[2:]).max() < 1e-10


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_panels_of_the_gaussian_matrix(dtype: str) -> None:
    """With more columns than one panel holds, the product is that with the whole matrix."""
    t, d = 32, PANEL_BYTES // (8 * 32) + 1000
    X = np.zeros((3, d), dtype)
    X[:, :50], X[:, -1500:] = 1.0, -2.0  # before and after the border between two panels
    found = GaussianProjection(t, random_state=2).fit_transform(X)
    first, last = draw_normals(2, (50, t)), draw_normals(2, (1500, t), row=d - 1500)
    wanted = (first.sum(axis=0) - 2 * last.sum(axis=0)) / math.sqrt(t)
    atol = 1e-3 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(found, np.tile(wanted, (3, 1)), atol=atol)


@pytest.mark.parametrize("kind", MAPS.values())
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("t", [1, 20])
def test_a_bad_entry_is_found_in_any_column(kind: Any, form: Any, bad: float, t: int) -> None:
    """Transforming refuses an entry that is not finite, wherever it stands, without a warning.

    The sketch is looked at, not the rows, so no map may lose such an entry.
    """
    X = draw_rows(6, 40, 30, "float32")
    fitted = kind(t, random_state=0).fit(X)
    for row, column in ((0, 0), (17, 29), (38, 3), (39, 29)):
        rows = X.copy()
        rows[row, column] = bad
        with pytest.raises(ValueError, match=rf"X contains .* at row {row}, column {column};"):
            fitted.transform(form(rows))


@pytest.mark.parametrize("kind", [SignProjection, SparseSignProjection, HadamardProjection])
def test_a_sketch_that_overflows_is_refused(kind: Any) -> None:
    """Finite rows whose sums overflow float32 give a sentence; in float64 they have a sketch."""
    X = np.zeros((5, 64), np.float32)
    X[3] = 3e38
    fitted = kind(16, random_state=0).fit(X)
    with pytest.raises(ValueError, match="sketch of row 3 of X overflows float32; divide X by"):
        fitted.transform(X)
    assert np.isfinite(fitted.transform(X.astype(np.float64))).all()
