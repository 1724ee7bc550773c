"""The map to principal directions: NumPy's decomposition, any offset, weights, sparse rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, SpectralProjection, clustering_accuracy
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.projections.spectral import (
    EXPECTED_COMPONENTS,
    LOSS_ROWS,
    MAX_NEXT_BEYOND,
    count_sample_rows,
    draw_direction_sample,
)
from projected_kmeans.results import Floats
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.layouts import TYPES
from tests.support.layouts import draw_rows as draw_typed


@pytest.mark.parametrize(
    ("n_rows", "n_directions", "expected"),
    [(90_000, 64, 5120), (90_000, 2, 5000), (10_000, 2, 5000), (9_999, 2, 9_999), (10, 2, 10)],
)
def test_the_sample_has_80_rows_a_direction(n_rows: int, n_directions: int, expected: int) -> None:
    """80 rows a direction and at least 5,000; all rows if that is more than half of them."""
    assert count_sample_rows(n_rows, n_directions) == expected


def test_rows_are_drawn_once() -> None:
    """Without weights no row is drawn twice, and none is both learnt from and measured."""
    sample = draw_direction_sample(5000, 2000, None, key=1)
    assert sample.learnt is not None
    assert sample.left_out is not None
    assert (len(sample.learnt), len(sample.left_out)) == (2000, LOSS_ROWS)
    assert (np.diff(sample.learnt) > 0).all()
    assert not set(sample.learnt) & set(sample.left_out)


def test_all_rows_are_learnt_from() -> None:
    """If as many rows are wanted as there are, all are learnt from and some are measured."""
    sample = draw_direction_sample(5000, 5000, None, key=1)
    assert sample.learnt is None
    assert sample.left_out is not None
    assert len(sample.left_out) == LOSS_ROWS
    assert draw_direction_sample(1000, 1000, None, key=1) == (None, None)


def test_rows_without_weight_are_not_drawn() -> None:
    """Rows are drawn by weight; if the sample has all rows of weight, all rows are measured."""
    weights = np.arange(3000) % 2.0
    sample = draw_direction_sample(3000, 1000, weights, key=1)
    assert sample.learnt is not None
    assert sample.left_out is not None
    assert (sample.learnt % 2 == 1).all()
    assert (sample.left_out % 2 == 1).all()
    single = np.zeros(3000)
    single[7] = 1.0
    sample = draw_direction_sample(3000, 5, single, key=1)
    assert sample.learnt is not None
    assert sample.learnt.tolist() == [7] * 5
    assert sample.left_out is None


def draw_rows(n: int, d: int, decay: float = 1.0, seed: int = 0) -> Floats:
    """Return rows whose singular values fall as a power of their index, and an offset."""
    stream = np.random.default_rng(seed)
    left = np.linalg.qr(stream.normal(size=(n, min(n, d))))[0]
    right = np.linalg.qr(stream.normal(size=(d, min(n, d))))[0]
    values = 100.0 * np.arange(1, min(n, d) + 1) ** -decay
    rows: Floats = (left * values) @ right.T + stream.normal(size=d)
    return rows


def best(X: NDArray[Any], t: int) -> tuple[Floats, float]:
    """Return the leading right singular vectors of the centred rows, and the share they lose."""
    centred = X.astype(float) - X.astype(float).mean(axis=0)
    _, values, right = np.linalg.svd(centred, full_matrices=False)
    return right[:t], float(np.sum(values[t:] ** 2) / np.sum(values**2))


def lost(X: NDArray[Any], projection: SpectralProjection) -> float:
    """Return the share of the variance that the directions lose, over all rows."""
    centred = X.astype(float) - X.astype(float).mean(axis=0)
    kept = centred @ projection.components_.T @ projection.components_
    return float(np.sum((centred - kept) ** 2) / np.sum(centred**2))


@pytest.mark.parametrize(("n", "d"), [(300, 40), (40, 300), (90, 90), (5, 9), (1000, 256)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_problems_are_solved_exactly(n: int, d: int, dtype: str) -> None:
    """If min(n, d) is at most 256, directions and singular values are NumPy's."""
    X = draw_rows(n, d).astype(dtype)
    found = SpectralProjection(4).fit(X)
    wanted, share = best(X, 4)
    angle = scipy.linalg.subspace_angles(found.components_.T, wanted.T).max()
    assert angle < (1e-4 if dtype == "float32" else 1e-9)
    centred = X.astype(float) - X.astype(float).mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)[:4]
    rtol = 1e-5 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(found.singular_values_, values, rtol=rtol)
    assert found.lost_variance_ == pytest.approx(share, rel=1e-3)
    np.testing.assert_allclose(
        np.abs(found.transform(X)), np.abs(centred @ wanted.T), atol=100 * math.sqrt(rtol) / 50
    )


@pytest.mark.parametrize("decay", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("n_power", "factor"), [(0, 1.15), (1, 1.02)])
def test_a_sketch_loses_little_more_than_the_best(
    decay: float, n_power: int, factor: float
) -> None:
    """A sign sketch of 2 t columns loses at most a stated factor of what the best t lose."""
    # The key is fixed, so that the test cannot fail by chance; over keys 0 to 19 the largest
    # factors were 1.07, 1.06, 1.01 for the three spectra, and 1.007 at most with a power pass.
    X = draw_rows(700, 500, decay)
    found = SpectralProjection(20, n_power=n_power, random_state=1, sample_rows=None).fit(X)
    assert lost(X, found) <= factor * best(X, 20)[1]
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(20), atol=1e-10)
    assert found.lost_variance_ == pytest.approx(lost(X, found), rel=1e-9)


def test_a_row_sample_suffices() -> None:
    """Directions from 2,000 of 8,000 rows lose at most 2 % more than the best directions."""
    # The key is fixed. Over keys 0 to 19 the loss was at most 1.0041 times the best, and the
    # measured loss had a standard deviation of 1 % of the true one: 5 % are five of them.
    stream = np.random.default_rng(2)
    spread = np.r_[np.full(10, 5.0), np.full(190, 0.5)]
    X = stream.normal(size=(8000, 200)) * spread + 3
    found = SpectralProjection(10, sample_rows=2000, random_state=0).fit(X.astype(np.float32))
    assert found.n_sampled_rows_ == 2000
    assert lost(X, found) <= 1.02 * best(X, 10)[1]
    assert found.lost_variance_ == pytest.approx(lost(X, found), rel=0.05)
    # Five standard errors of a mean of 2,000 rows in 200 columns: fails once in 9,000 keys.
    assert np.all(np.abs(found.mean_ - X.mean(axis=0)) < 5 * spread / np.sqrt(2000))


def test_sample_rows_sets_the_size_of_the_sample() -> None:
    """A number is the size of the sample, None is all rows, "auto" is 5,000 of 10,000 or more."""
    X = draw_rows(12_000, 6)
    assert SpectralProjection(2).fit(X).n_sampled_rows_ == 5000
    assert SpectralProjection(2).fit(X[:9999]).n_sampled_rows_ == 9999
    assert SpectralProjection(2, sample_rows=None).fit(X).n_sampled_rows_ == 12_000
    assert SpectralProjection(2, sample_rows=99_999).fit(X).n_sampled_rows_ == 12_000


@pytest.mark.parametrize("d", [30, 400])
def test_a_large_offset_costs_no_digits(d: int) -> None:
    """Rows of float32 around 1e4 have the directions of the same rows around zero."""
    # 1e4 in float32 leaves the rows 5e-4 of rounding, whose spread is 1 and more.
    stream = np.random.default_rng(3)
    spread = np.r_[20.0 * np.arange(5, 0, -1), np.ones(d - 5)]
    shifted = (stream.normal(size=(600, d)) * spread + 1e4).astype(np.float32)
    X = shifted.astype(np.float64) - 1e4
    found = SpectralProjection(5, n_power=1, random_state=0).fit(shifted)
    exact = SpectralProjection(5, n_power=1, random_state=0).fit(X)
    assert scipy.linalg.subspace_angles(found.components_.T, exact.components_.T).max() < 1e-3
    np.testing.assert_allclose(found.mean_, shifted.astype(float).mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(
        np.linalg.norm(found.transform(shifted), axis=1),
        np.linalg.norm(exact.transform(X), axis=1),
        rtol=1e-4,
    )


@pytest.mark.parametrize("shape", [(400, 300), (300, 40), (40, 300)])
def test_sparse_rows_equal_dense_rows(shape: tuple[int, int]) -> None:
    """CSR rows have the directions, the mean, the loss and the sketch of the dense rows."""
    stream = np.random.default_rng(4)
    X = draw_rows(*shape) * (stream.random(shape) < 0.1) * np.linspace(9, 0.1, shape[1])
    weights = stream.integers(0, 4, shape[0])
    sparse = scipy.sparse.csr_array(X)
    dense_map = SpectralProjection(6, random_state=5).fit(X, sample_weight=weights)
    sparse_map = SpectralProjection(6, random_state=5).fit(sparse, sample_weight=weights)
    np.testing.assert_allclose(sparse_map.components_, dense_map.components_, atol=1e-8)
    np.testing.assert_allclose(sparse_map.mean_, dense_map.mean_, atol=1e-13)
    assert sparse_map.lost_variance_ == pytest.approx(dense_map.lost_variance_, rel=1e-10)
    np.testing.assert_allclose(sparse_map.transform(sparse), dense_map.transform(X), atol=1e-6)
    small = sparse_map.transform(sparse.astype(np.float32))
    assert small.dtype == np.float32


@pytest.mark.parametrize("shape", [(500, 300), (200, 30), (30, 400)])
def test_weights_are_repeated_rows(shape: tuple[int, int]) -> None:
    """A row of weight 3 counts as three rows, a row of weight 0 as none."""
    X = draw_rows(*shape)
    weights = np.random.default_rng(6).integers(0, 4, shape[0])
    options: dict[str, Any] = {"n_components": 5, "sample_rows": None, "random_state": 7}
    weighted = SpectralProjection(**options).fit(X, sample_weight=weights)
    repeated = SpectralProjection(**options).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-8)
    np.testing.assert_allclose(weighted.singular_values_, repeated.singular_values_, rtol=1e-9)
    assert weighted.lost_variance_ == pytest.approx(repeated.lost_variance_, rel=1e-9)


def test_weights_draw_the_sample() -> None:
    """Rows of weight 0 are neither learnt from nor measured."""
    X = draw_rows(3000, 20)
    X[::2] = 1e6 * np.random.default_rng(0).normal(size=(1500, 20))
    weights = np.arange(3000) % 2
    found = SpectralProjection(5, sample_rows=1000, random_state=0).fit(X, sample_weight=weights)
    assert found.lost_variance_ <= 1.3 * best(X[1::2], 5)[1]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_element_type(dtype: str) -> None:
    """Rows of every type that kernels read give the sketch of the same numbers in float64."""
    X = draw_typed(3, 400, 300, dtype)
    found = SpectralProjection(8, random_state=0).fit(X)
    wanted = SpectralProjection(8, random_state=0).fit(X.astype(np.float64))
    angle = scipy.linalg.subspace_angles(found.components_.T, wanted.components_.T).max()
    assert angle < 1e-3
    assert found.transform(X).dtype == (np.float64 if dtype == "float64" else np.float32)


@pytest.mark.parametrize("unit", [1e-170, 1e-30, 1e18, 1e100])
def test_any_unit(unit: float) -> None:
    """Rows whose squares overflow or underflow have the same directions."""
    X = draw_rows(400, 300)
    found = SpectralProjection(4, random_state=0).fit(X * unit)
    plain = SpectralProjection(4, random_state=0).fit(X)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-9)
    np.testing.assert_allclose(found.singular_values_, plain.singular_values_ * unit, rtol=1e-9)
    assert found.lost_variance_ == pytest.approx(plain.lost_variance_, rel=1e-9)
    weighted = SpectralProjection(4, random_state=0).fit(X, sample_weight=np.full(400, 1e-60))
    np.testing.assert_allclose(weighted.components_, plain.components_, atol=1e-9)


@pytest.mark.parametrize("order", ["F", "strided"])
def test_any_layout(order: str) -> None:
    """Rows that are not contiguous in memory give the same bits."""
    X = draw_rows(600, 300).astype(np.float32)
    other = np.asfortranarray(X) if order == "F" else np.repeat(X, 2, axis=1)[:, ::2]
    plain = SpectralProjection(4, random_state=0).fit(X)
    found = SpectralProjection(4, random_state=0).fit(other)
    assert found.components_.tobytes() == plain.components_.tobytes()
    np.testing.assert_allclose(found.transform(other), plain.transform(X), atol=1e-5)


def test_threads_and_blocks_do_not_show() -> None:
    """On any number of threads and in any block a row's sketch has the same bits."""
    X = draw_rows(5000, 300).astype(np.float32)
    one = SpectralProjection(9, random_state=0, n_threads=1, sample_rows=None).fit(X)
    three = SpectralProjection(9, random_state=0, n_threads=3, sample_rows=None).fit(X)
    assert one.components_.tobytes() == three.components_.tobytes()
    whole = one.transform(X)
    np.testing.assert_array_equal(three.transform(X), whole)
    for block in ArrayBlocks(X, 777):
        np.testing.assert_array_equal(one.transform(block.rows), whole[block.span])


def test_beyond_the_rank() -> None:
    """Directions beyond the rank are zero, and equal rows have none."""
    X = np.outer(np.arange(600.0), np.ones(400)) + 5
    found = SpectralProjection(3, random_state=0).fit(X)
    np.testing.assert_allclose(np.abs(found.components_[0]), 0.05)
    np.testing.assert_array_equal(found.components_[1:], 0)
    assert found.lost_variance_ < 1e-12
    equal = SpectralProjection(3, random_state=0).fit(np.full((500, 400), 7.0))
    np.testing.assert_array_equal(equal.transform(np.full((2, 400), 7.0)), 0)
    assert equal.lost_variance_ == 0


def test_auto_components() -> None:
    """n_components="auto" is ceil(k / eps), at most 64 and at most d."""
    X = draw_rows(100, 90)
    for k, eps, t in ((2, 0.3, 7), (10, 0.3, 34), (100, 0.3, 64), (None, 0.3, 64), (3, 0.1, 30)):
        assert SpectralProjection(n_clusters=k, eps=eps).fit(X).n_components_ == t
    assert SpectralProjection().fit(X[:, :5]).n_components_ == 5


def draw_spectrum(variances: NDArray[Any], n: int = 1000, seed: int = 0) -> Floats:
    """Return centred rows whose variances along their principal directions are exactly these."""
    stream = np.random.default_rng(seed)
    d = len(variances)
    noise = stream.normal(size=(n, d))
    left = np.linalg.qr(noise - noise.mean(axis=0))[0]
    right = np.linalg.qr(stream.normal(size=(d, d)))[0]
    rows: Floats = (left * np.sqrt(variances)) @ right.T
    return rows


def draw_plateau(d: int, n_equal: int = 150) -> NDArray[np.float64]:
    """Return variances: one large, many equal, and next to nothing in the other directions."""
    return np.concatenate([[20.0], np.ones(n_equal - 1), np.full(d - n_equal, 1e-4)])


def share_of(variances: NDArray[Any], first: int, last: int) -> float:
    """Return the share of some directions in the variance."""
    return float(variances[first:last].sum() / variances.sum())


def test_auto_takes_few_directions_where_the_spectrum_falls() -> None:
    """Where the first directions hold nearly everything, no more are looked at."""
    variances = 0.9 ** np.arange(300)
    found = SpectralProjection(n_clusters=100, random_state=0).fit(draw_spectrum(variances))
    assert found.n_components_ == EXPECTED_COMPONENTS
    lost = share_of(variances, EXPECTED_COMPONENTS, 300)
    assert found.lost_variance_ == pytest.approx(lost, rel=1e-6)
    assert lost * (1 - 1e-6) <= found.next_variance_ <= 1


def test_auto_takes_few_directions_where_none_stands_out() -> None:
    """In noise further directions would help little, so that there are no more."""
    found = SpectralProjection(n_clusters=100, random_state=0).fit(draw_spectrum(np.ones(300)))
    assert found.n_components_ == EXPECTED_COMPONENTS


@pytest.mark.parametrize("n_equal", [120, 150])
def test_auto_takes_as_many_directions_as_the_spectrum_asks_for(n_equal: int) -> None:
    """After t directions the next k hold little, after 16 fewer they hold too much."""
    variances, k = draw_plateau(300, n_equal), 100
    found = SpectralProjection(n_clusters=k, random_state=0).fit(draw_spectrum(variances))
    t = found.n_components_
    assert EXPECTED_COMPONENTS < t <= 150
    assert share_of(variances, t, t + k) <= MAX_NEXT_BEYOND
    assert share_of(variances, t - 16, t - 16 + k) > MAX_NEXT_BEYOND
    assert found.components_.shape == (t, 300)
    assert len(found.singular_values_) == t
    assert found.lost_variance_ == pytest.approx(share_of(variances, t, 300), rel=1e-6)
    assert share_of(variances, t, t + k) * (1 - 1e-6) <= found.next_variance_ <= MAX_NEXT_BEYOND


def test_auto_takes_nearly_as_many_directions_from_a_sample() -> None:
    """Of many rows a sample tells the number of directions, up to one step."""
    variances, k = draw_plateau(600), 100
    exact = SpectralProjection(n_clusters=k, random_state=0)
    exact.fit(draw_spectrum(draw_plateau(300)))
    stream = np.random.default_rng(1)
    X = (stream.normal(size=(24_000, 600)) * np.sqrt(variances)).astype(np.float32)
    found = SpectralProjection(n_clusters=k, random_state=0).fit(X)
    assert found.n_sampled_rows_ < len(X) / 2
    assert abs(found.n_components_ - exact.n_components_) <= 16
    again = SpectralProjection(n_clusters=k, random_state=0, n_threads=2).fit(X)
    assert again.n_components_ == found.n_components_
    np.testing.assert_array_equal(again.components_, found.components_)


@pytest.mark.parametrize("k", [1, 5, 15])
def test_auto_asks_for_no_more_than_the_theorem(k: int) -> None:
    """For few clusters ceil(k / eps) directions are enough, whatever the spectrum is."""
    for variances in (draw_plateau(300), np.ones(300), 0.9 ** np.arange(300)):
        found = SpectralProjection(n_clusters=k, random_state=0).fit(draw_spectrum(variances))
        assert found.n_components_ == math.ceil(k / 0.3)


def test_auto_takes_at_most_half_of_the_columns() -> None:
    """More directions than that save nothing, though the spectrum may ask for them."""
    variances = np.concatenate([[20.0], np.ones(199)])
    found = SpectralProjection(n_clusters=100, random_state=0).fit(draw_spectrum(variances))
    assert EXPECTED_COMPONENTS <= found.n_components_ <= 100


def test_a_number_that_is_given_is_kept() -> None:
    """The spectrum decides only if t is open."""
    X = draw_spectrum(draw_plateau(300))
    assert SpectralProjection(9, n_clusters=100, random_state=0).fit(X).n_components_ == 9
    assert SpectralProjection(random_state=0).fit(X).n_components_ == EXPECTED_COMPONENTS
    assert np.isnan(SpectralProjection(random_state=0).fit(X).next_variance_)


def test_weights_change_the_spectrum() -> None:
    """Rows without weight do not count among the variances by which t is chosen."""
    X, k = draw_spectrum(draw_plateau(300)), 100
    noise = 3 * np.random.default_rng(1).normal(size=(500, 300))
    both, weights = np.concatenate([X, noise]), np.repeat([1.0, 0.0], [1000, 500])
    expected = SpectralProjection(n_clusters=k, random_state=0).fit(X)
    found = SpectralProjection(n_clusters=k, random_state=0).fit(both, sample_weight=weights)
    assert found.n_components_ == expected.n_components_
    free = SpectralProjection(n_clusters=k, random_state=0).fit(both)
    assert free.n_components_ != expected.n_components_


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_components": 6}, "n_components=6 exceeds n_features=5"),
        ({"n_oversamples": -1}, "n_oversamples=-1 is too small"),
        ({"n_power": -1}, "n_power=-1 is too small"),
        ({"sample_rows": 0}, "sample_rows=0 is too small"),
    ],
)
def test_bad_parameters_are_told(options: dict[str, Any], sentence: str) -> None:
    """A bad parameter gives one sentence."""
    with pytest.raises(ValueError, match=sentence):
        SpectralProjection(**options).fit(np.ones((4, 5)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_the_estimator_end_to_end(dtype: str) -> None:
    """Separated clusters are found through two directions a pair, on any number of threads."""
    X, truth = draw_blobs(gap=2.0, n=600, d=300)
    X = (np.clip(X * 12 + 128, 0, 255)).astype(dtype)
    options: dict[str, Any] = {"projection": "svd", "random_state": 0, "polish_iter": 0}
    model = ProjectedKMeans(5, n_threads=1, **options).fit(X)
    assert clustering_accuracy(truth, model.labels_) == 1
    assert model.n_components_ == 17
    assert_consistent(model, X)
    assert_same_fit(model, ProjectedKMeans(5, n_threads=2, **options).fit(X))


def test_the_estimator_takes_weights_and_centers() -> None:
    """Weights reach the directions, and centers given in the original space are projected."""
    X, truth = draw_blobs(gap=3.0)
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    model = ProjectedKMeans(5, projection="svd", init=X[:5], random_state=0)
    model.fit(X, sample_weight=weights)
    assert clustering_accuracy(truth, model.labels_) == 1
    np.testing.assert_allclose(model.projection_.mean_, np.average(X, axis=0, weights=weights))
